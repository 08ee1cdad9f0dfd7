"""Which slots of a task were due: those of its lines while they were in force, less the times of quiet.

A line counts from the first time it was seen to the last, and the line that was seen last until now: what was edited
before nobody can know, and an edit invents no slot. Two lines in use at once are both due. Before a task's history was
pruned nothing can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import chain, groupby, islice, pairwise, takewhile

from once.instants import INSTANT, at_unix_seconds, unix_seconds
from once.noun import Noun
from once.run import Line, Task
from once.schedule import Schedule
from once.schedule.schedule import ON_TIME
from once.schedule.slots import AT_A_TIME


class InForce(Noun):
    """An interval in which a task was seen with a line: see `once.store.intervals`."""

    task: str
    line: Line
    first_seen: datetime
    last_seen: datetime


class Quiet(Noun):
    """A time in which a task was to start nothing: paused or retired. Without `until`: still.

    Without `task`: every task whose name begins with `scope`.
    """

    task: str | None
    since: datetime
    until: datetime | None = None
    scope: str = ""

    def is_of(self, task: str) -> bool:
        """Whether it was about this task."""
        return task.startswith(self.scope) if self.task is None else self.task == task

    def covers(self, at: datetime) -> bool:
        """Whether no start was wanted then."""
        return self.since <= at and (self.until is None or at < self.until)


class Stretch(Noun):
    """A schedule and from when to when it counts, start ≤ slot < end; None: until now."""

    schedule: Schedule
    start: datetime
    end: datetime | None


class Due(Noun):
    """The due slots of a task."""

    stretches: tuple[Stretch, ...]
    quiet: tuple[Quiet, ...] = ()

    @classmethod
    def of(cls, task: Task, in_force: Iterable[InForce], quiet: Iterable[Quiet] = ()) -> Due:
        """From what is known of a task. Raises ScheduleInvalid or ZoneInvalid for a line that this host cannot read."""
        intervals = sorted((one for one in in_force if one.task == task.name), key=lambda one: one.first_seen)
        newest = max(intervals, key=lambda one: (one.last_seen, one.first_seen), default=None)
        after = task.settled_through + INSTANT if task.settled_through is not None else None
        stretches = [
            Stretch(
                Schedule.of(one.line),
                one.first_seen if after is None else max(one.first_seen, after),
                None if one is newest else one.last_seen + INSTANT,
            )
            for one in intervals
        ]
        silent = [one for one in quiet if one.is_of(task.name)]
        if task.paused_at is not None:
            silent.append(Quiet(task.name, task.paused_at, task.paused_until))
        if task.retired_at is not None:
            silent.append(Quiet(task.name, task.retired_at))
        return cls(tuple(stretches), tuple(silent))

    def between(self, start: datetime, end: datetime, *, now: datetime) -> Iterator[datetime]:
        """The due slots with start ≤ slot < end, earliest first, lazily; without those whose grace is not over yet."""
        return map(at_unix_seconds, chain.from_iterable(self.seconds(start, end, now=now)))

    def seconds(self, start: datetime, end: datetime, *, now: datetime) -> Iterator[Sequence[int]]:
        """The same in whole seconds since the Unix epoch, a day or so together."""
        parts = [part for one in self.stretches if (part := _within(one, start, end))]
        days: Iterator[Sequence[int]] = chain.from_iterable(_seconds(part, now) for part in parts)
        if any(earlier.end is not None and later.start < earlier.end for earlier, later in pairwise(parts)):
            days = _merged(chain.from_iterable(_seconds(part, now)) for part in parts)
        quiet = [one for one in self.quiet if one.since < end and (one.until is None or start < one.until)]
        return ([slot for slot in day if not _covered(quiet, slot)] for day in days) if quiet else days

    def next_after(self, at: datetime, before: datetime, *, now: datetime) -> datetime | None:
        """The due slot after this one, if it lies before that instant."""
        return next(self.between(at + INSTANT, before, now=now), None)


def _within(stretch: Stretch, start: datetime, end: datetime) -> Stretch | None:
    start = max(start, stretch.start)
    end = end if stretch.end is None else min(end, stretch.end)
    return Stretch(stretch.schedule, start, end) if start < end else None


def _seconds(stretch: Stretch, now: datetime) -> Iterator[Sequence[int]]:
    """The slots whose grace, the lateness that is still on time, is over. It is five minutes at most."""
    assert stretch.end is not None
    young = min(stretch.end, max(stretch.start, now - ON_TIME))
    yield from stretch.schedule.seconds(stretch.start, young)
    over = takewhile(_is_over(stretch.schedule, now), stretch.schedule.between(young, stretch.end))
    yield [unix_seconds(slot) for slot in over]


def _merged(slots: Iterable[Iterator[int]]) -> Iterator[Sequence[int]]:
    """In one order, and one of those that are the same."""
    each = (slot for slot, _ in groupby(merge(*slots)))
    while day := list(islice(each, AT_A_TIME)):
        yield day


def _is_over(schedule: Schedule, now: datetime) -> Callable[[datetime], bool]:
    return lambda slot: slot + schedule.on_time(slot) <= now


def _covered(quiet: Sequence[Quiet], slot: int) -> bool:
    return any(one.covers(at_unix_seconds(slot)) for one in quiet)
