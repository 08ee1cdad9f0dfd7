"""The port of a running command: what happens to it, what can be done to it, and how far it may go.

`child` is the real one.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from once.noun import Noun


class Exited(Noun):
    """The command itself has ended, at this CLOCK_BOOTTIME. Processes it left behind may go on."""

    wait_status: int
    at_boottime: float


class Signalled(Noun):
    """A signal came for `once`, to be forwarded or acted upon."""

    signum: int


class Woken:
    """Somebody called `wake`."""


Event = Exited | Signalled | Woken


class PastLease(StrEnum):
    """What becomes of a command whose lease can no longer be trusted."""

    FREEZE = "freeze"
    CONTINUE = "continue"


class Limits(Noun):
    """How long the command may run and how it is stopped."""

    timeout: timedelta | None = None
    kill_after: timedelta = timedelta(seconds=10)
    stop_signal: int = signal.SIGTERM
    past_lease: PastLease = PastLease.FREEZE


class Output(Protocol):
    """The end of what the command wrote."""

    @property
    def kept(self) -> bytes: ...

    @property
    def dropped(self) -> int: ...


class Command(Protocol):
    """A command that was started."""

    pid: int
    escaped: bool

    def wait(self, timeout: float) -> Event | None:
        """Pass output on until something happens or so many seconds have gone by (then None)."""
        ...

    def wake(self) -> None:
        """End a wait early; from any thread."""
        ...

    def send(self, signum: int) -> None:
        """Signal the command and what it started."""
        ...

    def freeze(self) -> None:
        """SIGSTOP to all of it."""
        ...

    def thaw(self) -> None:
        """SIGCONT to all of it."""
        ...

    def kill(self) -> None:
        """SIGKILL to all of it."""
        ...

    def group_is_gone(self) -> bool:
        """Whether nothing of it is alive any more."""
        ...

    def output(self) -> Output:
        """The end of its output so far."""
        ...

    def drain(self, within: float) -> int:
        """After the end: pass on to a slow reader what is left, for so many seconds; how many bytes were given up.

        A signal that asks to stop ends it early.
        """
        ...

    def close(self) -> None:
        """Give back descriptors and handlers."""
        ...


class Spawn(Protocol):
    """Starts a command. Raises CommandNotFound or CommandNotExecutable."""

    def __call__(self, argv: Sequence[str], *, env: Mapping[str, str], tail: int) -> Command: ...
