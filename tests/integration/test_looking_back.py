"""`once gaps`, `once overlaps` and `once stuck` on a real SQLite file: exact text, exact JSON keys, what is refused."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from once.run import Ending, Holder, Line, Outcome, Slot
from once.schedule import Schedule
from once.store.base import Claim, Store
from once.store.connect import open_store
from once.verdict import Wish
from tests.unit.fakes import FakeClock

Once = Callable[..., tuple[int, str, str]]

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
PERIOD = ("--since", "2026-11-27T07:30:00Z", "--until", "2026-11-27T12:30:00Z")


class Past(FakeClock):
    """A clock that says what the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.time = NOON

    def now(self) -> datetime:
        return self.time

    def boottime(self) -> float:
        return (self.time - NOON).total_seconds() + 10**6


class Told:
    """A record in which a test lets runs happen."""

    def __init__(self, directory: Path) -> None:
        self.address = f"sqlite:{directory}/once.db"
        self.clock = Past()
        self.store: Store = open_store(self.address, clock=self.clock, state_dir=directory)

    def start(self, hours: float, *, task: str = "report", line: Line | None = Line("0 * * * *", "UTC")) -> Any:  # noqa: B008  # frozen
        """A claim at this time, which is also its slot."""
        at = self.clock.time = NOON + hours * HOUR
        slot = Slot(at, f"{at:%Y-%m-%dT%H:%M}", 0) if line else None
        claim = Claim(
            task=task,
            token=f"{task} {hours}",
            wish=Wish(slot=slot.at if slot else None, fired_at=at),
            slot=slot,
            line=line,
            lease=5 * MINUTE,
            holder=Holder("h1", None, None, 42, "ops"),
            command=("/opt/app/report", "--email to ops"),
            command_hash="c0ffee",
            unbroken_since=Schedule.of(line).unbroken_since(at, on_time=True) if line else None,
        )
        hold = self.store.claim(claim).hold
        assert hold is not None
        return hold

    def run(self, hours: float, *, took: timedelta = MINUTE, status: int = 0, **more: Any) -> None:
        """A run from beginning to end."""
        hold = self.start(hours, **more)
        outcome = Outcome.FAILED if status else Outcome.SUCCEEDED
        at = self.clock.time
        self.store.finish(hold, Ending(outcome, at + took, exit_status=status, started_at=at, duration=took))


@pytest.fixture
def record(tmp_path: Path) -> Told:
    return Told(tmp_path)


@pytest.fixture
def once(record: Told, tmp_path: Path) -> Once:
    """Runs `once` with these arguments: its exit status, stdout and stderr."""
    environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "ONCE_DB": record.address, "ONCE_STATE_DIR": str(tmp_path)}
    environ["XDG_CONFIG_HOME"] = str(tmp_path)

    def run(*arguments: str, **more: Any) -> tuple[int, str, str]:
        record.store.close()
        call = [sys.executable, "-m", "once", *arguments]
        done = subprocess.run(call, env=environ | more.pop("env", {}), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def test_gaps_are_told_in_a_table(record: Told, once: Once) -> None:
    """What, how many, from when to when, and why; slots in a row are one line."""
    record.run(-5)
    record.run(-4)
    record.run(-1, status=3)
    record.run(0)
    status, out, err = once("gaps", *PERIOD)

    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "TASK    WHAT    SLOTS  FROM                       TO                         WHY",
        "report  missed  2      2026-11-27 09:00:00+00:00  2026-11-27 10:00:00+00:00  no start",
        "report  failed  1      2026-11-27 11:00:00+00:00  -                          exit 3, run 3 on h1",
    ]


def test_gaps_have_these_keys(record: Told, once: Once) -> None:
    """A key is never lost."""
    record.run(-5)
    record.run(0, status=3)
    status, out, _ = once("gaps", *PERIOD, "--json")

    assert status == 1
    assert json.loads(out) == {
        "once": "gaps/1",
        "items": [
            {
                "task": "report",
                "kind": "missed",
                "first": "2026-11-27T08:00:00Z",
                "last": "2026-11-27T11:00:00Z",
                "count": 4,
                "reason": "no start",
                "number": None,
                "host": None,
            },
            {
                "task": "report",
                "kind": "failed",
                "first": "2026-11-27T12:00:00Z",
                "last": "2026-11-27T12:00:00Z",
                "count": 1,
                "reason": "exit 3",
                "number": 2,
                "host": "h1",
            },
        ],
        "notes": [],
    }


def test_two_lines_in_use_at_once_are_told(record: Told, once: Once) -> None:
    """A host that still has the old line is no gap, and is no news to the exit status; the slots of both were run."""
    old, new = Line("30 * * * *", "UTC"), Line("0 * * * *", "UTC")
    for hour in range(-4, 1):
        record.run(hour - 0.5, line=old)
        record.run(hour, line=new)
    status, out, err = once("gaps", *PERIOD)
    notes = json.loads(once("gaps", *PERIOD, "--json")[1])["notes"]

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "No gaps in 1 task from 2026-11-27 07:30:00+00:00 to 2026-11-27 12:30:00+00:00.",
        (
            "report: mixed schedule from 2026-11-27 08:00:00+00:00 to 2026-11-27 11:30:00+00:00:"
            " 30 * * * * UTC and 0 * * * * UTC are both in use, so the slots of both run."
        ),
    ]
    assert notes == [
        {
            "kind": "mixed schedule",
            "task": "report",
            "first": "2026-11-27T08:00:00Z",
            "last": "2026-11-27T11:30:00Z",
            "lines": [
                {"schedule": "30 * * * *", "zone": "UTC", "engine": "cron"},
                {"schedule": "0 * * * *", "zone": "UTC", "engine": "cron"},
            ],
        }
    ]


def test_an_edited_schedule_makes_up_no_gap(record: Told, once: Once) -> None:
    """From hourly to every minute: the hours before the edit have no minutes, and the two are not mixed."""
    record.run(-4)
    record.run(-3)
    for minute in range(-10, 1):
        record.run(-2 + minute / 60, took=timedelta(seconds=1), line=Line("* * * * *", "UTC"))
    status, out, err = once("gaps", "--since", "2026-11-27T07:30:00Z", "--until", "2026-11-27T10:01:00Z", "--json")

    assert (status, err) == (0, "")
    assert json.loads(out) == {"once": "gaps/1", "items": [], "notes": []}


def test_each_slot_can_be_told_by_itself(record: Told, once: Once) -> None:
    """For whoever wants to run them again."""
    record.run(-5)
    record.run(0)
    _, out, _ = once("gaps", *PERIOD, "--each", "--json")

    assert [(item["first"][11:16], item["count"]) for item in json.loads(out)["items"]] == [
        ("08:00", 1),
        ("09:00", 1),
        ("10:00", 1),
        ("11:00", 1),
    ]


def test_a_task_without_a_schedule_needs_to_be_told_how_often(record: Told, once: Once) -> None:
    """Then each start is compared with the one before, and the last one with the end."""
    for hours in (-4.5, -3.5, -1):
        record.run(hours, task="sync", line=None)

    assert once("gaps", *PERIOD, "sync")[1].splitlines() == [
        "No gaps in 1 task from 2026-11-27 07:30:00+00:00 to 2026-11-27 12:30:00+00:00.",
        "sync has no schedule: --every DUR says how often it should start.",
    ]
    status, out, _ = once("gaps", *PERIOD, "sync", "--every", "1h")
    assert status == 1
    assert out.splitlines()[1:] == [
        "sync  silent  2      2026-11-27 09:30:00+00:00  2026-11-27 10:30:00+00:00  no start for 2h 30m",
        "sync  silent  1      2026-11-27 12:00:00+00:00  -                          no start for 1h 30m",
    ]


def test_overlaps_are_told_in_a_table(record: Told, once: Once) -> None:
    """Which runs, for how long, from when to when; the first was lost, and its true end came late."""
    hold = record.start(-2)
    record.run(-1)
    late = Ending(Outcome.SUCCEEDED, NOON - HOUR + MINUTE / 2, duration=HOUR + MINUTE / 2)
    record.store.finish(hold, late)
    status, out, err = once("overlaps", *PERIOD)

    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "TASK    RUNS     TOGETHER  FROM                       TO                         WHERE  NOTE",
        "report  1 and 2  30s       2026-11-27 11:00:00+00:00  2026-11-27 11:00:30+00:00  h1",
    ]


def test_overlaps_have_these_keys(record: Told, once: Once) -> None:
    """A key is never lost, neither of the pair nor of its two sides."""
    record.run(-2, took=HOUR + MINUTE)
    record.run(-1)
    status, out, _ = once("overlaps", *PERIOD, "--json")
    (item,) = json.loads(out)["items"]

    assert status == 1
    assert item == {
        "task": "report",
        "start": "2026-11-27T11:00:00Z",
        "end": "2026-11-27T11:01:00Z",
        "shared": 60.0,
        "assumed": False,
        "runs": [
            {
                "number": 1,
                "attempt": 1,
                "slot": "2026-11-27T10:00:00Z",
                "host": "h1",
                "pid": 42,
                "outcome": "succeeded",
                "late_outcome": None,
                "start": "2026-11-27T10:00:00Z",
                "end": "2026-11-27T11:01:00Z",
                "assumed": False,
            },
            item["runs"][1],
        ],
    }


def test_stuck_runs_are_told_in_a_table(record: Told, once: Once) -> None:
    """Who, where, since when and what it was."""
    record.start(-2)
    status, out, err = once("stuck")

    assert (status, err) == (1, "")
    assert out.splitlines()[0].split() == ["TASK", "RUN", "SINCE", "WHERE", "WHY", "COMMAND"]
    assert out.splitlines()[1].startswith("report  1    2026-11-27 10:00:00+00:00  h1, pid 42, ops  no beat for ")
    assert out.splitlines()[1].endswith("ago  /opt/app/report '--email to ops'")


def test_stuck_runs_have_these_keys(record: Told, once: Once) -> None:
    """A key is never lost."""
    record.start(-2)
    status, out, _ = once("stuck", "--json")
    (item,) = json.loads(out)["items"]

    assert status == 1
    assert item.pop("elapsed") > 0
    assert item == {
        "task": "report",
        "number": 1,
        "sign": "no beat",
        "slot": "2026-11-27T10:00:00Z",
        "attempt": 1,
        "host": "h1",
        "pid": 42,
        "user": "ops",
        "command": ["/opt/app/report", "--email to ops"],
        "claimed_at": "2026-11-27T10:00:00Z",
        "beat_at": "2026-11-27T10:00:00Z",
        "lease_until": "2026-11-27T10:05:00Z",
        "usual": None,
    }


def test_nothing_found_is_said_and_exits_with_zero(record: Told, once: Once) -> None:
    """For people a line, for programs no items."""
    for hours in range(-4, 1):
        record.run(hours)
    period = "from 2026-11-27 07:30:00+00:00 to 2026-11-27 12:30:00+00:00"

    assert once("gaps", *PERIOD) == (0, f"No gaps in 1 task {period}.\n", "")
    assert once("overlaps", *PERIOD) == (0, f"No overlaps in 1 task {period}.\n", "")
    assert once("stuck") == (0, "Nothing is stuck in 1 task.\n", "")
    assert json.loads(once("gaps", *PERIOD, "--json")[1]) == {"once": "gaps/1", "items": [], "notes": []}


@pytest.mark.parametrize("verb", ["gaps", "overlaps", "stuck"])
def test_what_is_refused(verb: str, record: Told, once: Once) -> None:
    """An unknown task, and a period without any time in it."""
    record.run(-1)

    assert once(verb, "nightly") == (2, "", f"once {verb}: No such task: nightly. Try: once status lists them all\n")
    if verb != "stuck":
        status, _, err = once(verb, "--since", "1d", "--until", "2d")
        assert (status, err.startswith(f"once {verb}: There is no time between ")) == (2, True)


@pytest.mark.parametrize("verb", ["gaps", "overlaps", "stuck"])
def test_a_database_out_of_reach_is_75(verb: str, once: Once) -> None:
    """Not 1: nothing was found out."""
    status, out, err = once(verb, "--db", "postgresql://127.0.0.1:1/ops")

    assert (status, out) == (75, "")
    assert err.startswith(f"once {verb}: postgresql://127.0.0.1:1/ops is out of reach: ")


STRANGE = ("[bold]x[/bold]", "a[/b]", "🚀", "n" * 200)


@pytest.mark.parametrize("task", STRANGE)
def test_strange_names_are_printed_literally(task: str, record: Told, once: Once) -> None:
    """Into a pipe whole, and in what an ASCII-only terminal can show; data are never markup."""
    record.run(-2, task=task)
    record.run(0, task=task)
    narrow = {
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "ascii",
        "COLUMNS": "40",
    }

    assert once("gaps", *PERIOD, env={"PYTHONUTF8": "1"})[1].splitlines()[1].split("  ")[0] == task
    assert once("gaps", *PERIOD, env=narrow)[1].splitlines()[1].split("  ")[0] == ascii(task)[1:-1]
    assert json.loads(once("gaps", *PERIOD, "--json")[1])["items"][0]["task"] == task


def test_a_narrow_terminal_folds_and_loses_nothing(record: Told) -> None:
    """At 40 columns a name goes on in the next line, and what has no room stands below."""
    record.run(-2, task="[bold]nightly-backup[/bold]")
    record.run(0, task="[bold]nightly-backup[/bold]")
    shown = on_terminal(["gaps", *PERIOD], record, columns=40).splitlines()
    row, below = shown[1:3], " ".join(shown[3:])

    assert max(map(len, shown)) <= 40
    assert shown[0].split() == ["TASK", "WHAT", "SLOTS"]
    assert row == ["[bold]nightly-    missed  1", "backup[/bold]"]
    assert re.sub(r"(Nov|2026-11-)( ?)27 11:00", "DAY", below).split() == ["no", "start", "from", "DAY"]


@pytest.mark.parametrize("verb", ["status", "timeline"])
def test_a_terminal_without_a_width_has_the_usual_one(verb: str, record: Told) -> None:
    """COLUMNS=0 is what some tools hand on that have no terminal."""
    record.run(0, task="nightly-backup-of-the-warehouse")
    shown = on_terminal([verb], record, columns=0, COLUMNS="0").splitlines()
    line = next((line for line in shown if "nightly" in line), "")

    assert 40 < len(line) <= 80


@pytest.mark.parametrize("verb", ["gaps", "status", "timeline"])
def test_a_terminal_that_has_ascii_alone_is_told_all_the_same(verb: str, record: Told) -> None:
    """What it cannot show is escaped; the columns behind it are not moved."""
    for task in ("nightly-backup", "🚀 deploy"):
        record.run(-2, task=task)
        record.run(0, task=task)
    period = PERIOD if verb == "gaps" else ()
    shown = on_terminal([verb, *period], record, columns=80, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    rows = [line for line in shown.splitlines() if line.startswith(("nightly-backup  ", r"\U0001f680 deploy"))]

    assert shown.isascii()
    assert [re.split("  +", row)[0] for row in rows] == ["nightly-backup", r"\U0001f680 deploy"]
    assert len({len(re.match(".*?  +", row).group()) for row in rows}) == 1  # type: ignore[union-attr]


def on_terminal(arguments: list[str], record: Told, *, columns: int, **more: str) -> str:
    """What a terminal of this width is sent, without colour."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "ONCE_DB": record.address, "TERM": "xterm", "PYTHONUTF8": "1"}
    environ["ONCE_STATE_DIR"] = str(Path(record.address.removeprefix("sqlite:")).parent)
    call = [sys.executable, "-m", "once", *arguments]
    with subprocess.Popen(call, env=environ | more, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
        process.wait()
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;]*m|\r", "", seen.decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_a_reader_that_has_seen_enough_is_no_failure(record: Told, tmp_path: Path) -> None:
    """`| head -1` closes the pipe, and nobody hears of it."""
    record.run(-48)
    record.run(0)
    record.store.close()
    call = f"{sys.executable} -m once gaps --each --since 2026-11-20 --db {record.address} | head -1"
    environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "ONCE_STATE_DIR": str(tmp_path)}
    done = subprocess.run(["sh", "-c", call], env=environ, capture_output=True, text=True, check=True)

    assert done.stderr == ""
    assert done.stdout.startswith("TASK")


@pytest.mark.parametrize("asked", [["--help"], ["run", "--help"], ["--version"]])
def test_a_reader_of_the_help_that_has_seen_enough_is_no_failure(asked: list[str]) -> None:
    """With `set -o pipefail`, `once run --help | grep -q` would fail."""
    reads, writes = os.pipe()
    os.close(reads)
    call = [sys.executable, "-m", "once", *asked]
    done = subprocess.run(call, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)

    assert (done.returncode, done.stderr) == (0, b"")
