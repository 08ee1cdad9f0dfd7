"""A host that is short of processes, threads or descriptors, or that hides its settings: it is told."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import databases
from tests.acceptance.conftest import ONCE, PATIENCE, Host, MinuteSlot, Ran, needs, put_down
from tests.acceptance.test_one_slot import run_line

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="another user's limits need root")
NOBODY_ELSE = 64_000 + os.getpid() % 1000
"""A user number that runs nothing else, since the limit counts all of a user's processes."""


@pytest.fixture
def open_host() -> Iterator[Host]:
    """A host whose files another user may read and write."""
    root = Path(tempfile.mkdtemp(dir=os.environ[databases.ROOM]))
    root.chmod(0o777)
    one = Host(root, f"sqlite:{root}/once.db")
    yield one
    put_down(one)


OTHER_USER = (
    f"--reuid={NOBODY_ELSE}",
    f"--regid={NOBODY_ELSE}",
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
)
"""Limits of processes hold for whoever is not root; the right to enter any directory leads to this Python."""

NO_PRIVILEGE_OVER_FILES = ("--bounding-set=-dac_override,-dac_read_search",)


def limited(host: Host, who: tuple[str, ...], limit: str, *args: str) -> Ran:
    """`once` as somebody else, under a limit of the shell."""
    line = [needs("setpriv"), *who, "bash", "-c", f'ulimit {limit}; exec "$@"', "bash", str(ONCE), *args]
    done = subprocess.run(
        line, env=host.environ, cwd=host.root, capture_output=True, check=False, timeout=PATIENCE, umask=0
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.parametrize("limit", ["-u 1", "-n 8"])
def test_a_command_that_cannot_be_started_uses_up_no_attempt(
    open_host: Host, this_minute: MinuteSlot, limit: str
) -> None:
    """75 says that a later try may succeed, so it does."""
    ran = limited(open_host, OTHER_USER, limit, *run_line(this_minute), "--", "touch", "ran")
    after = open_host.once(*run_line(this_minute), "--", "echo", "later")

    assert ran.status == 75
    assert "NOT run: The command could not be started" in ran.err
    assert not (open_host.root / "ran").exists()
    assert (after.status, after.out) == (0, b"later\n")


def test_a_command_whose_lease_cannot_be_kept_is_killed_and_recorded(open_host: Host, this_minute: MinuteSlot) -> None:
    """There is no thread to be had for the beats: what was begun is not left behind, and nobody says it never ran."""
    ran = limited(open_host, OTHER_USER, "-u 2", *run_line(this_minute), "--", "sleep", "600")
    (run,) = open_host.runs("report")

    assert ran.status == 123
    assert "NOT run" not in ran.err
    assert "it could not be kept" in ran.err
    assert (run["outcome"], run["exit_status"]) == ("failed", 137)


def test_settings_that_may_not_be_read_are_not_passed_over(open_host: Host, this_minute: MinuteSlot) -> None:
    """They may switch this host off; an address in the environment does not answer that."""
    settings = open_host.root / ".config/once.toml"
    settings.parent.mkdir(mode=0o755)
    settings.write_text("off = true\n")
    settings.chmod(0o600)
    os.chown(settings, NOBODY_ELSE, NOBODY_ELSE)
    ran = limited(open_host, NO_PRIVILEGE_OVER_FILES, "-c 0", *run_line(this_minute), "--", "touch", "ran")

    assert ran.status == 125
    assert f"NOT run: {settings} cannot be read by" in ran.err
    assert not (open_host.root / "ran").exists()


def test_a_closed_stderr_keeps_nobody_from_running(lone_host: Host) -> None:
    """As a closed stdout does not."""
    ran = lone_host.start_shell("once lock --task t -- touch ran 2>&-")

    assert ran.status == 0
    assert (lone_host.root / "ran").exists()
    assert lone_host.run("t")["outcome"] == "succeeded"


def test_zero_is_a_duration(lone_host: Host, this_minute: MinuteSlot) -> None:
    """No wait for the database, no limit of time, and too short a lease: not the defaults."""
    away = ["--db", "postgresql://ops@127.0.0.1:1/ops", "--db-wait", "0", "-v"]
    gone = lone_host.once(*run_line(this_minute, *away), "--", "true")
    unlimited = lone_host.once(*run_line(this_minute, "--timeout", "0"), "--", "echo", "ran")
    short = lone_host.once(*run_line(this_minute, "--lease", "0"), "--", "true")

    assert gone.status == 75
    assert "trying for another" not in gone.err
    assert (unlimited.status, unlimited.out) == (0, b"ran\n")
    assert short.status == 125
