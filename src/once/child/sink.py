"""Writing to a descriptor that others share, without ever blocking on its reader.

O_NONBLOCK belongs to the open file, which the caller and his other programs share, so it is not for us to set. A pipe
is opened anew, which makes an open file of our own; where that is refused (the pipe of another user: cron's) the
kernel is asked not to wait for this one write; where it does not know that, writes are so small that a pipe which
polls as writable takes them whole (pipe(7)). Files and devices do not block for ever.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable

RWF_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)

Write = Callable[[memoryview], int]


class Sink:
    """One of our own descriptors, to be written to. `fd` is what to poll for room and for the reader's end."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._private = False
        self.write: Write = self._way()

    def close(self) -> None:
        """Give back the private open file, if one was made. The caller's descriptor stays open."""
        if self._private:
            self._private = False
            os.close(self.fd)

    def _way(self) -> Write:
        """How to write. All ways raise BlockingIOError when there is no room, OSError when there never will be."""
        mode = os.fstat(self.fd).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) or not os.get_blocking(self.fd):
            return self._write
        if stat.S_ISFIFO(mode) and self._reopened():
            return self._write
        return self._write_without_waiting if RWF_NOWAIT else self._write_little

    def _reopened(self) -> bool:
        try:
            self.fd = os.open(f"/proc/self/fd/{self.fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        self._private = True
        return True

    def _write(self, output: memoryview) -> int:
        return os.write(self.fd, output)

    def _write_without_waiting(self, output: memoryview) -> int:
        try:
            return os.pwritev(self.fd, [output], -1, RWF_NOWAIT)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ESPIPE):
                raise
        self.write = self._write_little
        return self._write_little(output)

    def _write_little(self, output: memoryview) -> int:
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        if not poll.poll(0):
            raise BlockingIOError
        return os.write(self.fd, output[: select.PIPE_BUF])
