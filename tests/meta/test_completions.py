"""The completions: as the command tree has it, and working in the shells themselves."""

from __future__ import annotations

import os
import pty
import re
import runpy
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.store.connect import open_store
from tests.meta.tree import ROOT, commands, options_of, verbs

DIRECTORY = ROOT / "completions"
FILES = {"bash": DIRECTORY / "once.bash", "zsh": DIRECTORY / "_once", "fish": DIRECTORY / "once.fish"}

DONE = "listed-42"
LONGEST_LISTING = 30.0


def by_bash(line: str) -> str:
    """What bash offers at the end of a line."""
    script = f"""
        source {FILES["bash"]}
        COMP_WORDS=({line}{"''" if line.endswith(" ") else ""})
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        COMP_LINE='{line}' COMP_POINT={len(line)}
        $(complete -p once | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True).stdout


def by_fish(line: str) -> str:
    """What fish offers at the end of a line."""
    script = f"source {FILES['fish']}; complete -C '{line}'"
    return subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True).stdout


def by_zsh(line: str) -> str:
    """What zsh lists at the end of a line, typed at a terminal: its completion works nowhere else."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb", "PS1": "> "})
    try:
        # Only the prompt says that the line editor has taken the terminal over, and that ^D and ^U are its keys.
        setup = f"fpath=({DIRECTORY} $fpath); autoload -U compinit; compinit -u -D; LISTMAX=9999; PS1='rea''dy> '\n"
        os.write(terminal, setup.encode())
        read_until("ready> ", terminal)
        os.write(terminal, line.encode() + b"\x04\x15print listed-$((6 * 7))\n")
        return read_until(DONE, terminal)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


def read_until(mark: str, terminal: int) -> str:
    """The terminal's output up to a mark that the shell computes, so that its echo is not taken for it."""
    seen = ""
    deadline = time.monotonic() + LONGEST_LISTING
    while mark not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"the shell never came to {mark}: {seen!r}"
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


SHELLS = [
    pytest.param(offer, id=shell, marks=pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed"))
    for shell, offer in (("bash", by_bash), ("zsh", by_zsh), ("fish", by_fish))
]


def words_of(listing: str) -> set[str]:
    """The words of a listing, descriptions and all."""
    return set(re.findall(r"[\w./:-]+", listing))


@pytest.mark.parametrize("name", ["once.bash", "_once", "once.fish"])
def test_the_files_are_what_the_tree_says(name: str) -> None:
    """An option that came or went is in the completions after `make completions`."""
    written = runpy.run_path(str(DIRECTORY / "generate.py"))["written"]()

    assert (DIRECTORY / name).read_text() == written[name]


@pytest.mark.parametrize("shell", FILES)
def test_every_verb_and_option_stands_in_the_file(shell: str) -> None:
    """Read without the generator, so that what it forgets is noticed."""
    text = FILES[shell].read_text()
    spellings = {option for command in commands().values() for option in options_of(command)}
    if shell == "fish":
        spellings = {f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in spellings}
    missing = [word for word in {*verbs(), *spellings} if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]

    assert missing == []


@pytest.mark.parametrize("offer", SHELLS)
def test_the_beginning_of_a_verb_is_completed(offer: Callable[[str], str]) -> None:
    """`once ru<TAB>` offers run and runs, and no other verb."""
    offered = words_of(offer("once ru"))

    assert offered & set(verbs()) == {"run", "runs"}


@pytest.mark.parametrize("offer", SHELLS)
def test_the_beginning_of_an_option_is_completed_by_its_verb(offer: Callable[[str], str]) -> None:
    """`once lock --ov<TAB>` and the like: the verb's own options, not another verb's."""
    options = words_of(offer("once lock --"))

    assert {"--task", "--overlap", "--wait"} <= options
    assert "--schedule" not in options


@pytest.mark.parametrize("offer", SHELLS)
def test_the_words_of_an_option_are_offered(offer: Callable[[str], str]) -> None:
    """Where only some words are allowed, they are listed."""
    assert {"freeze", "continue"} <= words_of(offer("once run --past-lease "))


@pytest.mark.parametrize("offer", SHELLS)
def test_what_follows_two_dashes_is_completed_as_a_command(offer: Callable[[str], str]) -> None:
    """`once run … -- read<TAB>` looks in the PATH, not among the verbs."""
    offered = words_of(offer("once run --task t -- unsh"))

    assert "unshare" in offered


NAMES = ["weekly report", "eu/sync", "$(exit 3)", "nightly"]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A record with tasks of these names, which the settings name, and `once` in the PATH."""
    path = tmp_path / "once.db"
    with closing(open_store(f"sqlite:{path}", clock=SystemClock(), state_dir=tmp_path)) as store:
        store.now()  # whoever asks first makes the file
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO task (name, folded) VALUES (?, ?)", [(name, name) for name in NAMES])
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ONCE_DB", f"sqlite:{path}")
    monkeypatch.setenv("ONCE_STATE_DIR", str(tmp_path))
    return path


@pytest.mark.parametrize("offer", SHELLS)
@pytest.mark.parametrize("line", ["once status nig", "once gaps --each nig", "once run --task nig"])
@pytest.mark.usefixtures("record")
def test_the_names_of_tasks_are_completed_from_the_record(line: str, offer: Callable[[str], str]) -> None:
    """As an argument of the verbs that look, and as an option of those that start."""
    assert "nightly" in words_of(offer(line))


@pytest.mark.parametrize(
    ("offer", "quoted"),
    [pytest.param(*shell.values, name, id=shell.id, marks=shell.marks)
     for shell, name in zip(SHELLS, [r"weekly\ report", r"weekly\ report", "weekly report"], strict=True)],
)  # fmt: skip
@pytest.mark.usefixtures("record")
def test_a_name_is_offered_as_one_word_and_never_run(offer: Callable[[str], str], quoted: str) -> None:
    """What a colleague called a task is data, also to a shell that takes words for commands."""
    offered = offer("once show ")

    assert quoted in offered
    assert re.search(r"\$\\?\(exit", offered)


def test_bash_takes_what_stands_before_a_colon_for_a_word_of_its_own(record: Path) -> None:
    """So only the rest is offered, or the beginning would stand there twice."""
    with closing(sqlite3.connect(record)) as connection, connection:
        connection.execute("INSERT INTO task (name, folded) VALUES ('db:vacuum', 'db:vacuum')")
    script = f"""
        source {FILES["bash"]}
        COMP_WORDS=(once status db : va) COMP_CWORD=4 COMP_LINE='once status db:va' COMP_POINT=17
        _once
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "vacuum\n"


def complete_tasks(**environ: str) -> tuple[int, str, str]:
    """What a shell gets."""
    call = [sys.executable, "-m", "once", "complete-tasks"]
    done = subprocess.run(
        call, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=LONGEST_LISTING
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("record")
def test_names_are_told_as_they_are_typed() -> None:
    """Without the scope, which is put before them again; those of other scopes cannot be typed."""
    assert complete_tasks() == (0, "$(exit 3)\neu/sync\nnightly\nweekly report\n", "")
    assert complete_tasks(ONCE_SCOPE="eu") == (0, "sync\n", "")


@pytest.mark.parametrize("address", ["sqlite:/nowhere/once.db", "postgresql://127.0.0.1:1/none", "nonsense://"])
@pytest.mark.usefixtures("record")
def test_without_a_record_there_is_nothing(address: str) -> None:
    """Nor a word about it, into the line that is being typed."""
    _status, out, err = complete_tasks(ONCE_DB=address)

    assert (out, err) == ("", "")


@pytest.mark.usefixtures("record")
def test_a_database_that_does_not_answer_is_given_up() -> None:
    """Whatever time the address allows it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        _, out, err = complete_tasks(ONCE_DB=f"postgresql://127.0.0.1:{port}/x?connect_timeout=3600")

    assert (out, err) == ("", "")
