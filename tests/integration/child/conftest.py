"""The stand-in for `once`, run as a process of its own: without a terminal, in its own session."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

STAND_IN = Path(__file__).with_name("supervised.py")
PATIENCE = 30.0


def stat_of(pid: int) -> list[str]:
    """State, parent, group and session of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
    except OSError:
        return []


def members(session: int) -> list[int]:
    """The living processes of a session."""
    stats = {int(path.name): stat_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    return [pid for pid, stat in stats.items() if stat and stat[3] == str(session) and stat[0] not in "ZX"]


def until(rule: Callable[[], Any]) -> Any:
    """Look again and again until the rule holds; its value."""
    deadline = time.monotonic() + PATIENCE
    while not (value := rule()):
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.005)
    return value


class Lines:
    """What a descriptor says, line by line, with an end to patience."""

    def __init__(self, fd: int) -> None:
        self.fd, self._rest = fd, b""

    def next(self) -> str:
        """The next line."""
        while b"\n" not in self._rest:
            assert select.select([self.fd], [], [], PATIENCE)[0], f"no line came, only {self._rest!r}"
            read = os.read(self.fd, 65536)
            assert read, f"no line will come, only {self._rest!r}"
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def until(self, wanted: str) -> str:
        """The first line that begins so; those before it are passed over."""
        while not (line := self.next()).startswith(wanted):
            pass
        return line


class Wrapped:
    """One command under one stand-in."""

    def __init__(
        self,
        command: Sequence[str | bytes],
        directory: Path,
        *,
        options: Sequence[str] = (),
        before: Sequence[str] = (),
        **popen: Any,
    ) -> None:
        self._report = directory / f"report-{os.urandom(4).hex()}.json"
        answer, self._answer = os.pipe()
        self._control, control = os.pipe()
        self.answers, self._orders = Lines(answer), control
        wiring = ["--report", str(self._report), "--control", str(self._control), "--answer", str(self._answer)]
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | popen
        self.process = subprocess.Popen(
            [*before, sys.executable, str(STAND_IN), *wiring, *options, *command],
            start_new_session=True,
            pass_fds=(self._control, self._answer, *popen.pop("pass_fds", ())),
            **popen,
        )
        os.close(self._control)
        os.close(self._answer)

    def started(self) -> int:
        """Wait until the command is executed; its process number."""
        return int(self.answers.until("started").split()[1])

    def order(self, order: str, answer: str | None = None) -> str:
        """Have something done to the command, and wait until it is done."""
        os.write(self._orders, f"{order}\n".encode())
        return self.answers.until(answer or order)

    def line(self) -> str:
        """The next line of the command's output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self) -> dict[str, Any]:
        """Wait for the end; what the stand-in saw, with its own status and what came out of it."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self._report.exists(), err
        return json.loads(self._report.read_text()) | {"exit": self.process.returncode, "out": out, "err": err}

    def clear_away(self) -> None:
        """Leave nothing of it behind."""
        for pid in members(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        os.close(self.answers.fd)
        os.close(self._orders)


Supervise = Callable[..., Wrapped]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    """Start a command under the stand-in: `supervise("sh", "-c", "exit 7", options=["--tail", "0"])`."""
    started: list[Wrapped] = []

    def start(*command: str | bytes, **settings: Any) -> Wrapped:
        started.append(Wrapped(command, tmp_path, **settings))
        return started[-1]

    yield start
    for wrapped in started:
        wrapped.clear_away()
