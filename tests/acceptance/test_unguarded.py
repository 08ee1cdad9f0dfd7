"""`--db-down run`: without a database the command runs all the same, unguarded, and is told afterwards."""

from __future__ import annotations

import signal
import subprocess

from tests.acceptance.conftest import Host, MinuteSlot, Ran, ended
from tests.acceptance.own_server import OwnServer
from tests.acceptance.test_journal import waiting
from tests.acceptance.test_one_slot import run_line

ALL_THE_SAME = ("--db-down", "run", "--db-wait", "1s")


def test_it_runs_and_is_told_when_the_database_is_back(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """With no number that a fence would take; the slot is done then."""
    line = run_line(this_minute, *ALL_THE_SAME)
    own_server.stop()
    ran = own_host.once(*line, "--", "sh", "-c", "echo run $ONCE_RUN slot $ONCE_SLOT_EPOCH; exit 3")
    entries = len(waiting(own_host))
    own_server.start()
    delivered = own_host.once("flush")
    run = own_host.run("report")

    assert (ran.status, ran.out.decode()) == (3, f"run 0 slot {int(this_minute.at.timestamp())}\n")
    assert "UNGUARDED" in ran.err
    assert (entries, waiting(own_host)) == (1, [])
    assert (delivered.status, delivered.out) == (0, b"report unguarded: failed, recorded\n")
    assert (run["outcome"], run["exit_status"], run["attempt"], run["lease_until"]) == ("failed", 3, 0, None)
    assert run["reason"] == "unguarded: the database was out of reach"
    assert run["claimed_at"] == run["started_at"]


def test_without_the_option_nothing_runs(own_host: Host, own_server: OwnServer, this_minute: MinuteSlot) -> None:
    """Status 75, as ever."""
    own_server.stop()
    ran = own_host.once(*run_line(this_minute, "--db-wait", "1s"), "--", "touch", "ran")

    assert (ran.status, (own_host.root / "ran").exists()) == (75, False)


def test_if_it_doubled_the_overlap_shows(own_host: Host, own_server: OwnServer, this_minute: MinuteSlot) -> None:
    """Another host held the slot when the database went away; both runs are on record, and the slot is done."""
    script = "echo up; read _; exit 0"
    held = own_host.start(*run_line(this_minute), "--", "sh", "-c", script, stdin=subprocess.PIPE)
    assert held.stdout and held.stdout.readline() == b"up\n" and held.stdin
    own_server.stop()
    doubled = own_host.once(*run_line(this_minute, *ALL_THE_SAME), "--", "true")
    own_server.start()
    held.stdin.write(b"\n")
    held.stdin.flush()
    first = ended(held)
    own_host.once("flush")
    found = own_host.once("overlaps")

    assert (first.status, doubled.status) == (0, 0)
    assert [(run["attempt"], run["outcome"]) for run in own_host.runs("report")] == [(1, "succeeded"), (0, "succeeded")]
    assert found.status == 1
    assert own_host.once(*run_line(this_minute), "--", "touch", "ran") == Ran(0, b"", "")


def test_a_signal_stops_it_like_any_other(own_host: Host, own_server: OwnServer, this_minute: MinuteSlot) -> None:
    """And the record says so."""
    own_server.stop()
    process = own_host.start(*run_line(this_minute, *ALL_THE_SAME), "--", "sh", "-c", "echo up; exec sleep 600")
    assert process.stdout and process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    own_server.start()
    status = ended(process).status
    own_host.once("flush")
    run = own_host.run("report")

    assert (status, run["outcome"], run["signal"]) == (143, "stopped", 15)


def test_an_outcome_that_can_never_be_recorded_keeps_nothing_from_starting(
    own_host: Host, own_server: OwnServer
) -> None:
    """A name that differs from a known one in case only cannot be refused while the database is away."""
    own_host.once("lock", "--task", "report", "--", "true")
    own_server.stop()
    own_host.once("lock", "--task", "Report", *ALL_THE_SAME, "--", "true")
    own_server.start()
    other = own_host.once("lock", "--task", "other", "--", "echo", "started")

    assert (other.status, other.out) == (0, b"started\n")
    assert "does not know the run of 1 outcome that waited here" in other.err
    assert [path.suffix for path in own_host.journal.iterdir() if path.suffix != ".unguarded"] == [".unknown"]


def test_a_command_that_is_not_there_is_told_too(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """As one that was claimed would be."""
    own_server.stop()
    process = own_host.start(*run_line(this_minute, *ALL_THE_SAME), "--", "./nothing-here")
    own_server.start()
    status = ended(process).status
    own_host.once("flush")

    assert status == 127
    assert own_host.run("report")["exit_status"] == 127


def test_one_host_runs_a_slot_once_while_the_database_is_away(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """Though its cron fires often, or twice at once."""
    own_server.stop()
    line = (*run_line(this_minute, *ALL_THE_SAME), "--", "sh", "-c", "echo up; read _; exit 0")
    first = own_host.start(*line, stdin=subprocess.PIPE)
    assert first.stdout and first.stdout.readline() == b"up\n" and first.stdin
    beside = own_host.once(*line)
    first.stdin.write(b"\n")
    first.stdin.flush()
    status = ended(first).status
    after = own_host.once(*line)

    assert status == 0
    assert (beside, after) == (Ran(0, b"", ""), Ran(0, b"", ""))
    assert len(waiting(own_host)) == 1


def test_a_lock_is_held_on_its_host_while_the_database_is_away(own_host: Host, own_server: OwnServer) -> None:
    """Without a slot there is no telling that the other one does the same work: not now, 75."""
    own_server.stop()
    line = ("lock", "--task", "report", *ALL_THE_SAME)
    first = own_host.start(*line, "--", "sh", "-c", "echo up; read _; exit 0", stdin=subprocess.PIPE)
    assert first.stdout and first.stdout.readline() == b"up\n" and first.stdin
    beside = own_host.once(*line, "--", "touch", "ran")
    first.stdin.write(b"\n")
    first.stdin.flush()
    status = ended(first).status
    after = own_host.once(*line, "--", "touch", "ran-after")

    assert (status, beside.status, after.status) == (0, 75, 0)
    assert "NOT run" in beside.err
    assert [path.name for path in own_host.root.glob("ran*")] == ["ran-after"]


def test_a_held_slot_stays_held_when_an_unguarded_run_of_it_is_told(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """No attempt is left over by it, nor may another start take the slot beside the holder."""
    own_server.stop()
    own_host.once(*run_line(this_minute, *ALL_THE_SAME), "--", "false")
    own_server.start()
    entry = waiting(own_host)[0]
    entry.rename(entry.with_suffix(".later"))
    script = "echo up; read _; exit 0"
    holder = own_host.start(*run_line(this_minute), "--", "sh", "-c", script, stdin=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline() == b"up\n" and holder.stdin
    entry.with_suffix(".later").rename(entry)
    other = own_host.once(*run_line(this_minute, "--attempts", "3", "--overlap", "allow"), "--", "touch", "ran")
    holder.stdin.write(b"\n")
    holder.stdin.flush()

    assert ended(holder).status == 0
    assert (other.status, (own_host.root / "ran").exists()) == (0, False)
    assert [(run["attempt"], run["outcome"]) for run in own_host.runs("report")] == [(1, "succeeded"), (0, "failed")]
