"""What the command is handed: its environment, its input, its descriptors, as the caller made them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.child.conftest import Supervise


def test_the_environment_is_handed_over(supervise: Supervise) -> None:
    """Cron's bare one too, and values that are no UTF-8."""
    given = {b"PATH": b"/usr/bin:/bin", b"ODD": b"caf\xe9=\n", b"EMPTY": b""}
    seen = supervise("env", "-0", env=given).end()
    found = dict(line.split(b"=", 1) for line in seen["out"].split(b"\0") if line)

    assert {name: value for name, value in found.items() if name != b"LC_CTYPE"} == given


def test_input_reaches_the_command_unread(supervise: Supervise) -> None:
    """What cron feeds after a percent sign is not ours."""
    reading, writing = os.pipe()
    os.write(writing, b"two\nthree")
    os.close(writing)
    seen = supervise("cat", stdin=reading).end()
    os.close(reading)

    assert seen["out"] == b"two\nthree"


def test_descriptors_that_were_passed_on_are_passed_on(supervise: Supervise) -> None:
    """A lock, a socket, a job server: what the caller left open above 2."""
    reading, writing = os.pipe()
    supervise("bash", "-c", f"echo passed >&{writing}", pass_fds=(writing,)).end()
    os.close(writing)
    passed = os.read(reading, 100)
    os.close(reading)

    assert passed == b"passed\n"


def test_nothing_of_ours_is_left_open_in_the_command(supervise: Supervise) -> None:
    """It finds what it would find if run alone."""
    command = ["sh", "-c", "ls /proc/self/fd | wc -l"]
    alone = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    wrapped = supervise(*command)
    passed_by_the_test = 2

    assert int(wrapped.end()["out"]) == int(alone.stdout) + passed_by_the_test


@pytest.mark.parametrize("closed", [[0], [1], [2], [1, 2], [0, 1, 2]], ids=str)
def test_what_was_closed_is_closed_for_the_command(supervise: Supervise, closed: list[int]) -> None:
    """And no file that we open takes its place: neither the command's output nor ours goes astray."""
    redirections = " ".join(f"{fd}>&-" for fd in closed)
    before = ["sh", "-c", f'exec "$@" {redirections}', "sh"]
    open_ones = "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && found=$found$fd; done; exit 1$found"
    seen = supervise("sh", "-c", open_ones, before=before).end()
    expected = int("1" + "".join(str(fd) for fd in range(3) if fd not in closed))

    assert seen["exit"] == expected % 256
    assert (seen["out"], seen["err"]) == (b"", b"")


@pytest.mark.parametrize("closed", [[0], [1], [0, 1, 2]], ids=str)
def test_stand_ins_take_the_place_of_closed_descriptors(tmp_path: Path, closed: list[int]) -> None:
    """Else the next file, a database perhaps, would become the standard output. They are not inherited."""
    script = (
        "import os, pathlib, sys; from once.stdio import plug; plug(); later = os.open('/', os.O_RDONLY); "
        "pathlib.Path(sys.argv[1]).write_text(repr((later, [fd for fd in range(3) if not os.get_inheritable(fd)])))"
    )
    redirections = " ".join(f"{fd}>&-" for fd in closed)
    command = [sys.executable, "-c", script, str(tmp_path / "seen")]
    subprocess.run(["sh", "-c", f'exec "$@" {redirections}', "sh", *command], check=True)

    assert (tmp_path / "seen").read_text() == repr((3, closed))


def test_the_other_stream_is_copied_when_one_is_closed(supervise: Supervise) -> None:
    """Each is judged by itself."""
    seen = supervise("sh", "-c", "echo err >&2", before=["sh", "-c", 'exec "$@" >&-', "sh"]).end()

    assert (seen["err"], seen["tail"]) == (b"err\n", "err\n")
