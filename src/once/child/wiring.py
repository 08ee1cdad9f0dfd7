"""Which descriptors the command gets: handed down as they are, copied by us, or none.

Copied are standard output and standard error, because their end is kept. A terminal is handed down, or the command
could tell. If both are the same file, one pipe keeps the order of what is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

STDOUT, STDERR = 1, 2


def copied() -> Iterator[tuple[int, ...]]:
    """The descriptors that want a pipe; those that share one are named together."""
    wanting = tuple(fd for fd in (STDOUT, STDERR) if _is_handed_to_us(fd) and not os.isatty(fd))
    if len(wanting) > 1 and not os.path.sameopenfile(*wanting):
        yield from ((fd,) for fd in wanting)
    elif wanting:
        yield wanting


def _is_handed_to_us(fd: int) -> bool:
    """Whether the caller passed it: what this process opened itself is not inheritable (PEP 446)."""
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False
