"""The world of a run without a world: a clock that moves when told, and a command that does what a timeline says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from once.command import Event, Exited, Woken
from once.lease import Lease
from once.store.base import Beat

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """Starts at boottime 0 on a Monday morning; sleeping moves it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return MONDAY + timedelta(seconds=self.seconds)

    def boottime(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


@dataclass
class FakeOutput:
    kept: bytes = b""
    dropped: int = 0


@dataclass
class FakeCommand:
    """A command whose life is a timeline: at each second an event, or something to do that then wakes the waiter.

    What is done to it is written down in `done`, as (second, verb). SIGKILL ends it, unless it is said to be immortal.
    """

    clock: FakeClock
    timeline: list[tuple[float, Event | Callable[[], None]]] = field(default_factory=list)
    done: list[tuple[float, str]] = field(default_factory=list)
    leaves_behind: bool = False
    pid: int = 4711
    escaped: bool = False

    def wait(self, timeout: float) -> Event | None:
        if self.timeline and self.timeline[0][0] <= self.clock.seconds + timeout:
            at, what = self.timeline.pop(0)
            self.clock.seconds = max(self.clock.seconds, at)
            if callable(what):
                what()
                return Woken()
            return what
        self.clock.seconds += timeout
        return None

    def send(self, signum: int) -> None:
        self._note(f"signal {signum}")

    def freeze(self) -> None:
        self._note("freeze")

    def thaw(self) -> None:
        self._note("thaw")

    def kill(self) -> None:
        self._note("kill")
        self.leaves_behind = False
        self.timeline = [(self.clock.seconds, Exited(9, self.clock.seconds))]

    def wake(self) -> None:
        self._note("wake")

    def group_is_gone(self) -> bool:
        return not self.leaves_behind

    def output(self) -> FakeOutput:
        return FakeOutput()

    def drain(self, _within: float) -> int:
        return 0

    def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        self.done.append((self.clock.seconds, what))


@dataclass
class FakeKeeper:
    """A keeper that is told what it has learnt."""

    clock: FakeClock
    lease: Lease = field(default_factory=lambda: Lease(timedelta(seconds=100), 0.0))
    gone: Beat | None = None
    stop_asked: str | None = None
    trouble: Exception | None = None
    asked: int = 0

    def ask(self) -> None:
        self.asked += 1

    def hears_it_is_ours(self) -> None:
        self.lease = self.lease.extended(sent=self.clock.seconds)
