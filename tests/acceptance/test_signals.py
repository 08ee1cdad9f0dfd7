"""Signals to `once` at every point of a run: the group is told each time, the record says what happened."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.acceptance.conftest import PATIENCE, Host, MinuteSlot, alive, ended, until
from tests.acceptance.test_one_slot import run_line

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
SLEEPS = "echo $$; sleep 600 & echo $!; wait"


def pids(process: subprocess.Popen[bytes], number: int) -> list[int]:
    """The numbers that the command has printed, once it runs."""
    assert process.stdout
    return [int(process.stdout.readline()) for _ in range(number)]


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_during_the_run_reaches_the_whole_group(
    lone_host: Host, this_minute: MinuteSlot, signum: signal.Signals
) -> None:
    """A shell ends by it, its background child at the latest by the KILL that follows; the row says by what."""
    process = lone_host.start(*run_line(this_minute, "-k", "300ms"), "--", "sh", "-c", SLEEPS)
    group = pids(process, 2)
    process.send_signal(signum)
    ran = ended(process)
    run = lone_host.run("report")

    assert ran.status == 128 + signum
    assert not any(alive(pid) for pid in group)
    assert (run["outcome"], run["signal"], run["reason"]) == ("stopped", signum, f"once got {signum.name}")


COUNTS = """
import os, signal, sys
def got(signum, frame):
    os.write(1, signal.Signals(signum).name.encode() + b"\\n")
for signum in (signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
    signal.signal(signum, got)
os.write(1, b"ready\\n")
sys.stdin.readline()
"""


def test_every_further_signal_is_forwarded_too(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The second TERM as well as the first; a command that answers by ending well has succeeded."""
    line = [*run_line(this_minute, "-k", "1h"), "--", sys.executable, "-c", COUNTS]
    process = lone_host.start(*line, stdin=subprocess.PIPE)
    assert process.stdout
    seen = [process.stdout.readline()]
    for signum in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
        process.send_signal(signum)
        seen.append(process.stdout.readline())
    process.communicate(b"\n")

    assert seen == [b"ready\n", b"SIGUSR1\n", b"SIGTERM\n", b"SIGHUP\n", b"SIGTERM\n"]
    assert lone_host.run("report")["outcome"] == "succeeded"


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_while_connecting_claims_nothing(
    lone_host: Host, this_minute: MinuteSlot, signum: signal.Signals
) -> None:
    """The server has accepted and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://ops@127.0.0.1:{silent.getsockname()[1]}/ops"
        process = lone_host.start(*run_line(this_minute, "--db", address), "--", "touch", "ran")
        connection, _ = silent.accept()
        process.send_signal(signum)
        ran = ended(process)
        connection.close()

    assert ran.status == 128 + signum
    assert not (lone_host.root / "ran").exists()


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_before_the_claim_claims_nothing(host: Host, signum: signal.Signals) -> None:
    """While it waits for another run."""
    holder = host.start("lock", "--task", "t", "--", "sh", "-c", "echo held; read _", stdin=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    waiter = host.start("lock", "--task", "t", "-v", "--", "touch", "ran")
    assert waiter.stderr and b"waiting" in waiter.stderr.readline()
    waiter.send_signal(signum)
    ran = ended(waiter)
    holder.communicate(b"\n")

    assert ran.status == 128 + signum
    assert len(host.runs("t")) == 1


def test_kill_9_of_once_ends_the_command_and_leaves_the_row(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The kernel tells the command; the row is stuck after its lease, and the next slot runs."""
    process = lone_host.start(*run_line(this_minute, "--lease", "5s"), "--", "sh", "-c", "echo $$; exec sleep 600")
    (pid,) = pids(process, 1)
    process.kill()
    process.wait()
    until(lambda: not alive(pid))
    until(lambda: lone_host.run("report")["stuck"])
    status = lone_host.once("status")
    lone_host.once("lock", "--task", "report", "--", "true")
    runs = lone_host.runs("report")

    assert b"stuck" in status.out
    assert [run["outcome"] for run in runs] == ["lost", "succeeded"]


def test_nohup_is_respected(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A hang-up that was ignored before `once` stays ignored, by `once` and by the command."""
    line = ["nohup", "once", *run_line(this_minute), "--", "sh", "-c", "echo $$; read _; echo through"]
    process = subprocess.Popen(
        line, env=lone_host.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    lone_host.processes.append(process)
    (pid,) = pids(process, 1)
    process.send_signal(signal.SIGHUP)
    os.kill(pid, signal.SIGHUP)
    out, _ = process.communicate(b"\n")

    assert (process.returncode, out) == (0, b"through\n")


def test_an_ignored_sigchld_does_not_turn_failure_into_success(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Bash hands an ignored SIGCHLD on through exec."""
    line = ["once", *run_line(this_minute), "--", "sh", "-c", "exit 7"]
    process = subprocess.run(
        ["bash", "-c", "trap '' CHLD; exec \"$@\"", "bash", *line], env=lone_host.environ, check=False
    )

    assert process.returncode == 7
    assert lone_host.run("report")["outcome"] == "failed"


def test_a_well_behaved_command_ends_the_grace_at_once(lone_host: Host, this_minute: MinuteSlot) -> None:
    """No fixed wait after the command has gone: a grace of an hour is not served."""
    process = lone_host.start(*run_line(this_minute, "-k", "1h"), "--", "sh", "-c", "echo $$; exec sleep 600")
    pids(process, 1)
    process.terminate()

    assert ended(process).status == 143


def test_a_command_that_ignores_term_is_killed_after_the_grace(lone_host: Host, this_minute: MinuteSlot) -> None:
    """137, and the row says that it needed KILL."""
    line = run_line(this_minute, "-k", "300ms")
    process = lone_host.start(*line, "--", "sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done")
    pids(process, 1)
    process.terminate()
    ran = ended(process)
    run = lone_host.run("report")

    assert ran.status == 137
    assert (run["outcome"], run["reason"]) == ("stopped", "once got SIGTERM, needed KILL")


def test_what_has_made_a_group_of_its_own_is_ended_too(lone_host: Host, this_minute: MinuteSlot) -> None:
    """As timeout(1) in a script does: its job would live on outside any lock."""
    script = "timeout 300 sh -c 'echo $$; exec sleep 300'; echo never"
    process = lone_host.start(*run_line(this_minute, "-k", "300ms"), "--", "sh", "-c", script)
    assert process.stdout
    job = int(process.stdout.readline())
    process.terminate()
    ran = ended(process)

    assert (ran.status, ran.out) == (143, b"")
    assert until(lambda: not alive(job))


def test_what_is_left_of_a_stopped_group_is_ended_too(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A shell that ends on TERM may leave a child that does not."""
    script = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & echo $$; wait"
    process = lone_host.start(*run_line(this_minute, "-k", "300ms"), "--", "bash", "-c", script)
    group = pids(process, 2)
    process.terminate()
    ended(process)

    assert not any(alive(pid) for pid in group)


AT_AN_IMPORT = """
import os, runpy, signal, sys

where, how, *arguments = sys.argv[1:]

class Callback:
    "Runs where an exception is printed and swallowed, as the import system's own callbacks do."
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            os.write(1, b"interrupted\\n")
            Callback() if how == "callback" else os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["once", *arguments]
runpy.run_module("once", run_name="__main__")
"""


@pytest.mark.parametrize("how", ["statement", "callback"])
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("once.cli", ["status"]),
        ("click", ["--help"]),
        ("once.commands.status", ["status"]),
        ("sqlite3", ["status"]),
        ("once.render", ["runs", "t"]),
        ("once.commands.run", ["run"]),
        ("once.runner", ["lock", "--task", "t", "--", "true"]),
        ("once.store.sqlite", ["lock", "--task", "t", "--", "true"]),
    ],
)
def test_ctrl_c_while_once_starts_ends_it_without_a_word(
    lone_host: Host, module: str, arguments: list[str], how: str
) -> None:
    """Wherever it arrives: a callback of the interpreter would have printed a traceback, and lost the signal."""
    lone_host.once("lock", "--task", "t", "--", "true")
    line = [sys.executable, "-c", AT_AN_IMPORT, module, how, *arguments]
    done = subprocess.run(line, env=lone_host.environ, capture_output=True, timeout=PATIENCE, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, b"interrupted\n", b"")
