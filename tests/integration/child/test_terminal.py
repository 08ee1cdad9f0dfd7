"""At a terminal, under a shell with job control: one job, one Ctrl-C, Ctrl-Z for both, and the command can read."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.child.conftest import STAND_IN, Lines, members, stat_of, until

pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("setsid") is None, reason="job control needs bash and setsid(1)"
)

COUNTER = """
import signal, sys
counted = []
signal.signal(signal.SIGINT, lambda *_: counted.append("int"))
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(len(counted)))
print("ready", flush=True)
while True:
    signal.pause()
"""


class Terminal:
    """A terminal with a shell, and the ear of the stand-in that is started in it."""

    def __init__(self, directory: Path) -> None:
        self.screen, inside = pty.openpty()
        self.lines = Lines(self.screen)
        heard, self._answer = os.pipe()
        self.answers = Lines(heard)
        self.report = directory / "report.json"
        self.shell = subprocess.Popen(
            ["setsid", "--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            pass_fds=(self._answer,),
            env={**os.environ, "PS1": "what next?\\n"},
        )
        os.close(inside)
        os.close(self._answer)
        self.see("what next?")
        self.type("stty -echo; echo silent\n")
        while self.see("silent") != "silent":
            pass

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.screen, text.encode())

    def start(self, command: str, *, after: str = "") -> int:
        """Type a line that runs the command under the stand-in; the command's process number."""
        stand_in = f"{sys.executable} {STAND_IN} --report {self.report} --answer {self._answer}"
        self.type(f"{stand_in} {command} {after}\n")
        return int(self.answers.until("started").split()[1])

    def see(self, text: str) -> str:
        """Wait for a line that has this in it."""
        while text not in (line := self.lines.next().rstrip("\r")):
            pass
        return line

    def close(self) -> None:
        """Leave nothing of it behind."""
        for pid in members(self.shell.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.shell.wait()
        os.close(self.screen)
        os.close(self.answers.fd)


def job_of(terminal: Terminal) -> list[int]:
    """What runs in the terminal beside the shell."""
    return [pid for pid in members(terminal.shell.pid) if pid != terminal.shell.pid]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of its own for each test."""
    made = Terminal(tmp_path)
    yield made
    made.close()


@pytest.fixture
def counter(tmp_path: Path) -> str:
    """A command that counts SIGINT, and on SIGUSR1 exits with how many there were."""
    (tmp_path / "counter.py").write_text(COUNTER)
    return f"{sys.executable} {tmp_path / 'counter.py'}"


def test_ctrl_c_reaches_the_command_once(terminal: Terminal, counter: str) -> None:
    """The terminal has told it; a second one from us would be taken for impatience."""
    command = terminal.start(counter, after='; echo "status $?"')
    terminal.see("ready")
    terminal.type("\x03")
    terminal.answers.until("signal 2")
    os.kill(command, signal.SIGUSR1)

    assert terminal.see("status") == "status 1"


def test_ctrl_c_just_before_the_command_is_there_is_forwarded(terminal: Terminal) -> None:
    """The terminal has told us alone."""
    terminal.start("--early 2 sleep 300", after='; echo "status $?"')

    assert terminal.see("status") == "status 130"


def test_an_interrupt_that_the_terminal_did_not_send_is_forwarded(terminal: Terminal, counter: str) -> None:
    """In the background the keys do not reach the job, but kill(1) does."""
    command = terminal.start(counter, after="&")
    terminal.see("ready")
    os.kill(int(stat_of(command)[1]), signal.SIGINT)
    terminal.answers.until("signal 2")
    os.kill(command, signal.SIGUSR1)
    terminal.answers.until("exited")
    terminal.type('wait %1; echo "status $?"\n')

    assert terminal.see("status 1") == "status 1"


def test_ctrl_z_stops_both_and_fg_continues_both(terminal: Terminal) -> None:
    """One job for the shell; afterwards the command reads from the terminal, as before."""
    command = terminal.start(
        "bash -c 'echo ready; read -r word; echo \"the word is $word\"'", after='; echo "status $?"'
    )
    wrapper = int(stat_of(command)[1])
    terminal.see("ready")
    terminal.type("\x1a")
    stopped = until(lambda: (stat_of(command)[0], stat_of(wrapper)[0]) == ("T", "T"))
    terminal.see("Stopped")
    terminal.type("fg\n")
    until(lambda: stat_of(command)[0] != "T")
    terminal.type("sesame\n")

    assert stopped
    assert terminal.see("sesame") == "the word is sesame"


def test_a_job_brought_to_the_foreground_can_read(terminal: Terminal, tmp_path: Path) -> None:
    """Started with `&`, stopped for wanting to read, and brought back: the shell must know the command as its job."""
    waiting = f"until [ -e {tmp_path / 'go'} ]; do sleep 0.01; done"
    command = terminal.start(f"bash -c '{waiting}; read -r word; echo \"the word is $word\"'", after="&")
    wrapper = int(stat_of(command)[1])
    (tmp_path / "go").touch()
    until(lambda: (stat_of(command)[0], stat_of(wrapper)[0]) == ("T", "T"))
    terminal.type("fg\n")
    until(lambda: stat_of(command)[0] != "T")
    terminal.type("sesame\n")

    assert terminal.see("sesame") == "the word is sesame"


def test_a_stream_that_is_a_terminal_is_handed_down(terminal: Terminal, tmp_path: Path) -> None:
    """The command sees its terminal; the other stream is copied all the same."""
    errors = tmp_path / "errors"
    terminal.start("sh -c 'test -t 1 && ! test -t 2 && echo seen >&2'", after=f'2>{errors}; echo "status $?"')

    assert terminal.see("status") == "status 0"
    assert errors.read_text() == "seen\n"
    assert '"tail": "seen\\n"' in terminal.report.read_text()


def names_of(group: Iterable[int]) -> dict[int, str]:
    """What the processes execute by now: a fork has its parent's name at first."""
    return {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in group}


def test_in_a_shared_group_all_of_the_command_is_stopped_and_nothing_else(terminal: Terminal, tmp_path: Path) -> None:
    """Told by descent: its children too; not us, nor the other end of our pipeline."""
    orders = tmp_path / "orders"
    os.mkfifo(orders)
    terminal.start("--control 8 bash -c 'sleep 300 & sleep 300; echo'", after=f"8<>{orders} | cat")
    ready = Counter(["bash", "cat", "sleep", "sleep"])
    names = until(lambda: Counter((job := names_of(job_of(terminal))).values()) >= ready and len(job) == 5 and job)
    group = list(names)
    orders.write_text("freeze\n")
    terminal.answers.until("freeze")
    until(lambda: sum(stat_of(pid)[0] == "T" for pid in group) == 3)
    states = sorted((name, stat_of(pid)[0] == "T") for pid, name in names.items())

    assert [state for state in states if not state[0].startswith("python")] == [
        ("bash", True),
        ("cat", False),
        ("sleep", True),
        ("sleep", True),
    ]
