"""Mixed schedules: lines in use at once, not lines one after the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from once.reports.due import InForce
from once.reports.mixed import Mixed, mixed
from once.run import Line

EARLY, LATE = Line("0 11 * * 5", "UTC"), Line("30 11 * * 5", "UTC")


def at(hours: float) -> datetime:
    """So many hours before or after noon."""
    return datetime(2026, 11, 27, 12, tzinfo=UTC) + timedelta(hours=hours)


def seen(line: Line, first: float, last: float) -> InForce:
    return InForce("report", line, at(first), at(last))


def told(*intervals: InForce, since: float = -99, until: float = 99) -> list[Mixed]:
    return list(mixed(intervals, at(since), at(until)))


def test_two_lines_in_use_at_once_are_told() -> None:
    """From when the second was seen to when either was seen last, however their intervals are given."""
    old, new = seen(EARLY, -9, 0), seen(LATE, -4, 5)

    assert told(old, new) == told(new, old) == [Mixed("report", (EARLY, LATE), at(-4), at(0))]
    assert told(old, seen(LATE, -4, -4)) == [Mixed("report", (EARLY, LATE), at(-4), at(-4))]


def test_an_edit_is_none_nor_is_one_that_was_taken_back() -> None:
    """One line after the other, and a line with two intervals of its own."""
    assert told(seen(EARLY, -9, -5), seen(LATE, -4, -3), seen(EARLY, -2, 0)) == []
    assert told(seen(EARLY, -9, 0), seen(EARLY, -5, 2)) == []


def test_only_what_lies_in_the_period_is_told() -> None:
    """What was mended before is no news."""
    both = (seen(EARLY, -9, -2), seen(LATE, -4, 5))

    assert told(*both, since=-1) == []
    assert told(*both, until=-4) == []
    assert len(told(*both, since=-3, until=-2.5)) == 1


def test_two_lines_are_told_once_from_the_first_time_to_the_last() -> None:
    """A host that was switched off for a while comes back with the old line."""
    found = told(seen(EARLY, -9, 9), seen(LATE, -6, -5), seen(LATE, 1, 2))

    assert found == [Mixed("report", (EARLY, LATE), at(-6), at(2))]
