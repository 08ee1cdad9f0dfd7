"""A file that the command writes itself: only the end of what it has added is read back, for the record.

If `once` wrote the file on the command's behalf, it would meet a full disk after the command had been told that all was
well, and perhaps had ended with 0. So only what cannot be read back is copied: see `wiring`.
"""

from __future__ import annotations

import fcntl
import os
import stat

from once.tail import Tail


class Written:
    """One such file. The command shares our open files of it, so their offsets tell how far the command has written.

    What others append through open files of their own in between is not told apart.
    """

    def __init__(self, fds: tuple[int, ...]) -> None:
        self._fds = fds
        self._begin = max(map(_begin, fds))
        self._reader = _reopened(fds[0]) if self._begin >= 0 else -1

    def add_to(self, tail: Tail) -> None:
        """Add what the command has written so far; of a file that cannot be read, nothing but the length."""
        if self._begin < 0:
            return
        end = max(self._begin, *(os.lseek(fd, 0, os.SEEK_CUR) for fd in self._fds))
        begin = max(self._begin, end - tail.limit) if self._reader >= 0 else end
        tail.pass_over(begin - self._begin)
        try:
            while begin < end and (piece := os.pread(self._reader, end - begin, begin)):
                tail.add(piece)
                begin += len(piece)
        except OSError:  # a file of the kernel's, a disk that has gone: no reason to lose the record
            tail.pass_over(end - begin)

    def close(self) -> None:
        """Give back our own descriptor; the caller's stays open."""
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1


def _begin(fd: int) -> int:
    """Where the next byte goes; -1 for what has no such place, and so no end to read back: devices, the kernel's."""
    status = os.fstat(fd)
    try:
        offset = os.lseek(fd, 0, os.SEEK_CUR) if stat.S_ISREG(status.st_mode) else -1
    except OSError:
        return -1
    appends = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
    return status.st_size if appends and offset >= 0 else offset


def _reopened(fd: int) -> int:
    try:
        return os.open(f"/dev/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1
