"""The local times that five cron fields name: pure calendar arithmetic, without zones.

Everything here is wall clock time, so datetimes are naive. Weekdays count from Sunday, 0, as cron's do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache

from once.noun import Noun

LAST = -1
"""The last day of a month among days of the month, or the last such weekday of a month among weekdays."""

EVERY = 0
"""Each such weekday of a month, not only the first, second, … of them."""

ONE_DAY = timedelta(days=1)


class Days(Noun):
    """Which days of a month: by date, by weekday, or both.

    `of_month` holds 1 to 31 and LAST, `of_week` pairs of a weekday and EVERY, 1 to 5, or LAST. `both_must_match` is
    cron's rule for a field that begins with a star; without it a day matches that either names.
    """

    of_month: frozenset[int]
    of_week: frozenset[tuple[int, int]]
    both_must_match: bool

    def within(self, first_weekday: int, length: int) -> tuple[int, ...]:
        """The matching days, ascending, of a month of this length that begins on this weekday."""
        return _days_within(self, first_weekday, length)


class Pattern(Noun):
    """The local times that an expression names.

    `follows_real_time` means that they come as often as the clock shows them: nothing in the gap of spring, twice in
    the repeated hour of autumn. Else each comes once in the repeated hour, and in the gap late or, without
    `runs_late`, not at all: see `once.schedule.slots`.
    """

    times: tuple[timedelta, ...]
    """Since midnight, ascending."""

    months: frozenset[int]
    days: Days
    follows_real_time: bool
    runs_late: bool

    def midnights(self, first: datetime, last: datetime, *, backwards: bool = False) -> Iterator[datetime]:
        """The midnights that begin the matching days, from the day of `first` to the day of `last`, both included."""
        first, last = _midnight(first), _midnight(last)
        months = range(_months_since_zero(first), _months_since_zero(last) + 1)
        for month in reversed(months) if backwards else months:
            begin = _first_day(month)
            days = self._days_of(begin)
            days = days[bisect_left(days, first.day) if begin <= first else 0 :]
            if (begin.year, begin.month) == (last.year, last.month):
                days = days[: bisect_right(days, last.day)]
            for day in reversed(days) if backwards else days:
                yield begin.replace(day=day)

    def names_any(self, start: datetime, end: datetime) -> bool:
        """Whether any local time is named, start ≤ time < end."""
        return any(start <= midnight + time < end for midnight in self.midnights(start, end) for time in self.times)

    def ever_comes(self) -> bool:
        """Whether there is any such day. Twenty-eight years without a century between hold every kind of year."""
        return any(self._days_of(_first_day(month)) for month in range(2000 * 12, 2028 * 12))

    def _days_of(self, begin: datetime) -> tuple[int, ...]:
        if begin.month not in self.months:
            return ()
        return self.days.within(begin.isoweekday() % 7, (_next_month(begin) - begin).days)


@lru_cache(maxsize=256)
def _days_within(days: Days, first_weekday: int, length: int) -> tuple[int, ...]:
    every, matches = range(1, length + 1), all if days.both_must_match else any
    return tuple(
        day
        for day in every
        if matches((_by_date(days, day, length), _by_weekday(days, day, (first_weekday + day - 1) % 7, length)))
    )


def _by_date(days: Days, day: int, length: int) -> bool:
    return day in days.of_month or (day == length and LAST in days.of_month)


def _by_weekday(days: Days, day: int, weekday: int, length: int) -> bool:
    nths = {EVERY, (day + 6) // 7} | ({LAST} if day > length - 7 else set())
    return any((weekday, nth) in days.of_week for nth in nths)


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def _first_day(months_since_zero: int) -> datetime:
    year, month = divmod(months_since_zero, 12)
    return datetime(year, month + 1, 1)  # noqa: DTZ001 -- wall clock time


def _months_since_zero(local: datetime) -> int:
    return local.year * 12 + local.month - 1


def _next_month(begin: datetime) -> datetime:
    return (begin + 31 * ONE_DAY).replace(day=1)
