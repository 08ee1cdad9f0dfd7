"""One pipe from the command: what comes out of it is kept at its end and written on, byte for byte.

There is never more than one piece in hand. While it waits for a slow reader, the pipe is not read, so the command
waits as it would without us; signals and deadlines do not. When the reader is gone or the disk is full, the pipe is
closed, so the command gets SIGPIPE as it would without us.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios

from once.child.sink import Sink
from once.tail import Tail

PIECE = 65536
"""Bytes read at once: a pipe's usual size. A sixteenth of it would halve the throughput."""

PIECES = 16
"""Read in one turn, before signals and deadlines are looked at again."""

BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Stream:
    """The pipe. `far` is the end that the command gets, until it has it."""

    def __init__(self, fds: tuple[int, ...], tail: Tail) -> None:
        self.fds = fds
        self._tail = tail
        self._source, self.far = os.pipe()
        os.set_blocking(self._source, False)
        self._sink = Sink(fds[0])
        self._waiting = memoryview(b"")

    def handed_over(self) -> None:
        """The command has its end; ours must be closed, or the pipe would never end."""
        if self.far >= 0:
            os.close(self.far)
            self.far = -1

    def watch(self, poll: select.poll) -> None:
        """Register what this stream waits for. A paused source is left out: its hang-up would come again and again."""
        if self._waiting:
            poll.register(self._sink.fd, select.POLLOUT)
        elif self._source >= 0:
            poll.register(self._source, select.POLLIN)
            poll.register(self._sink.fd, 0)

    def turn(self, ready: dict[int, int]) -> None:
        """Pass on what there is, within bounds, after a poll has answered so."""
        if ready.get(self._sink.fd, 0) & BROKEN:
            self._break()
        elif self._sink.fd in ready:
            self._flush()
        if self._source in ready and not self._waiting:
            self._pump()

    def finish(self) -> None:
        """The command has ended: take exactly what it has left in the pipe, which others may keep open for years."""
        if self._source < 0:
            return
        left = _readable(self._source)
        pieces = [bytes(self._waiting)]
        while left > 0 and (piece := self._read(left)):
            pieces.append(piece)
            left -= len(piece)
        self._waiting = memoryview(b"".join(pieces))
        self._flush()

    @property
    def unsent(self) -> int:
        """Bytes that the reader has not taken yet."""
        return len(self._waiting)

    def close(self) -> None:
        """Give back every descriptor."""
        self.handed_over()
        self._close_source()
        self._sink.close()

    def _pump(self) -> None:
        for _piece in range(PIECES):
            piece = self._read(PIECE)
            if piece is None:
                return
            if not piece:
                self._close_source()
                return
            self._waiting = memoryview(piece)
            self._flush()
            if self._waiting or self._source < 0 or len(piece) < PIECE // 2:
                return

    def _read(self, most: int) -> bytes | None:
        """The next piece, taken note of; b"" at the end, None when there is nothing yet."""
        try:
            piece = os.read(self._source, most)
        except BlockingIOError:
            return None
        self._tail.add(piece)
        return piece

    def _flush(self) -> None:
        """Write on as much as the reader takes now."""
        try:
            while self._waiting:
                self._waiting = self._waiting[self._sink.write(self._waiting) :]
        except BlockingIOError:
            return
        except OSError:  # EPIPE, ENOSPC, EIO, EBADF: nobody will ever take it
            self._break()

    def _break(self) -> None:
        self._waiting = memoryview(b"")
        if self._source >= 0:
            self._read(max(1, _readable(self._source)))
            self._close_source()

    def _close_source(self) -> None:
        if self._source >= 0:
            os.close(self._source)
            self._source = -1


def _readable(fd: int) -> int:
    """How many bytes lie in a pipe (FIONREAD)."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))[0])
