"""Cut off from the database: within the lease nothing happens, past it the command does no work, and two never do.

A witness writes down the time every 50 ms, from the command and from a process that the command has started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.acceptance.conftest import ONCE, Host, alive, ended, needs, until
from tests.acceptance.own_server import OwnServer

LEASE = 5.0
"""Seconds: the shortest that is taken."""

WITNESS = """
import os, sys, time
if os.fork() == 0:
    name = "child"
else:
    name = "leader"
out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while not os.path.exists("end"):
    os.write(out, b"%.3f\\n" % time.time())
    time.sleep(0.05)
"""


def witness(host: Host, *before: str, address: str | None = None) -> subprocess.Popen[bytes]:
    """`once lock` with the witness as its command, working."""
    line = [str(ONCE), "lock", "--task", "t", "--lease", "5s", "--", sys.executable, "-c", WITNESS]
    environ = host.environ | ({"ONCE_DB": address} if address else {})
    process = subprocess.Popen([*before, *line], env=environ, cwd=host.root, stderr=subprocess.PIPE)
    host.processes.append(process)
    until(lambda: len(stamps(host)) > 4)
    return process


def stamps(host: Host) -> list[float]:
    """When the witnesses have worked, by the clock that the database has too; an unfinished line is left out."""
    found = []
    for name in ("leader", "child"):
        path = host.root / name
        found += [float(line) for line in path.read_text().split()[:-1]] if path.exists() else []
    return sorted(found)


def said(process: subprocess.Popen[bytes]) -> str:
    """The next line on stderr, when it comes."""
    assert process.stderr
    return process.stderr.readline().decode()


def let_end(host: Host, process: subprocess.Popen[bytes]) -> int:
    """The command may end by itself now; the status."""
    (host.root / "end").touch()
    return ended(process).status


def test_cut_off_for_less_than_the_lease_it_never_notices(own_host: Host, own_server: OwnServer) -> None:
    """One beat has no answer, the next has."""
    process = witness(own_host)
    own_server.freeze()
    time.sleep(LEASE / 2)
    own_server.thaw()
    back = time.time()
    until(lambda: own_server.ask("select beat_at > to_timestamp(%f) from once.run" % (back + 2)) == [(True,)])

    assert let_end(own_host, process) == 0
    assert own_host.run("t")["outcome"] == "succeeded"
    worked = stamps(own_host)
    assert max(later - sooner for sooner, later in pairwise(worked)) < LEASE / 2


def sit_out(host: Host, process: subprocess.Popen[bytes], cut: Callable[[], None], mend: Callable[[], None]) -> None:
    """Cut the host off for longer than the lease, and see that nobody works until it has been mended."""
    cut()
    cut_at = time.time()
    frozen = said(process)
    time.sleep(max(0.0, cut_at + LEASE + 2 - time.time()))
    back = time.time()
    mend()
    thawed = said(process)
    until(lambda: stamps(host)[-1] > back)
    status = let_end(host, process)

    assert "the command is frozen" in frozen
    assert "the command goes on" in thawed
    assert [stamp for stamp in stamps(host) if cut_at + LEASE < stamp < back] == []
    assert status == 0
    assert host.run("t")["outcome"] == "succeeded"


def test_past_the_lease_a_stopped_server_freezes_the_group(own_host: Host, own_server: OwnServer) -> None:
    """Back, and nobody came: it goes on and succeeds."""
    sit_out(own_host, witness(own_host), own_server.freeze, own_server.thaw)


def test_what_a_command_leaves_behind_that_is_killed_while_frozen_works_no_more(
    own_host: Host, own_server: OwnServer
) -> None:
    """The kernel would let it go when `once` has ended, and what ignores HUP would work on, past the lease."""
    process = witness(own_host, "nohup")
    own_server.freeze()
    line = said(process)
    (leader,) = children(process.pid)
    (left,) = children(leader)
    os.kill(leader, signal.SIGKILL)
    status = ended(process).status

    assert "the command is frozen" in line
    assert status == 128 + signal.SIGKILL
    assert not alive(left)


def children(pid: int) -> list[int]:
    """The processes that a process has begun."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Lan:
    """A host of its own in a network namespace, between which and this one packets can be dropped."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.us = name, f"10.77.{number}.1"
        them = f"10.77.{number}.2"
        _ip("netns", "add", name)
        _ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        _ip("addr", "add", f"{self.us}/24", "dev", f"{name}a")
        _ip("link", "set", f"{name}a", "up")
        _ip("-n", name, "addr", "add", f"{them}/24", "dev", f"{name}b")
        _ip("-n", name, "link", "set", f"{name}b", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        self.inside = (needs("ip"), "netns", "exec", name)

    def drop(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._iptables("-A")

    def carry(self) -> None:
        self._iptables("-D")

    def remove(self) -> None:
        _ip("netns", "del", self.name)

    def _iptables(self, what: str) -> None:
        for chain in ("INPUT", "OUTPUT"):
            subprocess.run([*self.inside, needs("iptables"), what, chain, "-j", "DROP"], check=True)


def _ip(*args: str) -> None:
    subprocess.run([needs("ip"), *args], check=True, capture_output=True)


@pytest.fixture
def lan() -> Iterator[Lan]:
    if os.geteuid() != 0:
        pytest.skip("a network namespace needs root")
    needs("iptables")
    one = Lan(f"once{os.getpid() % 10000}", os.getpid() % 250)
    yield one
    one.remove()


def test_dropped_packets_freeze_the_group_and_it_goes_on_when_they_pass_again(
    own_host: Host, own_server: OwnServer, lan: Lan
) -> None:
    """No error ever comes: packets just vanish."""
    process = witness(own_host, *lan.inside, address=own_server.address(lan.us))
    sit_out(own_host, process, lan.drop, lan.carry)


def test_a_command_whose_lease_another_took_is_killed_before_it_works_on(
    own_host: Host, own_server: OwnServer, lan: Lan
) -> None:
    """123; the row of the run stays lost and gets its late end, and the other's row is untouched."""
    process = witness(own_host, *lan.inside, address=own_server.address(lan.us))
    lan.drop()
    cut = time.time()
    other = own_host.start("lock", "--task", "t", "--", "sh", "-c", "date +%s.%N; read _", stdin=subprocess.PIPE)
    assert other.stdout
    taken = float(other.stdout.readline())
    lan.carry()
    until(lambda: process.poll() is not None)
    err = process.stderr.read().decode() if process.stderr else ""
    other.communicate(b"\n")
    first, second = own_host.runs("t")

    assert process.returncode == 123
    assert "the command is frozen" in err
    assert "The lease of t run 1 was lost" in err
    assert [stamp for stamp in stamps(own_host) if stamp > min(taken, cut + LEASE)] == []
    assert (first["outcome"], first["exit_status"]) == ("lost", 137)
    assert (second["outcome"], second["exit_status"], other.returncode) == ("succeeded", 0, 0)
