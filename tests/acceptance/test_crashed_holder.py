"""A holder that is killed leaves a row that says running: it is shown as stuck, and stands in nobody's way for long."""

from __future__ import annotations

import os
from datetime import timedelta

from tests.acceptance.conftest import OUTLASTS_A_START, Host, MinuteSlot, until
from tests.acceptance.test_one_slot import run_line


def test_a_killed_holder_is_stuck_after_its_lease_and_its_slot_is_taken_over(
    host: Host, this_minute: MinuteSlot
) -> None:
    """Until then it is trusted: nothing is stuck, and the slot is held. Then who and where is told, and it is repeated.

    Killed before its command was started or after, the row is the same.
    """
    line = run_line(this_minute, "--lease", OUTLASTS_A_START, "--attempts", "2")
    holder = host.start(*line, "--", "sh", "-c", "echo up; exec sleep 600")
    assert holder.stdout
    holder.stdout.readline()
    holder.kill()
    holder.wait()
    early = host.once("stuck"), host.once(*line, "-v", "--", "touch", "twice")
    until(lambda: host.json("stuck"))
    (told,) = host.json("stuck")
    shown = host.once("stuck")
    took_over = host.once(*line, "--", "touch", "again")
    late = host.once("stuck")

    assert (early[0].status, early[0].out) == (0, b"Nothing is stuck in 1 task.\n")
    assert early[1].status == 0
    assert not (host.root / "twice").exists()
    assert (told["sign"], told["host"], told["pid"]) == ("no beat", os.uname().nodename, holder.pid)
    assert (shown.status, f"{told['host']}, pid {holder.pid}".encode() in shown.out) == (1, True)
    assert (took_over.status, (host.root / "again").exists()) == (0, True)
    assert [(run["attempt"], run["outcome"]) for run in host.runs("report")] == [(1, "lost"), (2, "succeeded")]
    assert late.status == 0


def test_a_crashed_run_does_not_keep_the_next_slot(host: Host, this_minute: MinuteSlot) -> None:
    """Its lease has ended, so it is lost, and the later slot runs though the earlier one never ended."""
    line = ["run", "--task", "report", "--schedule", "* * * * *", "--tz", "UTC", "--lease", "5s", "--slot"]
    slots = [(this_minute.at - timedelta(minutes=back)).isoformat() for back in (2, 1)]
    holder = host.start(*line, slots[0], "--", "sh", "-c", "echo up; exec sleep 600")
    assert holder.stdout
    holder.stdout.readline()
    holder.kill()
    holder.wait()
    until(lambda: host.json("stuck"))
    ran = host.once(*line, slots[1], "--", "touch", "ran")

    assert (ran.status, (host.root / "ran").exists()) == (0, True)
    assert [run["outcome"] for run in host.runs("report")] == ["lost", "succeeded"]
