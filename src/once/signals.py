"""The signals that arrive, caught from the first instant of the process: as PID 1 the kernel drops what is not caught.

Until a claim is under way a signal ends `once` immediately: nothing is lost, since the database rolls back what was
under way, as after SIGKILL. The handler itself ends the process. An exception raised there might surface in a callback
of the interpreter (an import, SQLite), which prints it and goes on, and the signal would be lost. From the claim on
signals are only noted, in order, and forwarded to the command by its supervision.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
"""What is passed on to the command."""

STOPPING = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT))
"""What asks a command to end."""


class Interrupted(BaseException):
    """A signal came while nothing was claimed. Not an Exception: no `except Exception` may swallow it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def leave_at_once(signum: int) -> NoReturn:
    """End the process with the exit status of a signal, without running any more Python code."""
    os._exit(128 + signum)


def interrupt(signum: int) -> NoReturn:
    """Raise Interrupted: for a caller that shares the process with others."""
    raise Interrupted(signum)


class Arrivals:
    """The signals of this process. One object is made, first thing, and handed down.

    `leave` is what a signal does while nothing is claimed.
    """

    def __init__(self, leave: Callable[[int], NoReturn] = interrupt) -> None:
        self._leave = leave
        self._noted: deque[int] = deque()
        self._noting = False

    def catch(self) -> None:
        """Install the handlers. A signal that was inherited as ignored (nohup) stays ignored."""
        for signum in FORWARDED:
            if signal.getsignal(signum) is not signal.SIG_IGN:
                signal.signal(signum, self._arrived)

    def only_note(self) -> None:
        """From now on, until `raise_again`, signals are only noted: a run is at stake."""
        self._noting = True

    def raise_again(self) -> None:
        """Nothing is at stake any more: the next signal ends `once`. Raises Interrupted if one has been noted."""
        self._noting = False
        signum = self.take()
        if signum is not None:
            raise Interrupted(signum)

    def take(self) -> int | None:
        """The oldest noted signal, which is then no longer noted; None when there is none."""
        return self._noted.popleft() if self._noted else None

    def waiting(self) -> int:
        """How many signals have been noted and not taken."""
        return len(self._noted)

    def _arrived(self, signum: int, _frame: FrameType | None) -> None:
        if self._noting:
            self._noted.append(signum)
            return
        self._noting = True  # one is enough: a second must not interrupt the way out
        self._leave(signum)
