"""More than one attempt of a slot, and hosts that stand by for each other."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import OUTLASTS_A_START, Host, MinuteSlot, Ran, alive, ended, until
from tests.acceptance.test_one_slot import run_line

FAILS_TWICE = 'echo x >> tries; [ $(wc -l < tries) -ge 3 ] || exit $((10 + ONCE_ATTEMPT)); echo "attempt $ONCE_ATTEMPT"'


def outcomes(host: Host) -> list[tuple[int, str, int | None]]:
    return [(run["attempt"], run["outcome"], run["exit_status"]) for run in host.runs("report")]


def held(host: Host, slot: MinuteSlot, *more: str, then: str = "exit 0") -> subprocess.Popen[bytes]:
    """A holder whose command runs until it gets a line."""
    script = f"echo $$; read _; {then}"
    return host.start(*run_line(slot, *more), "--", "sh", "-c", script, stdin=subprocess.PIPE)


def pid_of(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout
    return int(process.stdout.readline())


def waiter(host: Host, slot: MinuteSlot, *more: str) -> subprocess.Popen[bytes]:
    """Another host that stands by, and does."""
    process = host.start(*run_line(slot, "--standby", "-v", *more), "--", "sh", "-c", "echo took over")
    assert process.stderr
    until(lambda: b"waiting for run" in process.stderr.readline())
    return process


def test_the_holder_repeats_a_failure_until_it_succeeds(host: Host, this_minute: MinuteSlot) -> None:
    """Each attempt has its row and its number; the status is the last one's."""
    line = run_line(this_minute, "--attempts", "5", "--retry-delay", "100ms")
    ran = host.once(*line, "--", "sh", "-c", FAILS_TWICE)

    assert ran == Ran(0, b"attempt 3\n", "")
    assert outcomes(host) == [(1, "failed", 11), (2, "failed", 12), (3, "succeeded", 0)]


def test_the_holder_gives_up_after_its_attempts(lone_host: Host, this_minute: MinuteSlot) -> None:
    """With the status of the last."""
    line = run_line(this_minute, "--attempts", "2", "--retry-delay", "100ms")
    ran = lone_host.once(*line, "--", "sh", "-c", FAILS_TWICE)
    again = lone_host.once(*line, "--", "sh", "-c", FAILS_TWICE)

    assert (ran.status, again) == (12, Ran(0, b"", ""))
    assert outcomes(lone_host) == [(1, "failed", 11), (2, "failed", 12)]


def test_a_record_that_goes_away_before_the_next_attempt_does_not_take_the_status(
    lone_host: Host, this_minute: MinuteSlot, tmp_path: Path
) -> None:
    """The command has run: neither 75 nor 125 would be true."""
    line = run_line(this_minute, "--attempts", "2", "--retry-delay", OUTLASTS_A_START, "--db-wait", "1s")
    holder = lone_host.start(*line, "--", "sh", "-c", "exit 3")
    until(lambda: [run["outcome"] for run in lone_host.runs("report")] == ["failed"])
    (tmp_path / "lone.db").rename(tmp_path / "away.db")
    (tmp_path / "lone.db").mkdir()
    ran = ended(holder)

    assert ran.status == 3
    assert ran.err.startswith("once run: report: status 3; the next attempt was NOT begun: sqlite:")


def test_a_retry_that_waits_keeps_the_slot(host: Host, this_minute: MinuteSlot) -> None:
    """Another host's start is no retry."""
    line = run_line(this_minute, "--attempts", "2", "--retry-delay", "1h")
    process = host.start(*line, "-v", "--", "false")
    assert process.stderr
    until(lambda: b"the next attempt is in 1h" in process.stderr.readline())
    other = host.once(*line, "--", "touch", "ran")
    process.terminate()
    ran = ended(process)

    assert other == Ran(0, b"", "")
    assert ran.status == 143
    assert outcomes(host) == [(1, "failed", 1)]


def test_a_stopped_run_is_not_repeated_by_its_holder_and_may_be_by_another(
    lone_host: Host, this_minute: MinuteSlot
) -> None:
    """It has used up no attempt."""
    line = run_line(this_minute, "--attempts", "3")
    process = lone_host.start(*line, "--", "sh", "-c", "echo $$; exec sleep 600")
    pid_of(process)
    process.terminate()
    stopped = ended(process)
    after = lone_host.once(*run_line(this_minute), "--", "true")

    assert (stopped.status, after.status) == (143, 0)
    assert outcomes(lone_host) == [(1, "stopped", 143), (2, "succeeded", 0)]


@pytest.mark.parametrize(("then", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_a_standby_exits_with_the_status_of_the_holder(
    host: Host, this_minute: MinuteSlot, then: str, status: int
) -> None:
    """So a pod of the same Job cannot turn a failure into a success; and it runs nothing."""
    holder = held(host, this_minute, then=then)
    pid_of(holder)
    standby = waiter(host, this_minute)
    holder.communicate(b"\n")
    ran = ended(standby)

    assert (holder.returncode, ran.status, ran.out) == (status, status, b"")
    assert len(host.runs("report")) == 1


def test_a_standby_takes_over_a_lost_run_while_attempts_are_left(
    fleet: Callable[[int], list[Host]], this_minute: MinuteSlot
) -> None:
    """The holder is killed; one of two takes over within the lease, the other mirrors it."""
    first, second, third = fleet(3)
    holder = held(first, this_minute, "--lease", "5s", "--attempts", "3")
    command = pid_of(holder)
    standbys = [waiter(one, this_minute, "--attempts", "3") for one in (second, third)]
    holder.kill()
    ran = [ended(standby) for standby in standbys]
    until(lambda: not alive(command))

    assert [one.status for one in ran] == [0, 0]
    assert sorted(one.out for one in ran) == [b"", b"took over\n"]
    assert outcomes(first) == [(1, "lost", None), (2, "succeeded", 0)]


def test_a_standby_without_attempts_left_says_122(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The slot's run was lost, and nobody may repeat it."""
    holder = held(lone_host, this_minute, "--lease", "5s")
    pid_of(holder)
    standby = waiter(lone_host, this_minute)
    holder.kill()
    ran = ended(standby)

    assert ran.status == 122
    assert "run 1 lost" in ran.err


@pytest.mark.parametrize("policy", ["overlap", "pause"])
def test_a_standby_that_a_policy_keeps_from_repeating_a_failure_says_its_status(
    lone_host: Host, this_minute: MinuteSlot, policy: str
) -> None:
    """The slot has failed, whatever else is going on: a pod's 0 would make its Job a success."""
    line = run_line(this_minute, "--standby", "--attempts", "2")
    lone_host.once(*run_line(this_minute), "--", "sh", "-c", "exit 3")
    if policy == "pause":
        lone_host.once("pause", "report")
    else:
        pid_of(lone_host.start("lock", "--task", "report", "--", "sh", "-c", "echo $$; read _", stdin=subprocess.PIPE))
    ran = lone_host.once(*line, "--", "echo", "ran")

    assert (ran.status, ran.out) == (3, b"")
    assert ran.err.endswith("; run 1 failed; hence exit status 3\n")


def test_a_standby_that_may_not_wait_any_longer_says_75(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The outcome is not known yet: neither success nor failure."""
    holder = held(lone_host, this_minute)
    pid_of(holder)
    ran = lone_host.once(*run_line(this_minute, "--standby", "-w", "200ms"), "--", "touch", "ran")
    holder.communicate(b"\n")

    assert ran.status == 75
    assert "is being run" in ran.err
    assert not (lone_host.root / "ran").exists()


def test_a_frozen_holder_that_was_taken_over_does_no_more_work(host: Host, this_minute: MinuteSlot) -> None:
    """SIGSTOP past the lease, SIGCONT after: its command is killed, and its row stays as it was told."""
    holder = host.start(
        *run_line(this_minute, "--lease", "5s", "--attempts", "2"),
        "--", "sh", "-c", "touch work; echo $$; while :; do date +%s.%N >> work; sleep 0.05; done",
    )  # fmt: skip
    command = pid_of(holder)
    standby = waiter(host, this_minute, "--attempts", "2")
    holder.send_signal(signal.SIGSTOP)
    os.killpg(command, signal.SIGSTOP)
    took_over = ended(standby)
    before = (host.root / "work").read_bytes()
    holder.send_signal(signal.SIGCONT)
    ran = ended(holder)
    runs = host.runs("report")

    assert took_over.out == b"took over\n"
    assert ran.status == 123
    assert (host.root / "work").read_bytes() == before
    assert [run["outcome"] for run in runs] == ["lost", "succeeded"]
    assert runs[0]["late_status"] == 137


@pytest.mark.parametrize("policy", ["wait", "allow", "skip"])
def test_a_run_of_another_slot_is_waited_for_allowed_or_skipped(
    lone_host: Host, this_minute: MinuteSlot, policy: str
) -> None:
    """--overlap."""
    before = lone_host.start("lock", "--task", "report", "--", "sh", "-c", "echo $$; read _", stdin=subprocess.PIPE)
    pid_of(before)
    process = lone_host.start(*run_line(this_minute, "--overlap", policy, "-v"), "--", "echo", "ran")
    if policy == "wait":
        assert process.stderr
        until(lambda: b"waiting for run 1" in process.stderr.readline())
        before.communicate(b"\n")
    ran = ended(process)

    assert ran.status == 0
    assert ran.out == (b"" if policy == "skip" else b"ran\n")
    assert lone_host.runs("report")[1]["outcome"] == ("skipped" if policy == "skip" else "succeeded")
