"""Everything that has to be signalled together with the command.

A command in a group of its own is that group, and what it has begun in further ones. One that shares the terminal
with `once` is told by descent: what comes from `once` (its orphans do too, since `once` is their subreaper) and is in
the shared group, or in one that the command has made for itself, as an interactive shell does. The shared group
itself is never signalled: `once` is in it, and the rest of a pipeline.

A stranger may get the number of a group that is gone, but not in our session; a member may become another user's
(sudo), and then cannot be told: that is said at the start, and not an error here.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from once.child.kernel import DEAD, STOPPED, Process, process, processes

SWEEPS = 100
"""How often a stop or a kill looks for processes that were forked under its eyes, before it lets go."""

UNCAUGHT = frozenset((signal.SIGSTOP, signal.SIGKILL))
"""What nobody can catch, and so nobody can pass on."""


class Own:
    """A command that leads a group of its own.

    A timeout(1) in a script, or a shell with job control, puts processes into further groups and passes on to them the
    signals that ask it to end. It cannot catch a freeze or a kill, so these are sent to all processes that the command
    has started in our session (a daemon has left it). When the group is gone nobody passes anything on, and then they
    are sent every signal.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._first = process(leader)
        self._is_stopped = False
        self.reaped = False

    def signal(self, signum: int) -> None:
        """Send it to every member at once."""
        is_left = not (self.reaped and self._group_is_gone())
        if is_left:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, signum)
        if signum in UNCAUGHT or not is_left or (signum == signal.SIGCONT and self._is_stopped):
            _tell(self._strays, signum)
            self._is_stopped = signum == signal.SIGSTOP

    def _strays(self) -> list[Process]:
        """Descendants outside the group. What is older than the command is not its: an earlier one may have left it."""
        if self._first is None:
            return []
        table = {one.pid: one for one in processes()}
        groups, session = (os.getpgrp(), self._leader), os.getsid(0)
        return [
            one
            for one in table.values()
            if one.session == session
            and one.group not in groups
            and one.begun >= self._first.begun
            and one.state not in DEAD
            and _descends(one, table)
        ]

    def is_gone(self) -> bool:
        """Whether nothing of it is alive."""
        return self._group_is_gone() and not self._strays()

    def _group_is_gone(self) -> bool:
        """Whether no member is alive: killpg counts zombies, and so may only say that there is none."""
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        everybody = list(processes())
        members = [one for one in everybody if one.group == self._leader and one.session == os.getsid(0)]
        if not members:  # a stranger has the number now, or there is no table to look into
            return self.reaped and bool(everybody)
        return all(member.state in DEAD for member in members)


class Shared:
    """A command in the group of `once`, with the terminal."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self.reaped = False

    def signal(self, signum: int) -> None:
        """Send it to each member; a stop and a kill until nobody is left to be told."""
        _tell(self._members, signum)

    def is_gone(self) -> bool:
        """Whether no member is alive."""
        return not self._members()

    def _members(self) -> list[Process]:
        table = {process.pid: process for process in processes()}
        if not table and not self.reaped:
            return [Process(self._leader, "R", os.getpid(), os.getpgrp(), os.getsid(0), begun=0)]
        groups = (os.getpgrp(), self._leader)
        return [
            process
            for process in table.values()
            if process.group in groups and process.state not in DEAD and _descends(process, table)
        ]


Group = Own | Shared


def _tell(members: Callable[[], list[Process]], signum: int) -> None:
    once_only = signum not in UNCAUGHT
    settled = DEAD if signum == signal.SIGKILL else DEAD | STOPPED
    for _sweep in range(SWEEPS):
        found = members()
        for member in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, signum)
        if once_only or all(member.state in settled for member in found):
            return


def _descends(process: Process, table: dict[int, Process]) -> bool:
    """Whether its line of parents leads to us."""
    us = os.getpid()
    ancestor: Process | None = process
    while ancestor is not None and ancestor.pid != us:
        if ancestor.parent == us:
            return True
        ancestor = table.get(ancestor.parent)
    return False
