"""The stretches of constant offset in a zone, as zoneinfo knows them: where its clocks change, and by how much.

zoneinfo tells the offset of an instant but not where it changes, so changes are searched for, a year at a time and
cached. All comparison is in UTC; local times are naive.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from once.instants import SECOND
from once.noun import Noun

STRIDE = timedelta(days=2)
"""Below the shortest time between two changes of offset in the tz database: four days (Freetown, September 1939)."""

NEVER = datetime(1, 1, 1)  # noqa: DTZ001 -- local times are naive

FIRST_YEAR, LAST_YEAR = 3, 9997
"""Clear of the ends of datetime, whatever offset and stride are added."""


class Change(Noun):
    """A change of the clocks: at this instant, in UTC, `after` takes the place of the offset `before`."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def clock_stopped_at(self) -> datetime:
        """The local time that the clock had reached."""
        return local(self.at, self.before)

    @property
    def clock_went_on_at(self) -> datetime:
        """The local time that it was set to."""
        return local(self.at, self.after)

    @property
    def skips(self) -> bool:
        """Whether local times were left out (spring), rather than repeated (autumn)."""
        return self.after > self.before


class Stretch(Noun):
    """A time of constant offset, start ≤ instant < end, in UTC, no longer than a calendar year.

    `latest` is the change that this offset comes from, if it lies in this year or the one before.
    """

    start: datetime
    end: datetime
    offset: timedelta
    latest: Change | None

    @property
    def gap(self) -> Change | None:
        """The change at the very start of this stretch, if it left local times out."""
        change = self.latest
        return change if change and change.skips and change.at == self.start else None

    @property
    def already_shown(self) -> datetime:
        """Local times before this have been shown once already, before the clock was set back."""
        change = self.latest
        return change.clock_stopped_at if change and not change.skips else NEVER


def local(at: datetime, offset: timedelta) -> datetime:
    """The wall clock time, naive, of an instant in UTC."""
    return at.replace(tzinfo=None) + offset


@lru_cache(maxsize=512)
def stretches_of(zone: str, year: int) -> tuple[Stretch, ...]:
    """The stretches of a year (of UTC), in order and without a hole."""
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    latest = next(reversed(changes_of(zone, year - 1)), None)
    found = []
    for change in changes_of(zone, year):
        if change.at > start:
            found.append(Stretch(start, change.at, change.before, latest))
        start, latest = change.at, change
    found.append(Stretch(start, end, _offset(zone, start), latest))
    return tuple(found)


@lru_cache(maxsize=512)
def changes_of(zone: str, year: int) -> tuple[Change, ...]:
    """The changes of offset in a year (of UTC), in order."""
    at, end = datetime(year, 1, 1, tzinfo=UTC) - SECOND, datetime(year + 1, 1, 1, tzinfo=UTC) - SECOND
    before, found = _offset(zone, at), []
    while at < end:
        later = min(at + STRIDE, end)
        after = _offset(zone, later)
        if after != before:
            found.append(Change(_first_with(zone, after, at, later), before, after))
        at, before = later, after
    return tuple(found)


def _first_with(zone: str, offset: timedelta, earlier: datetime, later: datetime) -> datetime:
    """The first whole second with this offset: earlier has another one, later has it."""
    while later - earlier > SECOND:
        middle = earlier + (later - earlier) // SECOND // 2 * SECOND
        if _offset(zone, middle) == offset:
            later = middle
        else:
            earlier = middle
    return later


def _offset(zone: str, at: datetime) -> timedelta:
    offset = at.astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None, "a zone of zoneinfo always knows its offset"
    return offset
