"""--overlap: a slot begins while the run of an older one is alive. Each policy, on a file and on a server."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.acceptance.conftest import Host, Ran, alive, ended, until

pytestmark = pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)

HOUR = timedelta(hours=1)
WORKS = "echo $$; until [ -e end ]; do sleep 0.05; done; echo ended"
STOPS = "trap 'echo stopped; exit 3' TERM; echo $$; while :; do sleep 0.05; done"
DEAF = "trap '' TERM; echo $$; while :; do sleep 0.05; done"

THIS_HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
"""Looked at once: the hour may strike in the middle of a test."""


def slot(number: int) -> str:
    """One of the last slots, the higher the newer."""
    return f"{THIS_HOUR - (9 - number) * HOUR:%Y-%m-%dT%H:%M:%SZ}"


def start(host: Host, number: int, policy: str, *command: str, more: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    """A start for that slot."""
    schedule = ("--schedule", "0 * * * *", "--tz", "UTC", "--slot", slot(number), "--lease", "5s")
    return host.start("run", "--task", "report", *schedule, "--overlap", policy, "-v", *more, "--", *command)


def at_work(host: Host, number: int, script: str, policy: str = "replace") -> tuple[subprocess.Popen[bytes], int]:
    """A run whose command is at work, and the command's pid."""
    process = start(host, number, policy, "sh", "-c", script)
    assert process.stdout
    return process, int(process.stdout.readline())


def waiting(host: Host, number: int, policy: str, *command: str) -> subprocess.Popen[bytes]:
    """A start that waits, and has said for whom."""
    process = start(host, number, policy, *command)
    assert process.stderr
    until(lambda: b"waiting for run 1 on" in process.stderr.readline())
    return process


def told(host: Host) -> list[tuple[Any, ...]]:
    return [(run["number"], run["slot"], run["outcome"]) for run in host.runs("report")]


def test_skip_records_the_slot_with_the_run_that_is_in_its_way(host: Host) -> None:
    """Whoever records it says so; nobody runs it later."""
    older, _ = at_work(host, 1, WORKS)
    newer = ended(start(host, 2, "skip", "touch", "ran"))
    (host.root / "end").touch()
    ended(older)
    again = ended(start(host, 2, "skip", "touch", "ran"))
    first, second = host.runs("report")

    assert (newer.status, newer.out, newer.err.count("\n")) == (0, b"", 1)
    assert "skipped: another run is alive, run 1" in newer.err
    assert (again.status, again.out) == (0, b"")
    assert (first["outcome"], second["outcome"]) == ("succeeded", "skipped")
    assert second["reason"] == f"overlap: run 1 on {first['host']} is alive"
    assert not (host.root / "ran").exists()


def test_wait_runs_it_afterwards(host: Host) -> None:
    """One after the other, however long the first takes."""
    older, _ = at_work(host, 1, WORKS)
    newer = waiting(host, 2, "wait", "echo", "ran")
    (host.root / "end").touch()
    ran = [ended(older), ended(newer)]

    assert [(one.status, one.out) for one in ran] == [(0, b"ended\n"), (0, b"ran\n")]
    assert told(host) == [(1, slot(1), "succeeded"), (2, slot(2), "succeeded")]
    assert host.once("overlaps").status == 0


def test_allow_runs_it_beside_the_other(host: Host) -> None:
    """And the record shows that."""
    older, _ = at_work(host, 1, WORKS)
    beside, _ = at_work(host, 2, WORKS, "allow")
    until(lambda: (run := host.runs("report")[1])["beat_at"] > run["claimed_at"])
    (host.root / "end").touch()
    newer = ended(beside)
    ended(older)
    (pair,) = host.json("overlaps")

    assert (newer.status, newer.out) == (0, b"ended\n")
    assert told(host) == [(1, slot(1), "succeeded"), (2, slot(2), "succeeded")]
    assert [side["number"] for side in pair["runs"]] == [1, 2]


def test_replace_stops_the_older_run_and_starts_when_it_has_ended(host: Host) -> None:
    """The command gets TERM from its own `once`, which says why; its slot is final."""
    older, _ = at_work(host, 1, STOPS)
    newer = start(host, 2, "replace", "echo", "ran")
    ran = [ended(older), ended(newer)]
    first, second = host.runs("report")
    again = ended(start(host, 1, "replace", "touch", "ran", more=("--attempts", "9")))

    assert [(one.status, one.out) for one in ran] == [(3, b"stopped\n"), (0, b"ran\n")]
    assert f"the command is stopped: replaced by slot {slot(2)}" in ran[0].err
    assert (first["outcome"], first["reason"], first["exit_status"]) == ("cancelled", f"replaced by slot {slot(2)}", 3)
    assert second["outcome"] == "succeeded"
    assert host.once("overlaps").status == 0
    assert (again.status, again.out) == (0, b"")
    assert not (host.root / "ran").exists()


def test_replace_kills_what_does_not_stop(host: Host) -> None:
    """After the grace that its own line gives it."""
    older = start(host, 1, "replace", "sh", "-c", DEAF, more=("--kill-after", "200ms"))
    assert older.stdout
    pid = int(older.stdout.readline())
    newer = ended(start(host, 2, "replace", "echo", "ran"))
    killed = ended(older)
    first, second = host.runs("report")

    assert (killed.status, newer.status, newer.out) == (137, 0, b"ran\n")
    assert not alive(pid)
    assert (first["outcome"], first["reason"]) == ("cancelled", f"replaced by slot {slot(2)}, needed KILL")
    assert second["outcome"] == "succeeded"


def test_replace_waits_for_the_lease_of_a_run_that_does_not_answer(host: Host) -> None:
    """Its `once` is gone; what was asked of it stands in the record."""
    older, pid = at_work(host, 1, WORKS)
    older.kill()
    older.wait()
    newer = ended(start(host, 2, "replace", "echo", "ran"))
    first, second = host.runs("report")
    until(lambda: not alive(pid))

    assert (newer.status, newer.out) == (0, b"ran\n")
    assert first["outcome"] == "cancelled"
    assert first["reason"].startswith(f"replaced by slot {slot(2)}; its lease had ended, found by")
    assert second["claimed_at"] >= first["lease_until"]


def test_who_does_not_wait_replaces_nobody(host: Host) -> None:
    """It would have the older run stopped, and then run nothing itself."""
    older, _ = at_work(host, 1, WORKS)
    newer = ended(start(host, 2, "replace", "touch", "ran", more=("--no-wait",)))
    (host.root / "end").touch()

    assert (newer.status, ended(older).status) == (125, 0)
    assert "--overlap replace" in newer.err
    assert not (host.root / "ran").exists()


def test_an_older_slot_replaces_nobody(host: Host) -> None:
    """It is skipped, on record."""
    newer, _ = at_work(host, 2, WORKS)
    older = ended(start(host, 1, "replace", "touch", "ran"))
    (host.root / "end").touch()
    ran = ended(newer)

    assert (older.status, ran.status, ran.out) == (0, 0, b"ended\n")
    assert told(host) == [(1, slot(2), "succeeded"), (2, slot(1), "skipped")]
    assert not (host.root / "ran").exists()


def test_of_two_that_replace_a_run_the_newest_is_left(host: Host) -> None:
    """Whichever of them is first when it has ended: never both, and the newest runs to its end.

    The other one was stopped for it, or was skipped beside it, or came after it.
    """
    oldest, _ = at_work(host, 1, STOPS)
    script = "trap 'echo stopped; exit 3' TERM; until [ -e end ]; do sleep 0.05; done; echo ended"
    between = start(host, 2, "replace", "sh", "-c", script)
    newest = start(host, 3, "replace", "echo", "ran")
    first, last = ended(oldest), ended(newest)
    (host.root / "end").touch()
    other = ended(between)
    outcomes = {at: outcome for _, at, outcome in told(host)}
    became = {b"stopped\n": (3, "cancelled"), b"ended\n": (0, "succeeded"), b"": (0, "skipped")}

    assert (first.status, last) == (3, Ran(0, b"ran\n", last.err))
    assert (other.status, outcomes.pop(slot(2))) == became[other.out]
    assert outcomes == {slot(1): "cancelled", slot(3): "succeeded"}
    assert host.once("overlaps").status == 0
