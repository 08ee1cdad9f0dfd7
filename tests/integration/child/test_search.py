"""A name becomes a program as in a shell, and what cannot be run is said to be missing or not executable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.child.conftest import Supervise


def make(path: Path, content: bytes, mode: int = 0o755) -> Path:
    """A file, its directories with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def path_of(*directories: Path) -> dict[str, str]:
    """An environment that looks there first."""
    return {**os.environ, "PATH": ":".join([*map(str, directories), os.environ["PATH"]])}


@pytest.mark.parametrize("name", ["no-such-command", "/no/such/command", "/etc/passwd/x", ""])
def test_what_does_not_exist_is_127(supervise: Supervise, name: str) -> None:
    """By name or by path."""
    seen = supervise(name).end()

    assert (seen["exit"], seen["error"]) == (127, "CommandNotFound")


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"#!/bin/sh\n", 0o644, "Permission denied"),
        (b"#!/no/such/interpreter\n", 0o755, "its interpreter does not exist"),
        (b"\x7fELF\x02\x01\x01\0broken", 0o755, "Exec format error"),
    ],
    ids=["mode", "interpreter", "broken binary"],
)
def test_what_cannot_be_executed_is_126(
    supervise: Supervise, tmp_path: Path, content: bytes, mode: int, why: str
) -> None:
    """And the message says why, by path as well as by name."""
    program = make(tmp_path / "bin" / "program", content, mode)
    by_path = supervise(str(program)).end()
    by_name = supervise("program", env=path_of(tmp_path / "bin")).end()

    assert (by_path["exit"], by_path["message"]) == (
        126,
        f"{program} cannot be executed: {why}; recorded as a failed run",
    )
    assert (by_name["exit"], by_name["message"]) == (
        126,
        f"program cannot be executed: {why}; recorded as a failed run",
    )


def test_a_directory_is_126(supervise: Supervise, tmp_path: Path) -> None:
    """Which EACCES does not say."""
    seen = supervise(str(tmp_path)).end()

    assert (seen["exit"], seen["message"].count("it is a directory")) == (126, 1)


def test_any_other_refusal_is_126_and_named(supervise: Supervise, tmp_path: Path) -> None:
    """A program that is just being written, for one."""
    program = make(tmp_path / "program", Path("/bin/true").read_bytes())
    with program.open("ab"):
        seen = supervise(str(program)).end()

    assert (seen["exit"], seen["message"].count("Text file busy")) == (126, 1)


def test_without_a_first_line_the_shell_takes_it(supervise: Supervise, tmp_path: Path) -> None:
    """A script without `#!`, with its arguments; bytes after its first lines do not matter."""
    make(tmp_path / "bin" / "script", b'echo "$0" "$@"; exit 5\n\0\0binary payload')
    seen = supervise("script", "a b", "c", env=path_of(tmp_path / "bin")).end()

    assert (seen["exit"], seen["out"].decode()) == (5, f"{tmp_path}/bin/script a b c\n")


def test_the_first_file_of_the_name_is_taken_even_without_a_first_line(supervise: Supervise, tmp_path: Path) -> None:
    """Not a later one which has it."""
    make(tmp_path / "first" / "script", b"echo first\n")
    make(tmp_path / "second" / "script", b"#!/bin/sh\necho second\n")

    assert supervise("script", env=path_of(tmp_path / "first", tmp_path / "second")).end()["out"] == b"first\n"


def test_a_file_that_may_not_be_executed_is_passed_over(supervise: Supervise, tmp_path: Path) -> None:
    """So is a directory of that name; a later file is taken."""
    make(tmp_path / "first" / "script", b"#!/bin/sh\necho first\n", 0o644)
    (tmp_path / "second" / "script").mkdir(parents=True)
    make(tmp_path / "third" / "script", b"#!/bin/sh\necho third\n")
    places = (tmp_path / "first", tmp_path / "second", tmp_path / "third")

    assert supervise("script", env=path_of(*places)).end()["out"] == b"third\n"


def test_a_directory_of_that_name_is_no_command(supervise: Supervise, tmp_path: Path) -> None:
    """Passed over in the PATH, it is not found, rather than not executable."""
    (tmp_path / "name").mkdir()

    assert supervise("name", env=path_of(tmp_path)).end()["exit"] == 127


def test_an_empty_entry_is_the_working_directory(supervise: Supervise, tmp_path: Path) -> None:
    """As POSIX has it."""
    make(tmp_path / "here", b"#!/bin/sh\necho here\n")
    environment = {**os.environ, "PATH": f":{os.environ['PATH']}"}

    assert supervise("here", env=environment, cwd=tmp_path).end()["out"] == b"here\n"


def test_arguments_that_are_no_utf_8_arrive_as_they_are(supervise: Supervise) -> None:
    """An argument is bytes."""
    seen = supervise("printf", "%s|", b"caf\xe9", b"\xff\xfe", "", "ä").end()

    assert seen["out"] == b"caf\xe9|\xff\xfe||\xc3\xa4|"
