"""What a start costs is mostly what it imports: the heavy libraries stay out of the starts that do not need them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"psycopg", "rich", "croniter", "dateutil", "asyncio", "subprocess"}


def loaded_by(*arguments: str, home: Path) -> set[str]:
    """The top-level modules that a real `once` process imports, as `-X importtime` tells."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ONCE_DB": "local", "ONCE_STATE_DIR": str(home)}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "once", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    names = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s*(\S+)$", done.stderr, re.MULTILINE)
    assert "once.cli" in names
    return {name.partition(".")[0] for name in names}


def test_the_version_loads_nothing_heavy(tmp_path: Path) -> None:
    """`once --version` reads no database, so it loads no driver either."""
    loaded = loaded_by("--version", home=tmp_path)

    assert loaded & (HEAVY | {"sqlite3"}) == set()


def test_a_lock_on_sqlite_loads_nothing_heavy(tmp_path: Path) -> None:
    """Mutual exclusion on one host needs neither a schedule nor PostgreSQL nor colours."""
    loaded = loaded_by("lock", "--task", "light", "--", "true", home=tmp_path)

    assert loaded & HEAVY == set()


@pytest.mark.parametrize("schedule", ["* * * * *", "@every 15m"])
def test_a_run_on_sqlite_loads_no_driver_and_no_colours(schedule: str, tmp_path: Path) -> None:
    """Slots are computed by tables of our own."""
    loaded = loaded_by("run", "--task", "light", "--schedule", schedule, "--tz", "UTC", "--", "true", home=tmp_path)

    assert loaded & HEAVY == set()
