"""The installed `once` as real processes, on hosts of their own as far as their files go."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.own_server import OwnServer

ONCE = Path(sys.executable).with_name("once")
PATIENCE = 60.0
"""Seconds after which an event that does not come is a failure. Nothing is asserted about how soon it comes."""

OUTLASTS_A_START = "12s"
"""A lease or a pause whose end is waited for, after starts that must come before it, on a loaded machine too."""


@dataclass
class Ran:
    """A process that has ended."""

    status: int
    out: bytes
    err: str


@dataclass
class Host:
    """A host's files and environment: what cron would give a job, and where the record is."""

    root: Path
    address: str | None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        environ = {
            "PATH": f"{ONCE.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.root),
            "SHELL": "/bin/sh",
            "TZ": "UTC",
            "ONCE_STATE_DIR": str(self.root / "state"),
        }
        return environ | ({"ONCE_DB": self.address} if self.address else {})

    @property
    def journal(self) -> Path:
        return self.root / "state/journal"

    def start(self, *args: str | bytes, environ: dict[str, str] | None = None, **how: Any) -> subprocess.Popen[bytes]:
        """Start `once` with these arguments; pipes for both outputs, unless `how` says otherwise."""
        how = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "start_new_session": True,
        } | how
        process = subprocess.Popen([ONCE, *args], env=self.environ | (environ or {}), cwd=self.root, **how)
        self.processes.append(process)
        return process

    def once(self, *args: str | bytes, environ: dict[str, str] | None = None, **how: Any) -> Ran:
        """Run `once` to its end."""
        return ended(self.start(*args, environ=environ, **how))

    def start_shell(self, line: str) -> Ran:
        """Run a line of shell on this host to its end."""
        done = subprocess.run(
            ["bash", "-c", line], env=self.environ, cwd=self.root, capture_output=True, timeout=PATIENCE, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def json(self, *args: str) -> list[dict[str, Any]]:
        """The items that a verb tells."""
        ran = self.once(*args, "--json")
        assert ran.err == ""
        items: list[dict[str, Any]] = json.loads(ran.out)["items"]
        return items

    def runs(self, task: str) -> list[dict[str, Any]]:
        """The task's runs, oldest first; none when there is no such task."""
        ran = self.once("runs", task, "--json")
        return list(reversed(json.loads(ran.out)["items"])) if ran.status == 0 else []

    def run(self, task: str) -> dict[str, Any]:
        """The task's only run."""
        (run,) = self.runs(task)
        return run


def ended(process: subprocess.Popen[bytes]) -> Ran:
    """Wait for a process's end and what it wrote."""
    out, err = process.communicate(timeout=PATIENCE)
    return Ran(process.returncode, out or b"", (err or b"").decode())


def until(event: Callable[[], Any], *, every: float = 0.02) -> Any:
    """Wait for an event that can only be looked for; what it returned."""
    deadline = time.monotonic() + PATIENCE
    while not (found := event()):
        if time.monotonic() > deadline:
            pytest.fail(f"{getattr(event, '__name__', event)} did not come about")
        time.sleep(every)
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@dataclass(frozen=True)
class MinuteSlot:
    """A daily schedule whose slot is a minute that was chosen, and the instant of it."""

    expression: str
    at: datetime

    @classmethod
    def of(cls, at: datetime) -> MinuteSlot:
        at = at.replace(second=0, microsecond=0)
        return cls(f"{at.minute} {at.hour} * * *", at)


@pytest.fixture
def this_minute() -> MinuteSlot:
    """The slot that has just been: a start now is on time for it."""
    return MinuteSlot.of(datetime.now(UTC))


@pytest.fixture
def host(tmp_path: Path, address: str) -> Iterator[Host]:
    """One host whose record is in the store under test."""
    yield from _host(tmp_path / "host", address)


@pytest.fixture
def lone_host(tmp_path: Path) -> Iterator[Host]:
    """One host whose record is an SQLite file of its own."""
    yield from _host(tmp_path / "host", f"sqlite:{tmp_path}/lone.db")


@pytest.fixture
def fleet(tmp_path: Path, address: str) -> Iterator[Callable[[int], list[Host]]]:
    """Several hosts with one record."""
    hosts: list[Host] = []

    def build(number: int) -> list[Host]:
        for index in range(number):
            root = tmp_path / f"host{index}"
            root.mkdir()
            hosts.append(Host(root, address))
        return hosts

    yield build
    for one in hosts:
        put_down(one)


@pytest.fixture
def own_server() -> Iterator[OwnServer]:
    """A PostgreSQL server of the test's own, to be stopped or cut off."""
    own = OwnServer()
    yield own
    own.thaw()
    own.stop()


@pytest.fixture
def own_host(tmp_path: Path, own_server: OwnServer) -> Iterator[Host]:
    """A host whose record is there, and whose state directory is said to last."""
    yield from _host(tmp_path / "host", own_server.address())


def _host(root: Path, address: str) -> Iterator[Host]:
    root.mkdir()
    one = Host(root, address)
    yield one
    put_down(one)


def put_down(host: Host) -> None:
    """End what a host still runs, and close what it was listened to by."""
    for process in host.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def shifted(by: timedelta) -> dict[str, str]:
    """The environment in which a process's wall clock is off by so much; its other clocks are not."""
    libraries = list(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not libraries:
        pytest.skip("libfaketime is not installed")
    seconds = by.total_seconds()
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME": f"{seconds:+.6f}",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def needs(tool: str) -> str:
    """The path of a program that a test cannot do without; skips by name where it is missing."""
    found = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found
