"""What `once` says when nobody listens."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

SAYS = "from once.voice import write_line; write_line('x' * 5000)"


def test_a_reader_who_does_not_read_is_not_waited_for() -> None:
    """Else a line about the command would keep `once` from watching over it."""
    reading, writing = os.pipe()
    os.write(writing, b"." * fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ))
    speaker = subprocess.Popen([sys.executable, "-c", SAYS], stderr=writing)
    os.close(writing)
    try:
        status = speaker.wait(timeout=60)
    finally:
        speaker.kill()
        speaker.wait()
        os.close(reading)

    assert status == 0


def test_a_long_line_arrives_whole() -> None:
    """Also one that a pipe does not take at once."""
    said = subprocess.run([sys.executable, "-c", SAYS], stderr=subprocess.PIPE, check=True)

    assert said.stderr == b"x" * 5000 + b"\n"
