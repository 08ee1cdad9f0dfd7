"""A record on a real SQLite file in which runs of a daily task have happened, and `once` asked about it."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from once import host
from once.cli import main
from once.clock import SystemClock
from once.run import Ending, Hold, Holder, Line, Outcome, Slot, fingerprint
from once.signals import Arrivals
from once.store.base import Claim, Store
from once.store.connect import open_store
from once.verdict import Wish

Once = Callable[..., tuple[int, str, str]]

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
BY = f"by {host.operator({}).login} on {os.uname().nodename}"
"""Who types what these tests type."""

OF_THE_CALLER = (
    "ONCE_SCOPE",
    "ONCE_KEEP",
    "ONCE_OFF",
    "ONCE_RECORD_ARGS",
    "ONCE_TZ",
    "CRON_TZ",
    "SUDO_USER",
    "DOAS_USER",
)
"""What whoever runs the tests may have set."""


class StoppedClock:
    """Says the time that it is set to. Nobody sleeps by it."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time

    def boottime(self) -> float:
        return (self.time - NOON).total_seconds() + 10**7

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class Record:
    """Where runs happen at their slots, which are a day apart; `newest` is the last of them."""

    def __init__(self, directory: Path, newest: datetime) -> None:
        self.path = directory / "once.db"
        self.address = f"sqlite:{self.path}"
        self.newest = newest
        self.line = Line(f"{newest.minute} {newest.hour} * * *", "UTC")
        self.clock = StoppedClock(newest)
        self.store: Store = open_store(self.address, clock=self.clock, state_dir=directory)

    def slot(self, back: int = 0) -> Slot:
        """The slot so many days back."""
        at = self.newest - back * DAY
        return Slot(at, f"{at:%Y-%m-%dT%H:%M}", 0)

    def claim(self, back: int | None = 0, **more: Any) -> Claim:
        """A claim of that slot; of none for None."""
        slot = self.slot(back) if back is not None else None
        command = more.pop("command", ("/opt/report", "--email to ops"))
        return Claim(
            **{
                "task": "report",
                "token": os.urandom(8).hex(),
                "wish": Wish(slot=slot.at if slot else None, fired_at=self.clock.time),
                "slot": slot,
                "line": self.line if slot else None,
                "lease": 5 * MINUTE,
                "holder": Holder("h1", None, host.holder({}).boot, 42, host.user_name()),
                "command": command,
                "command_hash": fingerprint(command),
                **more,
            }
        )

    def start(self, back: int | None = 0, **more: Any) -> Hold:
        """A run begins, at its slot."""
        if back is not None:
            self.clock.time = self.slot(back).at
        hold = self.store.claim(self.claim(back, **more)).hold
        assert hold is not None
        return hold

    def run(self, back: int | None = 0, *, status: int = 0, **more: Any) -> Hold:
        """A run from beginning to end."""
        hold = self.start(back, **more)
        outcome, began = Outcome.FAILED if status else Outcome.SUCCEEDED, self.clock.time
        ending = Ending(outcome, began + MINUTE, exit_status=status, started_at=began, duration=MINUTE)
        self.store.finish(hold, ending)
        return hold


@pytest.fixture(autouse=True)
def _files_are_closed() -> Iterator[None]:
    """A verb leaves its record open, since its process ends; here it does not, and Python 3.13 tells of each."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*where: Any, **how: Any) -> sqlite3.Connection:
        opened.append(connect(*where, **how))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite3, "connect", noted)
        yield
    for connection in opened:
        connection.close()


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Its newest slot is at noon of a day in November."""
    return Record(tmp_path, NOON)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Once:
    """Runs `once` with these arguments, on the record in the test's directory: its exit status, stdout and stderr."""
    for name in OF_THE_CALLER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ONCE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("ONCE_DB", f"sqlite:{tmp_path}/once.db")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments, Arrivals())
        out, err = capfd.readouterr()
        return status, out, err

    return run


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record in the test's directory, by this host's clock."""
    store = open_store(f"sqlite:{tmp_path}/once.db", clock=SystemClock(), state_dir=tmp_path)
    yield store
    store.close()


@pytest.fixture
def once(record: Record, asked: Once) -> Iterator[Once]:
    """Runs `once` with these arguments, as somebody in UTC: its exit status, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        record.store.close()
        return asked(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield run
    time.tzset()


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """The time of whoever runs `once` here; ten minutes past the newest slot unless it is set."""
    clock = StoppedClock(NOON + 10 * MINUTE)
    monkeypatch.setattr("once.commands.opening.SystemClock", lambda: clock)
    return clock


def items(told: tuple[int, str, str]) -> list[dict[str, Any]]:
    """What a verb has told with --json; nothing on stderr."""
    assert told[2] == ""
    found: list[dict[str, Any]] = json.loads(told[1])["items"]
    return found
