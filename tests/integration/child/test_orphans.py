"""What the command leaves behind falls to us, is buried, and never takes the place of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.child.conftest import Supervise, members, stat_of, until

THOUSAND_ORPHANS = """
import os, sys
reading, writing = os.pipe()
for _ in range(1000):
    if (child := os.fork()) == 0:
        if os.fork() > 0:
            os._exit(1)
        while os.getppid() == child:
            pass
        os._exit(3)
    os.waitpid(child, 0)
os.close(writing)
os.read(reading, 1)  # its end comes when the last orphan has died
sys.exit(7)
"""

AS_PID_1 = ["unshare", "--pid", "--fork", "--mount-proc"]


@pytest.mark.parametrize("before", [[], AS_PID_1], ids=["as a subreaper", "as PID 1"])
def test_a_thousand_orphans_leave_no_zombie_and_no_wrong_status(supervise: Supervise, before: list[str]) -> None:
    """Orphans that die while the command dies are reaped, and the status is still the command's own."""
    if before and (os.geteuid() != 0 or shutil.which("unshare") is None):
        pytest.skip("a PID namespace needs root and unshare(1)")
    seen = supervise(sys.executable, "-c", THOUSAND_ORPHANS, before=before).end()

    assert (seen["exit"], seen["zombies"]) == (7, 0)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="a PID namespace needs root, unshare")
def test_as_pid_1_a_signal_reaches_the_command(supervise: Supervise) -> None:
    """The kernel drops what PID 1 does not catch."""
    wrapped = supervise("sh", "-c", "echo ready; exec sleep 300", before=AS_PID_1)
    assert wrapped.line() == "ready"
    (pid_1,) = [
        pid
        for pid in members(wrapped.process.pid)
        if Path(f"/proc/{pid}/exe").readlink() == Path(sys.executable).resolve()
    ]
    os.kill(pid_1, 15)
    seen = wrapped.end()

    assert (seen["exit"], seen["signals"]) == (143, [15])


def test_a_background_process_does_not_hold_up_the_end(supervise: Supervise) -> None:
    """It keeps the pipe open for five minutes; its output so far is there all the same, and it lives on."""
    wrapped = supervise("sh", "-c", "sleep 300 & echo hi")
    seen = wrapped.end()

    assert (seen["exit"], seen["tail"], seen["out"]) == (0, "hi\n", b"hi\n")
    assert len(members(wrapped.process.pid)) == 1


def test_a_background_process_that_floods_does_not_hold_up_the_end(supervise: Supervise) -> None:
    """What is in the pipe when the command ends is taken, and no more; then the flood meets a closed pipe."""
    wrapped = supervise("sh", "-c", "yes & exit 3", stdout=subprocess.DEVNULL)
    seen = wrapped.end()

    assert seen["exit"] == 3
    assert until(lambda: not members(wrapped.process.pid))


def test_an_orphan_becomes_ours(supervise: Supervise) -> None:
    """As a subreaper we stay the ancestor of all that the command has started, and can bury it."""
    wrapped = supervise("sh", "-c", "sleep 300 & echo $!", options=["--linger"])
    orphan = int(wrapped.line())
    wrapped.answers.until("exited")
    parent = until(lambda: stat_of(orphan))[1]
    os.kill(orphan, 9)

    assert int(parent) == wrapped.process.pid
    assert until(lambda: not stat_of(orphan)) is True
