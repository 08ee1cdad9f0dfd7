"""One field of an expression: numbers, names, lists, ranges, steps, `L` and `#`, and what is wrong with them.

What Debian's cron and cronie read (crontab(5)), and besides `N/step`, which runs to the end of the field, `?` for
`*`, `L` for the last day, `5#2`, `5L` and `L5` for the second and the last Friday.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from once.noun import Noun
from once.schedule.pattern import EVERY, LAST

ITEM = r"(?P<low>\*|[0-9]+|[A-Za-z]+)(?:-(?P<high>[0-9]+|[A-Za-z]+))?(?:/(?P<step>[0-9]+))?"
NTH = r"(?P<day>[0-9]+|[A-Za-z]{3})#(?P<nth>[1-5])"
LAST_WEEKDAY = r"[Ll](?P<before>[0-9]+|[A-Za-z]{3})|(?P<after>[0-9]+|[A-Za-z]{3})[Ll]"
RANDOM = r"(?P<letter>[HRhr])(?:\(.*\))?(?:/.*)?"
NEAREST_WORKDAY = r"(?:[0-9]+|[Ll])[Ww]"
"""Compiled by their first use: most starts need the first one alone."""


class Unreadable(ValueError):
    """A field that is refused: why, and what to write instead."""

    def __init__(self, why: str, repair: str) -> None:
        super().__init__(why, repair)
        self.why = why
        self.repair = repair


class Field(Noun):
    """One of the five fields. `last_step` is where `N/step` ends: Saturday, not 7, as where `N/step` comes from."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    last_step: int = 0

    def named(self, text: str) -> int | None:
        """The value of a three-letter name, in whatever case."""
        return self.names.index(text.upper()) + self.low if text.upper() in self.names else None


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

MINUTE = Field("minute", 0, 59, last_step=59)
HOUR = Field("hour", 0, 23, last_step=23)
DAY_OF_MONTH = Field("day-of-month", 1, 31, last_step=31)
MONTH = Field("month", 1, 12, MONTHS, last_step=12)
DAY_OF_WEEK = Field("day-of-week", 0, 7, WEEKDAYS, last_step=6)

FIELDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


def begins_with_star(text: str) -> bool:
    """Debian's rule: the first character decides, so `*/2` and `*,1` count as a star, `1,*` does not."""
    return text.startswith(("*", "?"))


def holds_star(text: str) -> bool:
    """The Kubernetes controller's rule: any item that is a star without a step above 1 (robfig/cron v3, parser.go)."""
    return any(re.fullmatch(r"[*?](?:/0*1)?", item) for item in text.split(","))


def numbers(field: Field, text: str) -> frozenset[int]:
    """The values of a field of plain numbers. Raises Unreadable."""
    return frozenset(value for item in _items(field, text) for value in _range(field, item))


def days_of_month(text: str) -> frozenset[int]:
    """1 to 31, and LAST for `L`. Raises Unreadable."""
    items = _items(DAY_OF_MONTH, text)
    return frozenset(
        value for item in items for value in ((LAST,) if item.upper() == "L" else _range(DAY_OF_MONTH, item))
    )


def days_of_week(text: str) -> frozenset[tuple[int, int]]:
    """Pairs of a weekday, Sunday 0, and EVERY, 1 to 5, or LAST. Raises Unreadable."""
    return frozenset(pair for item in _items(DAY_OF_WEEK, text) for pair in _weekdays(item))


def _weekdays(item: str) -> Iterator[tuple[int, int]]:
    if "#" in item and (match := re.fullmatch(NTH, item)):
        yield _value(DAY_OF_WEEK, match["day"], item) % 7, int(match["nth"])
    elif "L" in item.upper() and (match := re.fullmatch(LAST_WEEKDAY, item)):
        yield _value(DAY_OF_WEEK, match["before"] or match["after"], item) % 7, LAST
    else:
        for value in _range(DAY_OF_WEEK, item):
            yield value % 7, EVERY


def _items(field: Field, text: str) -> list[str]:
    items = text.split(",")
    if "" in items:
        raise Unreadable(f"{field.name}: nothing beside a ','", ",".join(filter(None, items)) or "*")
    return items


def _range(field: Field, item: str) -> range:
    match = re.fullmatch(ITEM, item.replace("?", "*"))
    if not match or (match["low"] == "*" and match["high"]):
        raise _not_readable(field, item)
    step = int(match["step"] or 1)
    if step == 0:
        raise Unreadable(f"{field.name}: {item} has a step of 0", item.replace(f"/{match['step']}", "/1"))
    if match["low"] == "*":
        return range(field.low, field.high + 1, step)
    low = _value(field, match["low"], item)
    high = _value(field, match["high"], item) if match["high"] else low
    if match["step"] and not match["high"]:
        high = max(low, field.last_step)
    if low > high:
        raise Unreadable(f"{field.name}: {item} runs backwards", _wrapped(field, low, high, step))
    return range(low, high + 1, step)


def _value(field: Field, text: str, item: str) -> int:
    value = int(text) if text.isdigit() else field.named(text)
    if value is None:
        raise _not_readable(field, item)
    if not field.low <= value <= field.high:
        repair = f"{field.low} to {field.high}"
        if field in (MINUTE, HOUR) and value == field.high + 1:
            repair = "0"
        raise Unreadable(f"{field.name}: {value} is out of range {field.low}-{field.high}", repair)
    return value


def _wrapped(field: Field, low: int, high: int, step: int) -> str:
    """How to write a range that was meant to run over the end of the field."""
    if field is DAY_OF_WEEK and high == 0 and step == 1:
        return f"{low}-7"
    if field is DAY_OF_WEEK:
        low %= 7
    last = 6 if field is DAY_OF_WEEK else field.high
    if low <= high:
        return f"{low}-{high}" if step == 1 else f"{low}-{high}/{step}"
    if step == 1:
        return ",".join(f"{a}-{b}" if a < b else f"{a}" for a, b in ((low, last), (field.low, high)))
    values = [*range(low, last + 1), *range(field.low, high + 1)]
    return ",".join(str(value) for value in values[::step])


def _not_readable(field: Field, item: str) -> Unreadable:
    if match := re.fullmatch(RANDOM, item):
        letter = match["letter"].upper()
        meaning = "is Jenkins's, a hash" if letter == "H" else "is random, so each host would have slots of its own"
        return Unreadable(f"{field.name}: {letter} {meaning}", "a number")
    if re.fullmatch(NEAREST_WORKDAY, item):
        return Unreadable(
            f"{field.name}: W, the nearest working day, is Quartz's", "a day, or test the date in the job"
        )
    if (name := item[:3].upper()) in field.names and len(item) > len(name) and item.isalpha():
        return Unreadable(f"{field.name}: {item} is no name", name)
    what = f"{field.low} to {field.high}" + (f" or {field.names[0]} to {field.names[-1]}" if field.names else "")
    return Unreadable(f"{field.name}: cannot read {item}", f"{what}, as 1,5 or 1-5 or */2")
