"""Durations and instants as people type them, and as we write them back.

Whatever comes out is a timedelta or an aware datetime in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from once import errors

LONGEST = timedelta(days=36525)
"""A hundred years. Whatever is longer was mistyped, and would leave the range of datetime sooner or later."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

INSTANT = timedelta.resolution
"""The least time between two instants: `at - INSTANT` is the last one before `at`."""

MILLISECOND, SECOND = timedelta(milliseconds=1), timedelta(seconds=1)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

UNITS = {"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND}

DURATION = "".join(rf"(?:(?P<{unit}>[0-9]+(?:\.[0-9]+)?){unit} ?)?" for unit in UNITS)
BARE_SECONDS = r"[0-9]+(?:\.[0-9]+)?"
RFC3339 = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?P<time>[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))?"
)
UNIX_SECONDS = r"[0-9]{9,}(?:\.[0-9]+)?"
COMPACT_DATE = r"[0-9]{8}"
MONTH_BY_NAME = r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b"
ZONE_BY_OFFSET = r"(?i)(?:[+-][0-9]{2}:?[0-9]{2}|\b(?:utc|gmt))\b"
"""Compiled by their first use: most starts need one of them, or none."""


def unix_seconds(at: datetime) -> int:
    """The whole seconds from the Unix epoch to an instant: cheap where there are half a million slots."""
    return (at - EPOCH) // SECOND


def at_unix_seconds(seconds: int) -> datetime:
    """The instant so many seconds after the Unix epoch."""
    return EPOCH + timedelta(seconds=seconds)


def parse_duration(text: str) -> timedelta:
    """`90` (seconds), `90s`, `5m`, `1h30m`, `2d`, `1w`, `500ms`, largest unit first; up to a hundred years.

    Raises DurationInvalid.
    """
    typed = text.strip(" ")
    if typed.startswith("-"):
        raise errors.DurationInvalid(text=repr(text), why=": it is negative")
    if re.fullmatch(BARE_SECONDS, typed):
        amounts = {"s": typed}
    else:
        match = re.fullmatch(DURATION, typed)
        amounts = {unit: amount for unit, amount in match.groupdict().items() if amount} if match else {}
    if not amounts:
        raise errors.DurationInvalid(text=repr(text), why="" if typed else ": it is empty")
    try:
        duration = sum((UNITS[unit] * float(amount) for unit, amount in amounts.items()), timedelta())
    except OverflowError:
        duration = timedelta.max
    if duration > LONGEST:
        raise errors.DurationInvalid(text=repr(text), why=": it is more than a hundred years")
    return duration


def parse_instant(text: str, now: datetime) -> datetime:
    """An instant as an operator types or pastes it, in UTC.

    RFC 3339 with its offset (a date alone is midnight in UTC), Unix seconds (nine digits or more), a duration before
    `now`, or a date as mail and date(1) write it, with the month's name and an offset. A time without an offset is
    refused, since it would mean something else on each host; so are eight digits, which may be a date or seconds.

    Raises InstantInvalid.
    """
    typed = text.strip(" ")
    try:
        if match := re.fullmatch(RFC3339, typed):
            return datetime.fromisoformat(typed.upper() if match["time"] else f"{typed}T00:00Z").astimezone(UTC)
        if re.fullmatch(UNIX_SECONDS, typed):
            return datetime.fromtimestamp(float(typed), UTC)
        if re.search(MONTH_BY_NAME, typed) and re.search(ZONE_BY_OFFSET, typed):
            return _parse_pasted(typed).astimezone(UTC)
        if not re.fullmatch(COMPACT_DATE, typed):
            return (now - parse_duration(typed)).astimezone(UTC)
    except (ValueError, OverflowError, OSError, errors.DurationInvalid):
        pass
    raise errors.InstantInvalid(text=repr(text), why=": its offset from UTC is missing" if _is_naive(typed) else "")


def _is_naive(typed: str) -> bool:
    """Whether it is a date and a time without an offset from UTC."""
    try:
        return datetime.fromisoformat(typed).tzinfo is None and not typed.isdecimal()
    except ValueError:
        return False


def _parse_pasted(text: str) -> datetime:
    """`Sun, 29 Mar 2026 01:00:05 +0000` and its like.

    dateutil fills in what is missing; so it is asked twice, and whatever depends on the filling is refused.
    """
    from dateutil import parser

    first, second = (parser.parse(text, default=filling) for filling in FILLINGS)
    if first != second or first.tzinfo is None:
        raise ValueError(text)
    return first


FILLINGS = (datetime(2000, 1, 1), datetime(2004, 2, 2, 1, 1, 1))  # noqa: DTZ001 -- dateutil's defaults are naive
"""Two times for dateutil to take missing parts from; they have nothing in common."""


def rfc3339(at: datetime) -> str:
    """The instant in UTC, with `Z`, and with microseconds only if there are any."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def in_words(interval: timedelta) -> str:
    """The interval in the one or two units that matter: `850ms`, `12.3s`, `1h 30m`, `3d 4h`."""
    if interval < timedelta():
        return f"-{in_words(-interval)}"
    if not interval:
        return "0s"
    if interval < SECOND - MILLISECOND / 2:
        return f"{round(interval / MILLISECOND)}ms"
    tenths = round(interval / (SECOND / 10))
    return f"{tenths / 10:g}s" if tenths < MINUTE // (SECOND / 10) else _in_two_units(interval)


def _in_two_units(interval: timedelta) -> str:
    for large, small in (("d", "h"), ("h", "m"), ("m", "s")):
        whole = round(interval / UNITS[small])
        per_large = UNITS[large] // UNITS[small]
        if whole >= per_large:
            many, rest = divmod(whole, per_large)
            return f"{many}{large} {rest}{small}" if rest else f"{many}{large}"
    return "1m"
