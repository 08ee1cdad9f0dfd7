"""What only Linux can tell or do: prctl(2) and the table of processes. Elsewhere it is done without, quietly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from once.noun import Noun

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

DEAD = frozenset("ZX")
"""States of proc(5) in which a process does nothing any more."""

STOPPED = frozenset("Tt")

Prctl = Callable[[int, int], None]


class Process(Noun):
    """One line of the table of processes. `begun`: when, in clock ticks since boot."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    begun: int


def prctl() -> Prctl:
    """The call, looked up beforehand: between fork and exec nothing may be imported."""
    try:
        import ctypes

        function = ctypes.CDLL(None).prctl
        function.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    except (ImportError, OSError, AttributeError):
        return lambda _option, _value: None

    def call(option: int, value: int) -> None:
        function(option, value, 0, 0, 0)

    return call


def processes() -> Iterator[Process]:
    """Every process that /proc shows, zombies too; nothing where there is no /proc."""
    try:
        names = [entry.name for entry in os.scandir("/proc")]
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (found := process(int(name))) is not None:
            yield found


def process(pid: int) -> Process | None:
    """One line, unless it has gone meanwhile. The command's name may contain blanks and brackets (proc(5))."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            state, *numbers = stat.read().rpartition(b")")[2].split()[:20]
        parent, group, session, begun = (int(numbers[at]) for at in (0, 1, 2, 18))
    except (OSError, ValueError, IndexError):
        return None
    return Process(pid, state.decode(), parent, group, session, begun)
