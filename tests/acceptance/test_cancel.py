"""`once cancel`, and what becomes of a run that works, waits to be repeated, or is dead."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

import pytest

from tests.acceptance.conftest import OUTLASTS_A_START, PATIENCE, Host, MinuteSlot, alive, ended, until
from tests.acceptance.test_attempts import pid_of, waiter
from tests.acceptance.test_one_slot import run_line

pytestmark = pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)

STOPS = "trap 'echo stopped; exit 3' TERM; echo $$; while :; do sleep 0.05; done"


def at_work(
    host: Host, slot: MinuteSlot, *more: str, script: str = STOPS, lease: str = "5s"
) -> tuple[subprocess.Popen[bytes], int]:
    """A run whose command is at work, and the command's pid."""
    process = host.start(*run_line(slot, "--lease", lease, *more), "--", "sh", "-c", script)
    return process, pid_of(process)


def cancelled(host: Host, *more: str) -> list[dict[str, Any]]:
    """What `once cancel` did."""
    return host.json("cancel", "report", *more, "--reason", "wrong input")


def test_a_run_at_work_is_stopped_by_its_own_once(host: Host, this_minute: MinuteSlot) -> None:
    """Its command gets TERM; whoever stands by does not take over, and ends as it does."""
    holder, _ = at_work(host, this_minute, "--attempts", "3")
    standby = waiter(host, this_minute, "--attempts", "3")
    (item,) = cancelled(host)
    ran = [ended(holder), ended(standby)]
    run = host.run("report")

    assert (item["number"], item["asked"]) == (1, True)
    assert [(one.status, one.out) for one in ran] == [(3, b"stopped\n"), (3, b"")]
    assert "the command is stopped: cancelled by" in ran[0].err
    assert (run["outcome"], run["exit_status"]) == ("cancelled", 3)
    assert run["reason"].startswith("cancelled by ") and run["reason"].endswith(": wrong input")


def test_a_stderr_that_nobody_reads_does_not_hold_up_the_end(host: Host, this_minute: MinuteSlot) -> None:
    """A pager, a log shipper that hangs: what is said about the command must not stand between it and its end."""
    unread, errors = os.pipe()
    script = "echo $$; exec sleep 600"
    holder = host.start(*run_line(this_minute, "--lease", "5s"), "--", "sh", "-c", script, stderr=errors)
    pid_of(holder)
    os.set_blocking(errors, False)
    with suppress(BlockingIOError):
        while True:
            os.write(errors, b"-" * 4096)
    os.set_blocking(errors, True)
    os.close(errors)
    cancelled(host)

    assert holder.wait(PATIENCE) == 143
    assert host.run("report")["outcome"] == "cancelled"
    os.close(unread)


def test_what_answers_with_success_has_succeeded(host: Host, this_minute: MinuteSlot) -> None:
    """It was done: nobody is told otherwise."""
    holder, _ = at_work(host, this_minute, script=STOPS.replace("exit 3", "exit 0"))
    cancelled(host)

    assert ended(holder).status == 0
    assert host.run("report")["outcome"] == "succeeded"


def test_what_does_not_stop_is_killed(host: Host, this_minute: MinuteSlot) -> None:
    """Nor does what it has started go on."""
    deaf = "trap '' TERM; sleep 600 & echo $!; wait; wait; sleep 600"
    holder, child = at_work(host, this_minute, "--kill-after", "200ms", script=deaf)
    cancelled(host)

    assert ended(holder).status == 137
    until(lambda: not alive(child))
    assert host.run("report")["reason"].endswith(": wrong input, needed KILL")


def test_a_run_that_waits_to_be_repeated_is_not(host: Host, this_minute: MinuteSlot) -> None:
    """Its holder ends with the status of the attempt that was."""
    line = run_line(this_minute, "--attempts", "3", "--retry-delay", OUTLASTS_A_START, "-v")
    holder = host.start(*line, "--", "sh", "-c", "echo x >> ran; exit 7")
    assert holder.stderr
    until(lambda: b"the next attempt is in" in holder.stderr.readline())
    (item,) = cancelled(host)
    ran = ended(holder)
    run = host.run("report")

    assert (item["number"], item["asked"]) == (1, False)
    assert ran.status == 7
    assert (host.root / "ran").read_text() == "x\n"
    assert (run["outcome"], run["exit_status"]) == ("cancelled", 7)


def test_a_run_whose_once_is_gone_is_over_when_its_lease_is(host: Host, this_minute: MinuteSlot) -> None:
    """Before that it is asked to stop, in case it lives; whoever comes later does not run its slot again."""
    holder, command = at_work(host, this_minute, "--attempts", "3", lease=OUTLASTS_A_START)
    holder.kill()
    holder.wait()
    until(lambda: not alive(command))
    (item,) = cancelled(host)
    assert item["asked"]
    until(lambda: host.json("stuck"))
    (item,) = cancelled(host)
    again = host.once(*run_line(this_minute, "--attempts", "3"), "--", "touch", "ran")

    assert not item["asked"]
    assert again.status == 0
    assert not (host.root / "ran").exists()
    assert host.run("report")["outcome"] == "cancelled"


def test_one_of_several_is_cancelled(host: Host, this_minute: MinuteSlot) -> None:
    """By its number; the other goes on."""
    script = "until [ -e end ]; do sleep 0.05; done"
    other = host.start("lock", "--task", "report", "--lease", "5s", "--", "sh", "-c", f"echo $$; {script}")
    pid_of(other)
    holder, _ = at_work(host, this_minute, "--overlap", "allow")
    cancelled(host, "2")
    stopped = ended(holder)
    goes_on = other.poll()
    (host.root / "end").touch()

    assert (stopped.status, goes_on, ended(other).status) == (3, None, 0)
    assert [run["outcome"] for run in host.runs("report")] == ["succeeded", "cancelled"]


def test_a_frozen_run_is_killed_when_it_was_cancelled_meanwhile(host: Host, this_minute: MinuteSlot) -> None:
    """It wakes past its lease: the operator's word has ended it, and its own end is evidence."""
    holder, command = at_work(
        host, this_minute, script="touch work; echo $$; while :; do echo x >> work; sleep 0.05; done"
    )
    holder.send_signal(signal.SIGSTOP)
    os.killpg(command, signal.SIGSTOP)
    until(lambda: host.json("stuck"))
    (item,) = cancelled(host)
    before = (host.root / "work").read_bytes()
    holder.send_signal(signal.SIGCONT)
    ran = ended(holder)
    run = host.run("report")

    assert (item["asked"], ran.status) == (False, 123)
    assert (host.root / "work").read_bytes() == before
    assert (run["outcome"], run["late_outcome"], run["late_status"]) == ("cancelled", "lost", 137)
