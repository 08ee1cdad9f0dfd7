"""Which descriptors the command gets: handed down as they are, copied by us, or none.

Standard output and standard error are wanted for the record. What cannot be read back is copied: pipes, sockets, and
/dev/null, which takes everything. If both are the same, one pipe keeps the order of what is written. All else is handed
down: the command writes to a file itself and hears itself of a full disk, and it could tell a terminal.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

STDOUT, STDERR = 1, 2


def copied() -> Iterator[tuple[int, ...]]:
    """The descriptors that want a pipe; those that share one are named together."""
    yield from _told_apart(fd for fd in (STDOUT, STDERR) if _is_handed_to_us(fd) and _must_be_copied(fd))


def written() -> Iterator[tuple[int, ...]]:
    """The descriptors of files that the command writes itself and that are read back; those of one file together."""
    found = (fd for fd in (STDOUT, STDERR) if _is_handed_to_us(fd) and not _must_be_copied(fd) and not os.isatty(fd))
    yield from _told_apart(found)


def _told_apart(found: Iterator[int]) -> Iterator[tuple[int, ...]]:
    fds = tuple(found)
    if len(fds) > 1 and not os.path.sameopenfile(*fds):
        yield from ((fd,) for fd in fds)
    elif fds:
        yield fds


def _must_be_copied(fd: int) -> bool:
    status = os.fstat(fd)
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode) or is_null


def _is_handed_to_us(fd: int) -> bool:
    """Whether the caller passed it: what this process opened itself is not inheritable (PEP 446)."""
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False
