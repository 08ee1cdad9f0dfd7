"""A schedule in plain words, for someone who does not read cron."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from itertools import pairwise

from once.schedule.pattern import EVERY, LAST, ONE_DAY, Days, Pattern
from once.schedule.schedule import Schedule
from once.schedule.slots import Interval, WallClock

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
UNITS = {
    "day": ONE_DAY,
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}

UTC = ("UTC", "Etc/UTC")
HOURS_IN_A_DAY, MINUTES_IN_AN_HOUR = 24, 60
SHORTEST_MONTH = 28

RANGE_FROM = 3
"""This many in a row are told as first and last."""

SPANS_TO_LIST = 3
TIMES_TO_LIST = 6
"""More times of day than this are told as hours and minutes."""


def in_words(schedule: Schedule) -> str:
    """The schedule in one line: `at 02:30 from Monday to Friday, Europe/Berlin time`."""
    match schedule.timetable:
        case Interval(length):
            day = " on 1970-01-01" if ONE_DAY % length else ""
            return f"every {_length(length)}, counted from midnight UTC{day}"
        case WallClock(pattern, zone):
            times, days = _times(pattern), _days(pattern)
            said = (", " if " to " in times and days else " ").join(filter(None, (times, days)))
            return f"{said}, {zone} time" if zone not in UTC else f"{said}, UTC"
    raise TypeError(schedule.timetable)


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _length(interval: timedelta) -> str:
    """`hour`, `15 minutes`, `1 hour and 30 minutes`; never rounded."""
    parts = []
    for name, unit in UNITS.items():
        many, interval = divmod(interval, unit)
        if many:
            parts.append(f"{many} {name}{'' if many == 1 else 's'}")
    return listed(parts).removeprefix("1 ") if len(parts) == 1 else listed(parts)


def _times(pattern: Pattern) -> str:
    if len(pattern.times) <= TIMES_TO_LIST:
        return f"at {listed([_clock(time) for time in pattern.times])}"
    hours, minutes = _hours(pattern), sorted({time // UNITS["minute"] % MINUTES_IN_AN_HOUR for time in pattern.times})
    if len(minutes) == 1:
        return _at_one_minute(hours, minutes[0])
    step = MINUTES_IN_AN_HOUR // len(minutes)
    if minutes != list(range(0, MINUTES_IN_AN_HOUR, step)):
        return f"at minutes {_ranges(minutes)} {_of_hours(hours)}"
    said, spans = "every minute" if step == 1 else f"every {step} minutes", _spans(hours)
    if len(hours) == HOURS_IN_A_DAY:
        return said
    if len(spans) > SPANS_TO_LIST:
        return f"{said} {_of_hours(hours)}"
    return f"{said} {listed([f'from {first:02}:00 to {last:02}:{minutes[-1]:02}' for first, last in spans])}"


def _hours(pattern: Pattern) -> list[int]:
    return sorted({time // UNITS["hour"] for time in pattern.times})


def _at_one_minute(hours: list[int], minute: int) -> str:
    if len(hours) == HOURS_IN_A_DAY:
        return f"at minute {minute} of every hour" if minute else "every hour, on the hour"
    clocks = {hour: f"{hour:02}:{minute:02}" for hour in hours}
    steps, spans = {later - earlier for earlier, later in pairwise(hours)}, _spans(hours)
    if len(steps) == 1 and steps != {1}:
        return f"every {steps.pop()} hours from {clocks[hours[0]]} to {clocks[hours[-1]]}"
    if len(spans) > SPANS_TO_LIST:
        return f"at {listed(list(clocks.values()))}"
    return "every hour " + listed(
        [f"from {clocks[first]} to {clocks[last]}" if first < last else f"at {clocks[first]}" for first, last in spans]
    )


def _of_hours(hours: list[int]) -> str:
    if len(hours) == HOURS_IN_A_DAY:
        return "of every hour"
    return f"of the hour{'' if len(hours) == 1 else 's'} beginning at {_ranges(hours, form='{:02}:00')}"


def _days(pattern: Pattern) -> str:
    days, months = pattern.days, pattern.months
    any_date, any_weekday = days.of_month >= set(range(1, 32)), days.of_week >= {(day, EVERY) for day in range(7)}
    both = days.both_must_match
    if (any_date and any_weekday) or (not both and (any_date or any_weekday)):
        is_said = len(pattern.times) > TIMES_TO_LIST and len(_hours(pattern)) == HOURS_IN_A_DAY
        return f"{'' if is_said else 'every day'}{_within(months)}".lstrip(", ")
    if any_weekday:
        return f"on {_dates(days, months)}"
    if any_date:
        return _weekdays(days, months, within=_within(months))
    if both:
        return f"{_weekdays(days, months)}, but only on {_dates(days, months)}"
    return f"on {_dates(days, months)}, and also {_weekdays(days, months, within=_within(months))}"


def _dates(days: Days, months: frozenset[int]) -> str:
    numbers = sorted(days.of_month - {LAST})
    if len(numbers) == len(days.of_month) == len(months) == 1:
        return f"{numbers[0]} {MONTHS[min(months) - 1]}"
    parts = [f"{'day' if len(numbers) == 1 else 'days'} {_ranges(numbers)}"] if numbers else []
    if LAST in days.of_month:
        parts.append("the last day")
    rare = numbers and numbers[0] > SHORTEST_MONTH and len(months) == len(MONTHS)
    return f"{listed(parts)} {_of(months)}{' that is long enough' if rare else ''}"


def _weekdays(days: Days, months: frozenset[int], *, within: str = "") -> str:
    parts = []
    if plain := {weekday for weekday, nth in days.of_week if nth == EVERY}:
        parts.append(_plain_weekdays(plain) + within)
    order = list(ORDINALS)
    rare = sorted((order.index(nth), weekday) for weekday, nth in days.of_week if nth != EVERY)
    if rare:
        names = [f"the {ORDINALS[order[index]]} {WEEKDAYS[weekday]}" for index, weekday in rare]
        parts.append(f"on {listed(names)} {_of(months)}")
    return listed(parts)


def _plain_weekdays(weekdays: set[int]) -> str:
    if len(weekdays) == len(WEEKDAYS) - 1:
        (missing,) = set(range(7)) - weekdays
        return f"every day but {WEEKDAYS[missing]}"
    if ends := _ends(weekdays, range(7)):
        return f"from {WEEKDAYS[ends[0]]} to {WEEKDAYS[ends[1]]}"
    return f"on {listed([f'{WEEKDAYS[weekday % 7]}s' for weekday in sorted((day or 7) for day in weekdays)])}"


def _within(months: frozenset[int]) -> str:
    if len(months) == len(MONTHS):
        return ""
    if ends := _ends(months, range(1, 13)):
        return f", from {MONTHS[ends[0] - 1]} to {MONTHS[ends[1] - 1]}"
    return f" in {_named(months)}"


def _of(months: frozenset[int]) -> str:
    if len(months) == len(MONTHS):
        return "of every month"
    if ends := _ends(months, range(1, 13)):
        return f"of each month from {MONTHS[ends[0] - 1]} to {MONTHS[ends[1] - 1]}"
    return f"of {_named(months)}"


def _named(months: frozenset[int]) -> str:
    return listed([MONTHS[month - 1] for month in sorted(months)])


def _ends(values: Collection[int], cycle: range) -> tuple[int, int] | None:
    """The first and the last of values that follow each other, also over the end of the week or of the year."""
    if len(values) < RANGE_FROM:
        return None
    for first in sorted(values):
        run = [cycle[(first - cycle[0] + place) % len(cycle)] for place in range(len(values))]
        if set(run) == set(values):
            return first, run[-1]
    return None


def _spans(values: list[int]) -> list[tuple[int, int]]:
    """The stretches of values without a hole, as first and last."""
    starts = [value for value in values if value - 1 not in values]
    return list(zip(starts, [value for value in values if value + 1 not in values], strict=True))


def _clock(time: timedelta) -> str:
    hours, minutes = divmod(time // UNITS["minute"], MINUTES_IN_AN_HOUR)
    return f"{hours:02}:{minutes:02}"


def _ranges(values: list[int], *, form: str = "{}") -> str:
    """`1 to 7 and 15` for [1, …, 7, 15]; `1, 3 and so on to 31` for the odd ones."""
    shown = [form.format(value) for value in values]
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(values) > TIMES_TO_LIST and len(steps) == 1 and steps != {1}:
        return f"{shown[0]}, {shown[1]} and so on to {shown[-1]}"
    parts: list[str] = []
    for first, last in _spans(values):
        if last - first + 1 >= RANGE_FROM:
            parts.append(f"{form.format(first)} to {form.format(last)}")
        else:
            parts += [form.format(value) for value in range(first, last + 1)]
    return listed(parts)
