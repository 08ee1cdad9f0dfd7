"""Signals reach the command and all it started, and it finds its own as if nobody stood between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from once.signals import FORWARDED
from tests.integration.child.conftest import Supervise, members, stat_of, until

SIGNALS_AS_FOUND = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]

INHERITED = {
    "nothing": ["env"],
    "nohup": ["nohup"],
    "ignored": ["bash", "-c", "trap '' INT HUP USR1; exec \"$@\"", "bash"],
    "blocked": ["env", "--block-signal=USR2", "--block-signal=TERM", "--block-signal=CHLD"],
}


@pytest.mark.parametrize("signum", [*FORWARDED], ids=lambda signum: signum.name)
def test_each_signal_goes_to_the_whole_group(supervise: Supervise, signum: signal.Signals) -> None:
    """A shell that waits for its child would die alone and leave the child behind. (dash: bash itself ignores QUIT.)

    What dash has forked loses an INT that comes before it is executed.
    """
    wrapped = supervise("dash", "-c", "sleep 300; echo never")
    session = wrapped.process.pid
    until(lambda: "sleep\n" in [Path(f"/proc/{pid}/comm").read_text() for pid in members(session)])
    os.kill(session, signum)
    seen = wrapped.end()

    assert (seen["exit"], seen["signals"], seen["out"]) == (128 + signum, [signum], b"")
    assert until(lambda: not members(session))


COUNTS = """
import os, signal, time
for signum in (signal.SIGHUP, signal.SIGUSR1):
    signal.signal(signum, lambda signum, _frame: os.write(1, signal.Signals(signum).name[3:].lower().encode() + b"\\n"))
os.write(1, b"ready\\n")
while True:
    time.sleep(0.05)
"""
"""No shell: one that waits for a child may sleep on over a signal that came a moment before."""


def test_a_signal_is_forwarded_every_time(supervise: Supervise) -> None:
    """Not only the first one: the command may count."""
    wrapped = supervise(sys.executable, "-c", COUNTS)
    assert wrapped.line() == "ready"
    heard = []
    for signum in (signal.SIGHUP, signal.SIGUSR1, signal.SIGHUP):
        os.kill(wrapped.process.pid, signum)
        heard.append(wrapped.line())
    os.kill(wrapped.process.pid, signal.SIGTERM)
    seen = wrapped.end()

    assert heard == ["hup", "usr1", "hup"]
    assert seen["signals"] == [signal.SIGHUP, signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM]


@pytest.mark.parametrize("before", INHERITED.values(), ids=INHERITED.keys())
def test_the_command_finds_signals_as_if_run_alone(supervise: Supervise, before: list[str]) -> None:
    """Ignored stays ignored, blocked stays blocked; nothing of the interpreter's own is inherited."""
    alone = subprocess.run([*before, *SIGNALS_AS_FOUND], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    seen = supervise(*SIGNALS_AS_FOUND, before=before).end()

    assert seen["out"] == alone.stdout


def test_a_stopped_command_sees_the_request_to_end(supervise: Supervise) -> None:
    """A stopped process does not see TERM until it is continued."""
    wrapped = supervise("sleep", "300")
    command = wrapped.started()
    os.kill(command, signal.SIGSTOP)
    until(lambda: stat_of(command)[0] == "T")
    os.kill(wrapped.process.pid, signal.SIGTERM)

    assert wrapped.end()["exit"] == 143


def test_a_request_to_end_does_not_thaw_what_was_frozen(supervise: Supervise) -> None:
    """Past its lease a command does no work, not even its own cleaning up."""
    wrapped = supervise("sleep", "300")
    command = wrapped.started()
    wrapped.order("freeze")
    until(lambda: stat_of(command)[0] == "T")
    wrapped.order("15", "sent")
    pending = Path(f"/proc/{command}/status").read_text().partition("ShdPnd:")[2].split()[0]
    state = stat_of(command)[0]
    wrapped.order("kill")

    assert (state, int(pending, 16)) == ("T", 1 << (signal.SIGTERM - 1))
    assert wrapped.end()["exit"] == 137


def test_the_command_gets_term_when_its_supervisor_is_killed(supervise: Supervise, tmp_path: Path) -> None:
    """Nobody can forward SIGKILL; the kernel tells the command."""
    told = tmp_path / "told"
    wrapped = supervise("bash", "-c", f"trap 'echo term > {told}; exit' TERM; echo ready; while :; do sleep 0.01; done")
    assert wrapped.line() == "ready"
    os.kill(wrapped.process.pid, signal.SIGKILL)

    assert until(lambda: told.exists() and told.read_text()) == "term\n"


def test_a_signal_is_answered_in_a_flood_of_output(supervise: Supervise) -> None:
    """Output is passed on in turns; between them signals and other threads are heard."""
    with open(os.devnull, "wb") as nowhere:
        wrapped = supervise("yes", stdout=nowhere)
        wrapped.order("gone")
        os.kill(wrapped.process.pid, signal.SIGTERM)

        assert wrapped.end()["exit"] == 143


def test_no_signal_is_lost_between_fork_and_exec(supervise: Supervise) -> None:
    """The child is still a copy of us while it looks through the PATH, but a TERM to it is the command's already."""
    environment = {**os.environ, "PATH": "/nowhere:" * 10_000 + os.environ["PATH"]}
    wrapped = supervise("sleep", "300", env=environment)
    (child,) = until(lambda: [pid for pid in members(wrapped.process.pid) if pid != wrapped.process.pid])
    os.kill(child, signal.SIGTERM)

    assert wrapped.end()["exit"] == 143


def test_a_command_is_not_started_by_a_dead_parent(supervise: Supervise) -> None:
    """The stand-in's own process number is the command's parent: there is no process between."""
    wrapped = supervise(sys.executable, "-c", "import os; print(os.getppid())")

    assert int(wrapped.end()["out"]) == wrapped.process.pid
