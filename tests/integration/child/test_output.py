"""Output goes through untouched and in order, its end is kept, and no reader can hold up anything but the output."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.child.conftest import Supervise, Wrapped, stat_of, until

MEBI = 1024 * 1024


def read_all(wrapped: Wrapped) -> hashlib._Hash:
    """The digest of what comes out, read piece by piece."""
    digest = hashlib.sha256()
    assert wrapped.process.stdout is not None
    while piece := os.read(wrapped.process.stdout.fileno(), MEBI):
        digest.update(piece)
    return digest


@pytest.mark.parametrize("mebis", [128, pytest.param(2048, marks=pytest.mark.slow)])
def test_big_output_arrives_unchanged_and_costs_no_memory(supervise: Supervise, tmp_path: Path, mebis: int) -> None:
    """Random bytes, NUL and invalid UTF-8 among them: the same bytes come out, the last of them are kept."""
    piece = os.urandom(MEBI)
    digest = hashlib.sha256()
    with open(tmp_path / "big", "wb") as big:
        for _ in range(mebis):
            big.write(piece)
            digest.update(piece)
    wrapped = supervise("cat", str(tmp_path / "big"))
    arrived = read_all(wrapped)
    seen = wrapped.end()
    (tmp_path / "big").unlink()

    assert arrived.digest() == digest.digest()
    assert seen["tail"].encode("latin-1") == piece[-16384:]
    assert seen["dropped"] == mebis * MEBI - 16384
    assert seen["grown"] < 2048


@pytest.mark.parametrize(
    "output",
    [b"x" * MEBI + b"\n", b"no newline", b"a\0b\0\n", b"caf\xe9\xff\xfe", b""],
    ids=["a line of a megabyte", "no newline", "NUL", "invalid UTF-8", "nothing"],
)
def test_any_bytes_pass(supervise: Supervise, tmp_path: Path, output: bytes) -> None:
    """Nothing is taken for text, and nothing waits for a line's end."""
    (tmp_path / "output").write_bytes(output)
    seen = supervise("cat", str(tmp_path / "output")).end()

    assert (seen["out"], seen["tail"].encode("latin-1")) == (output, output[-16384:])


def test_both_streams_stay_apart_and_are_kept_together(supervise: Supervise) -> None:
    """Each goes where it went; the kept end has them in order of arrival."""
    wrapped = supervise("bash", "-c", "echo out; read -r; echo err >&2", stdin=subprocess.PIPE)
    assert wrapped.line() == "out"
    seen = wrapped.end()

    assert (seen["out"], seen["err"], seen["tail"]) == (b"", b"err\n", "out\nerr\n")


def test_one_file_for_both_streams_keeps_their_order(supervise: Supervise) -> None:
    """As under cron, which mails what both wrote: one pipe, so that no line can overtake another."""
    script = "i=0; while [ $i -lt 500 ]; do echo $i; echo $i >&2; i=$((i+1)); done"
    seen = supervise("sh", "-c", script, stderr=subprocess.STDOUT).end()

    assert seen["out"].split() == [str(i).encode() for i in range(500) for _ in "oe"]


@pytest.mark.parametrize("tail", [1, 10, 100])
def test_as_much_is_kept_as_was_asked_for(supervise: Supervise, tail: int) -> None:
    """The end, and how much came before it."""
    seen = supervise("seq", "20", options=["--tail", str(tail)]).end()
    whole = seen["out"].decode()

    assert (seen["tail"], seen["dropped"]) == (whole[-tail:], max(0, len(whole) - tail))


def test_without_a_tail_nothing_is_copied(supervise: Supervise, tmp_path: Path) -> None:
    """The command has our own descriptors."""
    with open(tmp_path / "output", "wb") as output:
        seen = supervise("readlink", "/proc/self/fd/1", options=["--tail", "0"], stdout=output).end()

    assert (tmp_path / "output").read_text() == f"{tmp_path / 'output'}\n"
    assert (seen["tail"], seen["dropped"]) == ("", 0)


def test_appending_goes_on_where_the_file_ends(supervise: Supervise, tmp_path: Path) -> None:
    """`>> log` means the same as before."""
    log = tmp_path / "log"
    log.write_text("before\n")
    with log.open("ab") as output:
        supervise("echo", "after", stdout=output).end()

    assert log.read_text() == "before\nafter\n"


def test_a_reader_that_stops_holds_up_no_signal_and_no_deadline(supervise: Supervise) -> None:
    """The command waits, we do not: time-outs are kept, orders obeyed, signals forwarded, and the end is recorded."""
    wrapped = supervise("yes", options=["--patience", "0.01", "--drain", "0"], stdin=subprocess.DEVNULL)
    command = wrapped.started()
    until(lambda: stat_of(command)[0] == "S" and Path(f"/proc/{command}/wchan").read_text() != "0")
    assert wrapped.answers.until("nothing") == "nothing"
    assert wrapped.order("gone") == "gone False"
    os.kill(wrapped.process.pid, 15)
    wrapped.answers.until("exited")
    status = wrapped.process.wait(60)
    seen = wrapped.end()

    assert (status, seen["signals"], len(seen["tail"])) == (143, [15], 16384)
    assert seen["given_up"] > 0


def test_a_slow_reader_gets_everything(supervise: Supervise) -> None:
    """What the command had written when it ended is still handed over."""
    wrapped = supervise("head", "-c", "100000", "/dev/zero")
    wrapped.answers.until("exited")
    seen = wrapped.end()

    assert (len(seen["out"]), seen["given_up"]) == (100000, 0)


def test_the_command_learns_that_its_reader_has_gone(supervise: Supervise) -> None:
    """`once run … | head -1` ends: SIGPIPE, as without us."""
    wrapped = supervise("yes")
    assert wrapped.line() == "y"
    assert wrapped.process.stdout is not None
    wrapped.process.stdout.close()
    wrapped.process.stdout = None

    assert wrapped.end()["exit"] == 141


def test_the_command_sees_its_reader_go_before_it_writes(supervise: Supervise, tmp_path: Path) -> None:
    """It may look, as a server does: poll(2) says so although nothing was written."""
    gone = tmp_path / "gone"
    script = (
        "import select, pathlib\n"
        "print('ready', flush=True)\n"
        "poll = select.poll(); poll.register(1, 0); poll.poll()\n"
        f"pathlib.Path({str(gone)!r}).touch()"
    )
    wrapped = supervise(sys.executable, "-c", script)
    assert wrapped.line() == "ready"
    assert wrapped.process.stdout is not None
    wrapped.process.stdout.close()
    wrapped.process.stdout = None
    wrapped.end()

    assert gone.exists()


def test_a_full_disk_is_the_commands_to_hear_of(supervise: Supervise) -> None:
    """It writes to the file itself: it is not ended by a signal, and ends as it would alone."""
    with open("/dev/full", "wb") as full:
        alone = subprocess.run(["yes"], stdout=full, stderr=subprocess.DEVNULL, check=False)
        seen = supervise("yes", stdout=full).end()

    assert (seen["exit"], seen["given_up"]) == (alone.returncode, 0)
    assert alone.returncode == 1


def test_a_socket_is_written_to_without_waiting(supervise: Supervise) -> None:
    """One that nobody reads, as sshd might hand down, blocks nothing; and all arrives in the end."""
    ours, theirs = socket.socketpair()
    wrapped = supervise("sh", "-c", "head -c 3000000 /dev/zero; exit 3", stdout=theirs)
    theirs.close()
    assert wrapped.order("gone") == "gone False"
    arrived = 0
    while piece := ours.recv(MEBI):
        arrived += len(piece)
    ours.close()

    assert (arrived, wrapped.end()["exit"]) == (3000000, 3)


def test_a_descriptor_that_does_not_block_is_written_to_in_full(supervise: Supervise) -> None:
    """Others may have set O_NONBLOCK on what we share: short writes and EAGAIN lose nothing."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    wrapped = supervise("head", "-c", "3000000", "/dev/zero", stdout=writing)
    os.close(writing)
    arrived = 0
    while piece := os.read(reading, MEBI):
        arrived += len(piece)
    os.close(reading)

    assert (arrived, wrapped.end()["exit"]) == (3000000, 0)
