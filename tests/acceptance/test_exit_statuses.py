"""The table of exit statuses, each line produced by a real command; every line of ours says what happened."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from tests.acceptance.conftest import Host, MinuteSlot, Ran, until
from tests.acceptance.test_one_slot import run_line, shifted

REFUSED = "postgresql://ops@127.0.0.1:1/ops"


@pytest.mark.parametrize(
    ("script", "status", "outcome", "signal"),
    [
        ("exit 0", 0, "succeeded", None),
        ("exit 1", 1, "failed", None),
        ("exit 75", 75, "failed", None),
        ("exit 255", 255, "failed", None),
        ("kill -TERM $$", 143, "failed", 15),
        ("kill -KILL $$", 137, "failed", 9),
        ("kill -SEGV $$", 139, "failed", 11),
    ],
)
def test_the_commands_status_is_ours(
    lone_host: Host, this_minute: MinuteSlot, script: str, status: int, outcome: str, signal: int | None
) -> None:
    """A death by signal n is 128+n, as in every shell; nothing is added to the output."""
    ran = lone_host.once(*run_line(this_minute), "--", "sh", "-c", script)
    run = lone_host.run("report")

    assert ran == Ran(status, b"", "")
    assert (run["outcome"], run["exit_status"], run["signal"]) == (outcome, status, signal)


@pytest.mark.parametrize(("verb", "status"), [("lock", 125), ("gaps", 125), ("check", 3)])
def test_an_installation_that_is_broken_is_nobody_elses_status(lone_host: Host, verb: str, status: int) -> None:
    """Not 1, as Python has it: that is a command's failure, or what a report has found."""
    (lone_host.root / "click.py").write_text("raise ImportError('click is gone')")
    how = ["--task", "t", "--", "touch", "ran"] if verb == "lock" else []
    ran = lone_host.once(verb, *how, environ={"PYTHONPATH": str(lone_host.root)})

    assert (ran.status, ran.out) == (status, b"")
    assert ran.err == "once: internal error, ImportError: click is gone. Try: ONCE_DEBUG=1 for the traceback\n"
    assert not (lone_host.root / "ran").exists()


def test_a_skip_is_0_or_what_was_asked_for(host: Host, this_minute: MinuteSlot) -> None:
    """Done before: the same on every store."""
    first = host.once(*run_line(this_minute), "--", "true")
    again = host.once(*run_line(this_minute), "--", "true")
    coded = host.once(*run_line(this_minute), "-E", "9", "--", "true")

    assert [one.status for one in (first, again, coded)] == [0, 0, 9]
    assert len(host.runs("report")) == 1


def test_a_failure_is_not_repeated_by_another_start(host: Host, this_minute: MinuteSlot) -> None:
    """One attempt is the default: host B, two seconds later, is no retry."""
    host.once(*run_line(this_minute), "--", "false")
    again = host.once(*run_line(this_minute), "--", "true")

    assert again == Ran(0, b"", "")
    assert host.run("report")["outcome"] == "failed"


def test_a_start_that_is_too_late_is_skipped_and_recorded(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Whoever records the skip says so, once."""
    late = timedelta(seconds=40)
    lone_host.once(*run_line(this_minute, task="other"), "--", "true")
    line = run_line(this_minute, "--start-within", "5s")
    first = lone_host.once(*line, "--", "touch", "ran", environ=shifted(late))
    second = lone_host.once(*line, "--", "touch", "ran", environ=shifted(late))

    assert (first.status, second) == (0, Ran(0, b"", ""))
    assert "more than --start-within" in first.err
    assert lone_host.run("report")["outcome"] == "skipped"
    assert not (lone_host.root / "ran").exists()


def test_a_database_out_of_reach_is_75_and_runs_nothing(lone_host: Host, this_minute: MinuteSlot) -> None:
    """One line, which does not show the password, and no traceback."""
    address = "postgresql://ops:s3cret@127.0.0.1:1/ops"
    ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s"), "--", "touch", "ran")

    assert ran.status == 75
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("once run: report: NOT run: postgresql://ops@127.0.0.1:1/ops is out of reach")
    assert "s3cret" not in ran.err
    assert not (lone_host.root / "ran").exists()


def test_a_server_that_never_answers_is_75(lone_host: Host, this_minute: MinuteSlot) -> None:
    """It accepts and says nothing: a stopped server, or a firewall in the middle."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://ops@127.0.0.1:{silent.getsockname()[1]}/ops"
        ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s"), "--", "touch", "ran")

    assert ran.status == 75
    assert not (lone_host.root / "ran").exists()


def test_a_command_over_its_time_limit_is_124(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The group is stopped, and the record says so."""
    ran = lone_host.once(*run_line(this_minute, "--timeout", "300ms"), "--", "sleep", "600")
    run = lone_host.run("report")

    assert ran.status == 124
    assert ran.err == "once run: report: run 1 was stopped: it ran longer than 300ms\n"
    assert (run["outcome"], run["signal"]) == ("timed_out", 15)


def test_a_command_that_ignores_its_time_limit_is_killed(lone_host: Host, this_minute: MinuteSlot) -> None:
    """--kill-after; the status stays that of the time limit."""
    line = run_line(this_minute, "--timeout", "300ms", "-k", "300ms", "-s", "HUP")
    ran = lone_host.once(*line, "--", "sh", "-c", "trap '' HUP; while :; do sleep 1; done")
    run = lone_host.run("report")

    assert ran.status == 124
    assert (run["outcome"], run["signal"]) == ("timed_out", 9)
    assert run["reason"] == "over its time limit, needed KILL"


def test_wrong_calls_are_125_and_run_nothing(lone_host: Host) -> None:
    """So that no caller takes them for the command's failure."""
    calls = [
        ["run", "--task", "t", "--schedule", "* * * * *"],
        ["run", "--task", "t", "--schedule", "* * * * *", "--"],
        ["run", "--task", "t", "--", "touch", "ran"],
        ["run", "--schedule", "* * * * *", "--", "touch", "ran"],
        ["run", "--task", "t", "--schedule", "* * * * *", "--stand-by", "--", "touch", "ran"],
        ["lock", "--task", "t", "--schedule", "* * * * *", "--", "touch", "ran"],
        ["lock", "--task", "t"],
    ]
    ran = [lone_host.once(*call) for call in calls]

    assert [one.status for one in ran] == [125] * len(calls)
    assert all(one.err.count("\n") == 1 and one.err.startswith("once ") for one in ran)
    assert not (lone_host.root / "ran").exists()


def test_wrong_calls_of_other_verbs_are_2(lone_host: Host) -> None:
    """They wrap nothing, so they have the usual status."""
    calls = [["runs"], ["runs", "nobody"], ["show", "nobody"], ["status", "--nonsense"], ["nonsense"], ["--nonsense"]]
    ran = [lone_host.once(*call) for call in calls]

    assert [one.status for one in ran] == [2] * len(calls)
    assert all(one.err.count("\n") == 1 for one in ran)
    assert ran[4].err == "once: No such command 'nonsense'. Try: once --help\n"


@pytest.mark.parametrize("number", ["0", "-1", "2", str(2**63), "9" * 30])
def test_a_number_that_no_run_has_is_2(host: Host, number: str) -> None:
    """Also one that no store could hold."""
    host.once("lock", "--task", "t", "--", "true")
    ran = host.once("show", "t", number)

    assert (ran.status, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert number in ran.err
    assert "internal" not in ran.err


def test_no_such_command_is_127_and_recorded(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The slot was claimed for it, so the row says what came of it."""
    ran = lone_host.once(*run_line(this_minute), "--", "no-such-command")
    run = lone_host.run("report")

    assert ran.status == 127
    absolute = lone_host.once("lock", "--task", "t", "--", "/no/such/command")
    path = lone_host.environ["PATH"]
    assert ran.err == f"once run: report: no-such-command: no such command (PATH is {path}); recorded as a failed run\n"
    assert (run["outcome"], run["exit_status"]) == ("failed", 127)
    assert absolute.err == "once lock: t: /no/such/command: no such file; recorded as a failed run\n"


def test_a_command_that_is_no_program_is_126_and_recorded(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A file without the right to execute it."""
    (lone_host.root / "data").write_text("x")
    ran = lone_host.once(*run_line(this_minute), "--", "./data")
    run = lone_host.run("report")

    assert ran.status == 126
    assert "./data cannot be executed: " in ran.err
    assert (run["outcome"], run["exit_status"]) == ("failed", 126)


def test_a_lock_that_is_held_skips_when_told_not_to_wait(host: Host) -> None:
    """-n is flock's; a skip is no failure unless -E says so."""
    holder = host.start("lock", "--task", "t", "--", "sh", "-c", "echo held; read _", stdin=-1)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    skipped = host.once("lock", "--task", "t", "-n", "-E", "1", "--", "touch", "ran")
    holder.communicate(b"\n")

    assert (skipped.status, holder.returncode) == (1, 0)
    assert not (host.root / "ran").exists()


def test_a_lock_that_is_held_is_waited_for(host: Host) -> None:
    """The second command begins when the first has ended, and not before."""
    holder = host.start("lock", "--task", "t", "--", "sh", "-c", "echo held; read _; echo first >> order", stdin=-1)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    waiter = host.start("lock", "--task", "t", "-v", "--", "sh", "-c", "echo second >> order")
    assert waiter.stderr and b"waiting for run 1" in waiter.stderr.readline()
    holder.communicate(b"\n")
    until(lambda: waiter.poll() is not None)

    assert (holder.returncode, waiter.returncode) == (0, 0)
    assert (host.root / "order").read_text() == "first\nsecond\n"


def test_a_lock_gives_up_after_its_wait(host: Host) -> None:
    """-w bounds it; the command is not run."""
    holder = host.start("lock", "--task", "t", "--", "sh", "-c", "echo held; read _", stdin=-1)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    waiter = host.once("lock", "--task", "t", "-w", "1s", "-E", "7", "--", "touch", "ran")
    holder.communicate(b"\n")

    assert waiter.status == 7
    assert waiter.err.startswith("once lock: t: the command was skipped: another run is alive, run 1 running on ")
    assert waiter.err.endswith(", after a wait of 1s\n")
    assert not (host.root / "ran").exists()


def test_a_wait_in_vain_is_not_told_where_quiet_was_asked_for(lone_host: Host) -> None:
    """-q; and -n waits for nothing, so there is no news either."""
    holder = lone_host.start("lock", "--task", "t", "--", "sh", "-c", "echo held; read _", stdin=-1)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    quiet = lone_host.once("lock", "--task", "t", "-q", "-w", "300ms", "--", "touch", "ran")
    not_at_all = lone_host.once("lock", "--task", "t", "-n", "--", "touch", "ran")
    holder.communicate(b"\n")

    assert (quiet, not_at_all) == (Ran(0, b"", ""), Ran(0, b"", ""))
