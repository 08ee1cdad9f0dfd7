"""Three hosts stand by for one slot, and the one that holds it is lost: killed, or frozen past its lease and woken."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Host, MinuteSlot, Ran, alive, ended, until
from tests.acceptance.other_hosts import OtherHost, named
from tests.acceptance.test_one_slot import run_line

NAMES = ("db1", "db2", "db3")

WORKS = """
echo $$
steps=0
while [ $steps -lt 200 ]; do
    echo "$ONCE_RUN" >> "$WORK"
    steps=$((steps + 1))
    sleep 0.05
done
touch "$WORK.finished"
"""
"""The holder's command. It would be at work for at least ten seconds, if it were left alone."""


@dataclass
class Scene:
    """Three hosts of one slot; the file of what was worked, by which run; and the slot's line."""

    hosts: list[OtherHost]
    work: Path
    line: list[str]

    def start(self, host: int, script: str, **how: Any) -> subprocess.Popen[bytes]:
        """A start on one of them, with this script as its command."""
        environ = {"WORK": str(self.work)}
        return self.hosts[host].start(*self.line, "--", "sh", "-c", script, environ=environ, **how)

    def standby(self, host: int, script: str) -> subprocess.Popen[bytes]:
        """A start that finds the slot held, and waits."""
        process = self.start(host, script)
        assert process.stderr
        until(lambda: b"waiting for run 1 on db1" in process.stderr.readline())
        return process

    def runs(self) -> list[dict[str, Any]]:
        return self.hosts[0].host.runs("report")

    def worked(self) -> list[str]:
        """Which run did each step."""
        return self.work.read_text().split()


@pytest.fixture
def scene(fleet: Callable[[int], list[Host]], this_minute: MinuteSlot, tmp_path: Path) -> Scene:
    """They have one record, and each its name."""
    hosts = [named(name, host) for name, host in zip(NAMES, fleet(3), strict=True)]
    line = run_line(this_minute, "--standby", "--attempts", "3", "--retry-delay", "100ms", "--lease", "5s", "-v")
    return Scene(hosts, tmp_path / "work", line)


only_postgres = pytest.mark.parametrize("store_kind", ["postgres"], indirect=True)


def pid_of(process: subprocess.Popen[bytes]) -> int:
    """Of the holder's command, which says it first."""
    assert process.stdout
    return int(process.stdout.readline())


@only_postgres
@pytest.mark.parametrize(("fails", "status"), [("", 0), ("exit $((10 + ONCE_ATTEMPT))", 13)])
def test_the_holder_is_killed(scene: Scene, fails: str, status: int) -> None:
    """One other takes over when the lease has ended, and has the attempts that are left; the third mirrors its end."""
    holder = scene.start(0, WORKS)
    command = pid_of(holder)
    standbys = [scene.standby(host, f"echo attempt $ONCE_ATTEMPT; {fails}") for host in (1, 2)]
    holder.kill()
    until(lambda: not alive(command))
    ran = [ended(process) for process in standbys]
    first, *others = scene.runs()
    overlaps = scene.hosts[2].once("overlaps")

    assert [one.status for one in ran] == [status, status]
    assert sorted(one.out for one in ran) == [b"", b"attempt 2\nattempt 3\n" if status else b"attempt 2\n"]
    assert (first["host"], first["outcome"]) == ("db1", "lost")
    assert len({run["host"] for run in others} - {"db1"}) == 1
    assert [run["exit_status"] for run in others] == ([12, 13] if status else [0])
    assert others[0]["claimed_at"] >= first["lease_until"]
    assert not scene.work.with_name("work.finished").exists()
    assert overlaps.status == 0


def woken(holder: subprocess.Popen[bytes], command: int, *, all_at_once: bool) -> Ran:
    """The holder goes on: `once` alone, or all of its host as a machine does that was suspended."""
    if all_at_once:
        os.killpg(command, signal.SIGCONT)
    holder.send_signal(signal.SIGCONT)
    return ended(holder)


@only_postgres
@pytest.mark.parametrize("all_at_once", [False, True])
def test_the_holder_is_frozen_past_its_lease_and_wakes(scene: Scene, all_at_once: bool) -> None:
    """It kills its command, and what it writes is evidence beside the run that took over.

    A command that is woken by `once` does nothing more. One that others wake at the same instant as `once` may be at
    work for as long as `once` takes to wake: nothing on that host could keep it from that, which is what the fence is
    for. Here it does not come to its end, and the record shows the overlap.
    """
    holder = scene.start(0, WORKS)
    command = pid_of(holder)
    standbys = [scene.standby(host, "echo took over; until [ -e $WORK.woken ]; do sleep 0.05; done") for host in (1, 2)]
    os.kill(holder.pid, signal.SIGSTOP)
    os.killpg(command, signal.SIGSTOP)
    first, second = until(lambda: len(runs := scene.runs()) > 1 and runs)
    before = scene.worked()
    ran = woken(holder, command, all_at_once=all_at_once)
    after, taken_over = scene.runs()
    found = scene.hosts[2].host.json("overlaps")
    scene.work.with_name("work.woken").touch()
    others = [ended(process) for process in standbys]

    assert ran.status == 123
    assert "The lease of report run 1 was lost" in ran.err
    assert not scene.work.with_name("work.finished").exists()
    assert all_at_once or scene.worked() == before
    assert (first["outcome"], second["outcome"]) == ("lost", "running")
    assert {**after, **LATE_NOT_YET} == first
    assert (after["late_outcome"], after["late_status"]) == ("lost", 137)
    assert {**taken_over, **BEATEN} == {**second, **BEATEN}
    assert [[side["number"] for side in pair["runs"]] for pair in found] == [[1, 2]]
    assert sorted((one.status, one.out) for one in others) == [(0, b""), (0, b"took over\n")]
    assert [run["outcome"] for run in scene.runs()] == ["lost", "succeeded"]


LATE_NOT_YET = {"late_outcome": None, "late_status": None, "late_at": None}
BEATEN = {"beat_at": None, "lease_until": None, "started_at": None}
"""What beats write."""
