"""As the first process of a container: TERM works, orphans are buried, the command's own status is right."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.conftest import ONCE, Host, MinuteSlot, ended, needs, until
from tests.acceptance.test_one_slot import run_line

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a PID namespace needs root")


def start(host: Host, slot: MinuteSlot, script: str) -> subprocess.Popen[bytes]:
    """`once run` as PID 1 of a namespace of its own, with its own /proc."""
    line = [needs("unshare"), "--pid", "--fork", "--mount-proc", "--kill-child", str(ONCE), *run_line(slot)]
    process = subprocess.Popen(
        [*line, "--", "sh", "-c", script],
        env=host.environ,
        cwd=host.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    host.processes.append(process)
    return process


def first_child_of(pid: int) -> int:
    """What `unshare --fork` has started: PID 1 in there, under its number out here."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(until(lambda: children.read_text().split())[0])


def test_term_stops_the_command_and_is_recorded(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Docker stop: the default action of TERM does not apply to PID 1."""
    process = start(lone_host, this_minute, "echo $PPID; exec sleep 600")
    assert process.stdout and process.stdout.readline() == b"1\n"
    os.kill(first_child_of(process.pid), signal.SIGTERM)
    ran = ended(process)

    assert ran.status == 143
    assert lone_host.run("report")["outcome"] == "stopped"


def test_a_signal_in_the_first_moments_is_not_lost(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Whatever it hits: before the handlers it is lost to the kernel's rule, so it is repeated until it is heard."""
    process = start(lone_host, this_minute, "exec sleep 600")
    first = first_child_of(process.pid)

    def heard() -> bool:
        with suppress(ProcessLookupError):  # it has ended, and unshare is about to
            os.kill(first, signal.SIGTERM)
        return process.poll() is not None

    until(heard)
    ran = ended(process)

    assert (ran.status, ran.err) == (143, "")
    assert all(run["outcome"] == "stopped" for run in lone_host.runs("report"))


def test_a_thousand_orphans_leave_no_zombie_and_do_not_take_the_status(
    lone_host: Host, this_minute: MinuteSlot
) -> None:
    """Each falls to PID 1; the command's own status is its own."""
    orphans = "n=0; while [ $n -lt 1000 ]; do (sh -c ':' &) ; n=$((n+1)); done"
    buried = "while grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null; do sleep 0.05; done"
    process = start(lone_host, this_minute, f"{orphans}; {buried}; echo buried; exit 7")
    ran = ended(process)

    assert (ran.status, ran.out) == (7, b"buried\n")
    assert lone_host.run("report")["exit_status"] == 7


def test_under_tini_it_is_the_same(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Some images have an init of their own."""
    line = [needs("tini"), "--", str(ONCE), *run_line(this_minute), "--", "sh", "-c", "echo up; exec sleep 600"]
    process = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *line],
        env=lone_host.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    lone_host.processes.append(process)
    assert process.stdout and process.stdout.readline() == b"up\n"
    os.kill(first_child_of(process.pid), signal.SIGTERM)
    ran = ended(process)

    assert ran.status == 143
    assert lone_host.run("report")["outcome"] == "stopped"
