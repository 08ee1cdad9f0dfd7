"""A schedule in plain words, for someone who does not read cron, and notes where the clock changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from once.instants import in_words as interval_in_words
from once.schedule.pattern import EVERY, LAST, Days, Pattern
from once.schedule.schedule import Schedule
from once.schedule.slots import Interval, WallClock
from once.schedule.stretches import Change, changes_of

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
ORDINAL_ORDER = list(ORDINALS)
EVERY_MONTH = "the month"
HOURS_IN_A_DAY = 24

RANGE_FROM = 3
"""This many in a row are told as first and last."""

TIMES_TO_LIST = 6
"""More times of day than this are told as hours and minutes."""


def in_words(schedule: Schedule) -> str:
    """The schedule in one line: `at 02:30 from Monday to Friday, Europe/Berlin time`."""
    match schedule.timetable:
        case Interval(length):
            return f"every {interval_in_words(length)}, counted from 1970-01-01T00:00Z"
        case WallClock(pattern, zone):
            said = " ".join(filter(None, (_times(pattern), _days(pattern))))
            return f"{said}, {zone} time" if zone != "UTC" else f"{said}, UTC"
    raise TypeError(schedule.timetable)


def clock_notes(schedule: Schedule, start: datetime, end: datetime) -> list[str]:
    """What the changes of the clock, start ≤ change < end, do to this schedule; changes that do nothing are left out.

    `02:30 does not exist on 2026-03-29; runs at 03:00`.
    """
    timetable = schedule.timetable
    if not isinstance(timetable, WallClock):
        return []
    changes = (change for year in range(start.year, end.year + 1) for change in changes_of(timetable.zone, year))
    notes = (_note(timetable.pattern, change) for change in changes if start <= change.at < end)
    return [note for note in notes if note]


def _note(pattern: Pattern, change: Change) -> str | None:
    first, last = sorted((change.clock_stopped_at, change.clock_went_on_at))
    touched = list(_named(pattern, first, last))
    if not touched:
        return None
    times, many = _listed(f"{local:%H:%M}" for local in touched[:TIMES_TO_LIST]), len(touched) > 1
    if len(touched) > TIMES_TO_LIST:
        times = f"{touched[0]:%H:%M} to {touched[-1]:%H:%M}"
    date = touched[0].date()
    if change.skips:
        outcome = "nothing runs then" if pattern.follows_real_time else f"runs at {last:%H:%M}"
        return f"{times} {'do' if many else 'does'} not exist on {date}; {outcome}"
    outcome = "runs both times" if pattern.follows_real_time else "runs the first time only"
    return f"{times} {'come' if many else 'comes'} twice on {date}; {outcome}"


def _named(pattern: Pattern, first: datetime, last: datetime) -> Iterator[datetime]:
    for midnight in pattern.midnights(first, last):
        yield from (local for time in pattern.times if first <= (local := midnight + time) < last)


def _times(pattern: Pattern) -> str:
    if len(pattern.times) <= TIMES_TO_LIST:
        return "at " + _listed(_clock(time) for time in pattern.times)
    minutes = sorted({time // timedelta(minutes=1) % 60 for time in pattern.times})
    hours = sorted({time // timedelta(hours=1) for time in pattern.times})
    if minutes == [0]:
        return _on_the_hour(hours)
    if len(hours) == HOURS_IN_A_DAY:
        return _minutes(minutes) + ("" if _step(minutes, 60) else " of every hour")
    return f"{_minutes(minutes)} of {'hour' if len(hours) == 1 else 'the hours'} {_ranges(hours, digits=2)}"


def _on_the_hour(hours: list[int]) -> str:
    step = _step(hours, HOURS_IN_A_DAY)
    if step == 1:
        return "every hour, on the hour"
    return f"every {step} hours from 00:00" if step else f"on the hour, at {_ranges(hours, digits=2)}"


def _minutes(minutes: list[int]) -> str:
    if step := _step(minutes, 60):
        return "every minute" if step == 1 else f"every {step} minutes"
    return f"at {'minute' if len(minutes) == 1 else 'minutes'} {_ranges(minutes)}"


def _step(values: list[int], period: int) -> int | None:
    """The step, if the values are exactly those of `*/step` and the step divides the period."""
    step = period // len(values)
    return step if len(values) > 1 and values == list(range(0, period, step)) else None


def _days(pattern: Pattern) -> str:
    days, month = pattern.days, _month(pattern)
    any_date, any_weekday = days.of_month >= set(range(1, 32)), _any_weekday(days)
    both = days.both_must_match
    if (any_date and any_weekday) or (not both and (any_date or any_weekday)):
        is_said = len(pattern.times) > TIMES_TO_LIST and month == EVERY_MONTH
        return "" if is_said else f"every day{_within(month)}"
    if any_weekday:
        return f"on {_dates(days, month)}"
    if any_date:
        return f"{_weekdays(days)}{_within(month)}"
    if both:
        return f"{_weekdays(days)}, but only on {_dates(days, month)}"
    return f"on {_dates(days, month)}, and also {_weekdays(days)}{_within(month)}"


def _any_weekday(days: Days) -> bool:
    return days.of_week >= {(weekday, EVERY) for weekday in range(7)}


def _dates(days: Days, month: str) -> str:
    numbers = sorted(days.of_month - {LAST})
    parts = [f"{'day' if len(numbers) == 1 else 'days'} {_ranges(numbers)}"] if numbers else []
    if LAST in days.of_month:
        parts.append("the last day")
    return f"{_listed(parts)} of {month}"


def _weekdays(days: Days) -> str:
    plain = sorted((weekday or 7) for weekday, nth in days.of_week if nth == EVERY)
    names = [WEEKDAYS[weekday % 7] for weekday in plain]
    if len(plain) >= RANGE_FROM and plain[-1] - plain[0] == len(plain) - 1:
        parts = [f"from {names[0]} to {names[-1]}"]
    else:
        parts = [f"on {_listed(f'{name}s' for name in names)}"] if names else []
    rare = sorted((ORDINAL_ORDER.index(nth), weekday) for weekday, nth in days.of_week if nth != EVERY)
    parts += [f"on the {ORDINALS[ORDINAL_ORDER[order]]} {WEEKDAYS[weekday]} of the month" for order, weekday in rare]
    return _listed(parts)


def _month(pattern: Pattern) -> str:
    if len(pattern.months) == len(MONTHS):
        return EVERY_MONTH
    return _listed(MONTHS[month - 1] for month in sorted(pattern.months))


def _within(month: str) -> str:
    return "" if month == EVERY_MONTH else f" in {month}"


def _clock(time: timedelta) -> str:
    hours, minutes = divmod(time // timedelta(minutes=1), 60)
    return f"{hours:02}:{minutes:02}"


def _ranges(values: list[int], digits: int = 1) -> str:
    """`1 to 7 and 15` for [1, …, 7, 15]; `1, 3 and so on to 31` for the odd ones."""
    shown = [f"{value:0{digits}}" for value in values]
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(values) > TIMES_TO_LIST and len(steps) == 1 and steps != {1}:
        return f"{shown[0]}, {shown[1]} and so on to {shown[-1]}"
    parts: list[list[str]] = []
    for text, follows in zip(shown, [False, *(b - a == 1 for a, b in pairwise(values))], strict=True):
        if follows:
            parts[-1].append(text)
        else:
            parts.append([text])
    return _listed(
        text for part in parts for text in ([f"{part[0]} to {part[-1]}"] if len(part) >= RANGE_FROM else part)
    )


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
