"""Bytes unchanged, memory flat, the end of it in the row; and nobody waits for a pipe that a grandchild keeps."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import ONCE, PATIENCE, Host, MinuteSlot, ended, until
from tests.acceptance.test_one_slot import run_line

PIECE = 1 << 16


def digest_of(pipe: object) -> tuple[str, int]:
    """What came out of a pipe, without keeping it."""
    digest, length = hashlib.blake2b(), 0
    while piece := os.read(pipe.fileno(), PIECE):  # type: ignore[attr-defined]
        digest.update(piece)
        length += len(piece)
    return digest.hexdigest(), length


def peak_memory(pid: int) -> int:
    """Kibibytes resident at most so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def pump(host: Host, slot: MinuteSlot, megabytes: int) -> tuple[tuple[str, int], int]:
    """Pass so much through `once`; what came out, and the peak of its memory when the command had ended."""
    script = f"head -c {megabytes}M /dev/zero | tr '\\0' 'x'; echo done >&2; read _"
    process = host.start(*run_line(slot, task=f"t{megabytes}"), "--", "sh", "-c", script, stdin=subprocess.PIPE)
    assert process.stdin
    got, length = hashlib.blake2b(), 0
    while length < megabytes << 20:
        piece = os.read(process.stdout.fileno(), PIECE)  # type: ignore[union-attr]
        got.update(piece)
        length += len(piece)
    memory = peak_memory(process.pid)
    process.stdin.write(b"\n")
    ended(process)
    return (got.hexdigest(), length), memory


def test_memory_does_not_grow_with_output(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A quarter of a gigabyte costs what a megabyte costs."""
    _, small = pump(lone_host, this_minute, 1)
    (got, length), large = pump(lone_host, this_minute, 256)
    want = hashlib.blake2b()
    for _ in range(256):
        want.update(b"x" * (1 << 20))

    assert (got, length) == (want.hexdigest(), 256 << 20)
    assert large < small + 4096


@pytest.mark.slow
def test_two_gigabytes_pass_unchanged(lone_host: Host, this_minute: MinuteSlot) -> None:
    """And the memory is that of a megabyte."""
    _, small = pump(lone_host, this_minute, 1)
    (_, length), large = pump(lone_host, this_minute, 2048)

    assert length == 2048 << 20
    assert large < small + 4096


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("a line of a megabyte", "head -c 1M /dev/zero | tr '\\0' 'y'"),
        ("NUL", "head -c 100000 /dev/zero"),
        ("invalid UTF-8", "printf 'caf\\351 \\377\\376'"),
        ("random bytes", "head -c 3M /dev/urandom | tee copy"),
        ("no newline at the end", "printf 'a\\nb'"),
    ],
)
def test_any_bytes_pass_unchanged_and_are_recorded(host: Host, this_minute: MinuteSlot, name: str, script: str) -> None:
    """What goes in comes out; the row has the end of it as bytes."""
    direct = subprocess.run(["sh", "-c", script], cwd=host.root, capture_output=True, check=True).stdout
    ran = host.once(*run_line(this_minute), "--", "sh", "-c", f"{script}; exit 3")
    want = (host.root / "copy").read_bytes() if "copy" in script else direct
    kept = host.once("show", "report", "--output").out

    assert (ran.status, ran.out, ran.err) == (3, want, ""), name
    assert kept == want[-16384:], name


def test_of_a_success_a_kibibyte_is_kept(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A table of successes stays small; how much went before is told."""
    lone_host.once(*run_line(this_minute), "--", "head", "-c", "5000", "/dev/zero")
    (run,) = lone_host.json("show", "report")

    assert (len(run["tail"]), run["tail_dropped"]) == (1024, 5000 - 1024)


def test_tail_0_keeps_nothing_and_hands_the_descriptors_down(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Nothing is copied: the command writes to our own stdout."""
    script = "readlink /proc/self/fd/1"
    process = lone_host.start(*run_line(this_minute, "--tail", "0"), "--", "sh", "-c", script)
    ours = os.readlink(f"/proc/{os.getpid()}/fd/{process.stdout.fileno()}")  # type: ignore[union-attr]
    ran = ended(process)

    assert ran.out.decode().strip() == ours
    assert lone_host.once("show", "report", "--output").out == b""


def test_a_background_grandchild_does_not_hold_up_the_end(lone_host: Host, this_minute: MinuteSlot) -> None:
    """It keeps the pipe open for as long as it lives; the run is over, and recorded, and it lives on."""
    process = lone_host.start(*run_line(this_minute), "--", "sh", "-c", "sleep 300 & echo $!; echo hi")
    assert process.stdout
    pid = int(process.stdout.readline())
    until(lambda: process.poll() is not None)
    run = lone_host.run("report")
    os.kill(pid, 9)

    assert process.returncode == 0
    assert run["outcome"] == "succeeded"
    assert lone_host.once("show", "report", "--output").out.endswith(b"hi\n")


def test_a_reader_that_goes_away_ends_the_command_as_without_once(lone_host: Host, this_minute: MinuteSlot) -> None:
    """`once … | head -1`: the command gets SIGPIPE."""
    process = lone_host.start(*run_line(this_minute), "--", "yes")
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    ended(process)

    assert process.returncode == 141


def test_stdin_is_the_commands(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Cron feeds what stands behind a % to it."""
    process = lone_host.start(*run_line(this_minute), "--", "cat", stdin=subprocess.PIPE)
    out, _ = process.communicate(b"line two\nline three")

    assert out == b"line two\nline three"


def test_arguments_that_are_not_utf_8_reach_the_command_and_the_row(host: Host, this_minute: MinuteSlot) -> None:
    """The record must not be lost for a file name from another age."""
    ran = host.once(*run_line(this_minute), "--", "printf", b"caf\351")

    assert (ran.status, ran.out) == (0, b"caf\351")
    assert host.run("report")["outcome"] == "succeeded"


@pytest.mark.parametrize("size", [60_000, (1 << 20) + 1000])
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_command_hears_itself_of_a_full_disk(
    lone_host: Host, this_minute: MinuteSlot, tmp_path: Path, size: int
) -> None:
    """As without `once`: a backup that does not fit is a failure, in its status and in the record."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = 'mount -t tmpfs -o size=32k none "$0" && cd "$0" && exec "$@" > backup'
    if size > 1 << 20:
        mount = mount.replace("32k", "1m")
    command = ["sh", "-c", f"head -c {size} /dev/zero"]
    ran = [
        subprocess.run(
            ["unshare", "--mount", "sh", "-c", mount, str(disk), *before, *command],
            env=lone_host.environ,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        for before in ([], [str(ONCE), *run_line(this_minute), "--"])
    ]
    run = lone_host.run("report")

    assert [one.returncode for one in ran] == [1, 1]
    assert ran[0].stderr == ran[1].stderr
    assert b"No space left on device" in ran[1].stderr
    assert (run["outcome"], run["exit_status"]) == ("failed", 1)


def test_a_device_that_is_full_is_the_commands_own_failure(lone_host: Host, this_minute: MinuteSlot) -> None:
    """/dev/full answers as a full disk does, for a few bytes as for many."""
    with open("/dev/full", "wb") as full:
        ran = ended(lone_host.start(*run_line(this_minute), "--", "echo", "hi", stdout=full))

    assert ran.status == 1
    assert lone_host.run("report")["outcome"] == "failed"


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_what_went_to_a_file_is_kept_too(lone_host: Host, this_minute: MinuteSlot, tmp_path: Path, mode: str) -> None:
    """What the command added, and not what stood there before; the standard error that came by a pipe is after it."""
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with open(log, mode) as file:
        line = run_line(this_minute, "--tail", "40")
        ended(lone_host.start(*line, "--", "sh", "-c", "seq 1000; echo why >&2; exit 1", stdout=file))
    written = b"".join(b"%d\n" % number for number in range(1, 1001))
    (run,) = lone_host.json("show", "report")

    assert log.read_bytes() == (b"before\n" if mode == "ab" else b"") + written
    assert lone_host.once("show", "report", "--output").out == (written + b"why\n")[-40:]
    assert run["tail_dropped"] == len(written) + 4 - 40


def test_a_file_that_was_opened_twice_is_kept_too(lone_host: Host, this_minute: MinuteSlot, tmp_path: Path) -> None:
    """`>> log 2>> log`: the end of it may have come through either."""
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with open(log, "ab") as out, open(log, "ab") as err:
        line = [*run_line(this_minute), "--", "sh", "-c", "echo why >&2; exit 1"]
        ended(lone_host.start(*line, stdout=out, stderr=err))

    assert lone_host.once("show", "report", "--output").out == b"why\n"


def test_a_file_that_cannot_be_read_back_does_not_cost_the_record(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A file of the kernel's may refuse to be read, and so may one on a disk that has gone meanwhile."""
    command = [sys.executable, "-c", "import os; os.lseek(1, 100, os.SEEK_SET); raise SystemExit(3)"]
    with open("/proc/self/mem", "r+b", buffering=0) as unmapped:
        ran = ended(lone_host.start(*run_line(this_minute), "--", *command, stdout=unmapped))
    run = lone_host.run("report")

    assert (ran.status, ran.err) == (3, "")
    assert (run["outcome"], run["exit_status"]) == ("failed", 3)


def test_what_is_thrown_away_is_kept(lone_host: Host, this_minute: MinuteSlot) -> None:
    """`> /dev/null` is how crontab lines say that nobody reads it; the record may be all that is left."""
    ended(lone_host.start(*run_line(this_minute), "--", "echo", "kept", stdout=subprocess.DEVNULL))

    assert lone_host.once("show", "report", "--output").out == b"kept\n"


def test_what_is_left_in_the_background_may_go_on_writing_to_its_file(
    lone_host: Host, this_minute: MinuteSlot, tmp_path: Path
) -> None:
    """No pipe of ours is broken under it when `once` has gone."""
    log = tmp_path / "log"
    script = "(while [ ! -e go ]; do sleep 0.02; done; echo later) &"
    with open(log, "wb") as file:
        ended(lone_host.start(*run_line(this_minute), "--", "sh", "-c", script, stdout=file, stderr=file))
    (lone_host.root / "go").touch()

    assert until(log.read_bytes) == b"later\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--help"], 2), (["--version"], 2), (["status", "--help"], 2), (["check", "-h"], 3), (["run", "--help"], 125)],
)
def test_help_that_cannot_be_written_is_told(lone_host: Host, arguments: list[str], status: int) -> None:
    """A full disk is no error of ours."""
    with open("/dev/full", "wb") as full:
        ran = lone_host.once(*arguments, stdout=full)

    assert ran.status == status
    assert ran.err.endswith(": What was found could not be written to standard output: No space left on device\n")
    assert ran.err.count("\n") == 1
