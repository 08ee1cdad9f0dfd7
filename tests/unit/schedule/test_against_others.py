"""The same questions put to cronsim and to croniter, where they are right; where they are not stands here, by name.

Debian's daemon settles it: see the table of nights in test_clock_changes, and the model of its loop in
test_properties.
"""

import re
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, given
from hypothesis import strategies as st

from once import errors
from once.schedule import Schedule
from once.schedule.stretches import changes_of
from tests.unit.schedule.strategies import expressions, instants, places, zones

WINDOW = timedelta(days=3)
HOUR = timedelta(hours=1)
MOST = 300
ONE_VALUE_RANGE = re.compile(r"\b(\d+)-\1\b")
ONE_VALUE_RANGE_WITH_STEP = re.compile(r"\b(\d+)-\1/")
STAR_IN_LIST = re.compile(r",\*|\*.*,")


def cronsim_errs_on(expression, change, at):
    """Why cronsim 2.8 cannot be asked about this change of the clocks, if so."""
    if ONE_VALUE_RANGE_WITH_STEP.search(expression.text):
        return "reads N-N/step as N/step"
    if change and abs(change.after - change.before) != HOUR:
        return "loses slots at changes that are not an hour"
    if change and change.skips and change.clock_stopped_at.hour == 0:
        return "loses the day whose midnight is left out"
    if change and not change.skips and change.at - HOUR <= at <= change.at + HOUR:
        return "asked in the repeated hour it answers with the past"
    return None


def croniter_errs_on(expression):
    """Why croniter 7.0 cannot be asked about this expression, if so."""
    if ONE_VALUE_RANGE.search(expression.text):
        return "reads N-N as the whole field"
    if any(STAR_IN_LIST.search(field.text) for field in (expression.day, expression.weekday)):
        return "reads a list that holds a star as a star"
    return None


def changes_around(zone, at):
    """The changes that a window from this instant may feel."""
    years = range(at.year - 1, at.year + 2)
    changes = (change for year in years for change in changes_of(zone, year))
    return [change for change in changes if at - WINDOW < change.at < at + 2 * WINDOW]


def ours(expression, zone, at):
    """Our slots after this instant, as many as are compared."""
    try:
        schedule = Schedule.parse(expression.text, zone)
    except errors.ScheduleInvalid as refusal:
        assume("never matches" not in refusal.message)
        raise
    return compared(schedule.after(at), at)


def compared(slots, at):
    """Those of the window, and not too many."""
    return list(islice(takewhile(lambda slot: slot < at + WINDOW, slots), MOST))


@given(expressions, places)
def test_cronsim_gives_the_same_slots(expression, place):
    """Through clock changes too, in the zones and the nights that it knows."""
    zone, at = place
    change = next(iter(changes_around(zone, at)), None)
    assume(not cronsim_errs_on(expression, change, at))

    actual = ours(expression, zone, at)
    theirs = (slot.astimezone(UTC) for slot in CronSim(expression.text, at.astimezone(ZoneInfo(zone))))

    assert actual == compared(theirs, at)


@given(expressions, st.tuples(zones, instants))
def test_croniter_gives_the_same_slots_on_days_without_a_clock_change(expression, place):
    """With its flag for the star in day fields; on the others it makes slots up, and doubles them."""
    zone, at = place
    assume(not croniter_errs_on(expression))
    assume(not changes_around(zone, at))

    actual = ours(expression, zone, at)
    theirs = croniter(expression.text, at.astimezone(ZoneInfo(zone)), implement_cron_bug=True)

    assert actual == [theirs.get_next(datetime).astimezone(UTC) for _ in actual]


@pytest.mark.parametrize(
    ("expression", "zone", "at"),
    [
        ("0 9-9 * * *", "UTC", "2025-06-02T08:30Z"),  # the whole field
        ("0 9 1,* * 2", "UTC", "2025-06-02T08:30Z"),  # a plain star
        ("30 2 * * *", "Europe/Berlin", "2025-10-26T00:30Z"),  # the second pass once more
        ("0 */2 * * *", "Europe/Berlin", "2025-03-30T00:30Z"),  # a slot at the end of the gap
    ],
)
def test_where_croniter_differs_it_still_does(expression, zone, at):
    """The day that this fails, an exception above can go, and its reason in the package's docstring."""
    start = datetime.fromisoformat(at)
    theirs = croniter(expression, start.astimezone(ZoneInfo(zone)), implement_cron_bug=True)

    actual = list(islice(Schedule.parse(expression, zone).after(start), 2))

    assert actual != [theirs.get_next(datetime).astimezone(UTC) for _ in range(2)]
