"""Slots in UTC, in both directions: local times through a zone with cron's rule for clock changes, and intervals.

The rule, as cron(8) tells it and as Debian's daemon does it. A schedule whose minute or hour field begins with `*`
follows real time: nothing while the clock leaves an hour out, and both passes of an hour that comes twice. Any other
runs once: the first time round in the repeated hour, and at the first instant after the gap when its time falls into
it; several times of a gap are one slot. Above three hours the daemon gives up and treats a change as a new clock; such
changes are days that a country left out (Samoa 2011), and they are treated here like the small ones.

Nothing is ever added to a zoned datetime: that would lose the second pass of the autumn hour (PEP 495).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from once.instants import EPOCH, INSTANT, SECOND, unix_seconds
from once.noun import Noun
from once.schedule.pattern import Pattern
from once.schedule.stretches import FIRST_YEAR, LAST_YEAR, Stretch, local, stretches_of

BEGINNING = datetime(FIRST_YEAR + 1, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR, 1, 1, tzinfo=UTC)
"""Before and after these no slot is looked for."""

AT_A_TIME = 10_000


class Timetable(Protocol):
    """Slots, as instants in UTC."""

    def ascending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The slots with start ≤ slot < end, earliest first, lazily."""
        ...

    def descending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The same, latest first."""
        ...

    def seconds(self, start: datetime, end: datetime) -> Iterator[Sequence[int]]:
        """As ascending, in whole seconds since the Unix epoch, a day or so together: a year may have half a million."""
        ...


class Interval(Noun):
    """`@every`: aligned to the Unix epoch, whatever the zone."""

    length: timedelta

    def ascending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return self._multiples(self._counts(start, end))

    def descending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return self._multiples(reversed(self._counts(start, end)))

    def seconds(self, start: datetime, end: datetime) -> Iterator[Sequence[int]]:
        counts, length = self._counts(start, end), self.length // SECOND
        whole = range(counts.start * length, counts.stop * length, length)
        return (whole[first : first + AT_A_TIME] for first in range(0, len(whole), AT_A_TIME))

    def _counts(self, start: datetime, end: datetime) -> range:
        """How many intervals after the epoch these slots are. Counted, since one slot more may leave datetime."""
        start, end = max(start, BEGINNING), min(end, END)
        return range(-((EPOCH - start) // self.length), -((EPOCH - end) // self.length))

    def _multiples(self, counts: Iterable[int]) -> Iterator[datetime]:
        return (EPOCH + count * self.length for count in counts)


class WallClock(Noun):
    """Local times of a zone."""

    pattern: Pattern
    zone: str

    def ascending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        for stretch, first, last in self._parts(start, end):
            if first == stretch.start and self._runs_late_after(stretch):
                yield first
            for midnight, named in self._days(stretch, first, last, backwards=False):
                yield from map(midnight.__add__, self.pattern.times[named])

    def descending(self, start: datetime, end: datetime) -> Iterator[datetime]:
        start, end = max(start, BEGINNING), min(end, END)
        for year in filter(self.has_days, range(end.year, start.year - 1, -1)):
            for stretch in reversed(stretches_of(self.zone, year)):
                yield from self._backwards(stretch, max(start, stretch.start), min(end, stretch.end))

    def seconds(self, start: datetime, end: datetime) -> Iterator[Sequence[int]]:
        times = [time // SECOND for time in self.pattern.times]
        for stretch, first, last in self._parts(start, end):
            if first == stretch.start and self._runs_late_after(stretch):
                yield [unix_seconds(first)]
            for midnight, named in self._days(stretch, first, last, backwards=False):
                begin = unix_seconds(midnight)
                yield [begin + time for time in times[named]]

    def has_days(self, year: int) -> bool:
        """Whether this year (of UTC) can have slots, so that the zone need not be asked about most leap years."""
        first, last = datetime(year - 1, 12, 30), datetime(year + 1, 1, 2)  # noqa: DTZ001 -- wall clock time
        return next(self.pattern.midnights(first, last), None) is not None

    def _parts(self, start: datetime, end: datetime) -> Iterator[tuple[Stretch, datetime, datetime]]:
        """The stretches of constant offset, and what of each lies in start ≤ slot < end."""
        start, end = max(start, BEGINNING), min(end, END)
        for year in filter(self.has_days, range(start.year, end.year + 1)):
            for stretch in stretches_of(self.zone, year):
                first, last = max(start, stretch.start), min(end, stretch.end)
                if first < last:
                    yield stretch, first, last

    def _backwards(self, stretch: Stretch, start: datetime, end: datetime) -> Iterator[datetime]:
        if start >= end:
            return
        for midnight, named in self._days(stretch, start, end, backwards=True):
            yield from map(midnight.__add__, reversed(self.pattern.times[named]))
        if start == stretch.start and self._runs_late_after(stretch):
            yield start

    def _days(
        self, stretch: Stretch, start: datetime, end: datetime, *, backwards: bool
    ) -> Iterator[tuple[datetime, slice]]:
        """Each matching day of a stretch: its midnight in UTC, and which times lie within start ≤ slot < end."""
        first, last = local(start, stretch.offset), local(end, stretch.offset)
        if not self.pattern.follows_real_time:
            first = max(first, stretch.already_shown)
        times = self.pattern.times
        for midnight in self.pattern.midnights(first, last, backwards=backwards):
            named = slice(bisect_left(times, first - midnight), bisect_left(times, last - midnight))
            yield midnight.replace(tzinfo=UTC) - stretch.offset, named

    def _runs_late_after(self, stretch: Stretch) -> bool:
        """Whether a time of the gap runs at its end, and no time of its own stands there."""
        gap = stretch.gap
        if not gap or self.pattern.follows_real_time or not self.pattern.runs_late:
            return False
        end = gap.clock_went_on_at
        return self.pattern.names_any(gap.clock_stopped_at, end) and not self.pattern.names_any(end, end + INSTANT)
