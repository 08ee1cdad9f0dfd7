"""Which slot a start is for, and which instants are slots."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest

from once import errors
from once.run import Line, Slot
from once.schedule import Schedule
from once.schedule.stretches import stretches_of

FRIDAYS = Schedule.parse("0 17 * * 5", "UTC")
THIS_FRIDAY = datetime(2025, 6, 6, 17, tzinfo=UTC)
LAST_FRIDAY = THIS_FRIDAY - timedelta(days=7)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, THIS_FRIDAY),
        (0.000001, THIS_FRIDAY),
        (50, THIS_FRIDAY),
        (86400, THIS_FRIDAY),
        (-0.000001, THIS_FRIDAY),
        (-0.8, THIS_FRIDAY),
        (-5, THIS_FRIDAY),
        (-5.000001, LAST_FRIDAY),
        (-60, LAST_FRIDAY),
    ],
)
def test_a_start_is_for_the_latest_slot_or_for_one_at_most_five_seconds_away(seconds, expected):
    """Exactly on the boundary and a moment early it is this week's, not last week's."""
    actual = FRIDAYS.slot_for(THIS_FRIDAY + timedelta(seconds=seconds)).at

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "seconds", "expected"),
    [
        ("* * * * *", -5, 0),
        ("* * * * *", -5.1, -60),
        ("*/5 * * * *", -8, -300),
        ("*/5 * * * *", -4, 0),
        ("@every 4s", -1, 0),
        ("@every 4s", -1.1, -4),
        ("@every 20s", -5, 0),
    ],
)
def test_a_quarter_of_the_distance_is_the_most_that_a_start_may_be_early(expression, seconds, expected):
    """So a start in the middle is never rounded to the next slot."""
    boundary = datetime(2025, 6, 6, 17, tzinfo=UTC)

    actual = Schedule.parse(expression, "UTC").slot_for(boundary + timedelta(seconds=seconds)).at - boundary

    assert actual == timedelta(seconds=expected)


def test_two_hosts_around_the_boundary_have_the_same_slot():
    """16:59:59.7 here and 17:00:00.2 there."""
    starts = [THIS_FRIDAY - timedelta(milliseconds=300), THIS_FRIDAY + timedelta(milliseconds=200)]

    actual = {FRIDAYS.slot_for(start) for start in starts}

    assert actual == {Slot(THIS_FRIDAY, "2025-06-06T17:00", 0)}


def test_a_start_long_after_its_slot_is_still_for_it():
    """A Job that should have started at 11:05 and came the next morning is for yesterday's slot."""
    daily = Schedule.parse("5 11 * * *", "UTC")

    actual = daily.slot_for(datetime(2025, 6, 6, 7, 51, tzinfo=UTC)).at

    assert actual == datetime(2025, 6, 5, 11, 5, tzinfo=UTC)


def test_a_slot_carries_its_local_time_and_fold():
    """Two hosts whose zone data differ are noticed by them."""
    berlin = Schedule.parse("30 17 * * 5", "Europe/Berlin")

    actual = berlin.slot_for(datetime(2025, 6, 6, 16, tzinfo=UTC))

    assert actual == Slot(datetime(2025, 6, 6, 15, 30, tzinfo=UTC), "2025-06-06T17:30", 0)


def test_the_nearest_slots_are_the_latest_reached_and_the_coming_one():
    """At the instant of a slot it is the latest."""
    actual = [FRIDAYS.nearest(THIS_FRIDAY), FRIDAYS.nearest(THIS_FRIDAY - timedelta(microseconds=1))]

    assert actual == [(THIS_FRIDAY, THIS_FRIDAY + timedelta(days=7)), (LAST_FRIDAY, THIS_FRIDAY)]


def test_after_and_before_leave_the_instant_itself_out_and_between_its_end():
    """Strictly after, strictly before, start ≤ slot < end."""
    actual = [
        next(FRIDAYS.after(THIS_FRIDAY)),
        next(FRIDAYS.before(THIS_FRIDAY)),
        list(FRIDAYS.between(LAST_FRIDAY, THIS_FRIDAY)),
    ]

    assert actual == [THIS_FRIDAY + timedelta(days=7), LAST_FRIDAY, [LAST_FRIDAY]]


def test_instants_of_another_zone_are_the_same_instants():
    """Whatever zone an aware datetime is in, slots come in UTC."""
    somewhere = timezone(timedelta(hours=-7))

    actual = next(FRIDAYS.after(THIS_FRIDAY.astimezone(somewhere) - timedelta(hours=1)))

    assert (actual, actual.tzinfo) == (THIS_FRIDAY, UTC)


def test_an_instant_of_the_schedule_is_its_slot_and_no_other_is():
    """What --slot is held against."""
    actual = [FRIDAYS.slot_at(THIS_FRIDAY), FRIDAYS.slot_at(THIS_FRIDAY + timedelta(seconds=1))]

    assert actual == [Slot(THIS_FRIDAY, "2025-06-06T17:00", 0), None]


def test_the_refusal_of_a_given_slot_names_the_two_nearest():
    """An operator sees at once what was meant."""
    with pytest.raises(errors.SlotInvalid) as refusal:
        FRIDAYS.require(datetime(2025, 6, 4, 12, tzinfo=UTC))

    assert str(refusal.value) == (
        "2025-06-04T12:00:00Z is not a slot of '0 17 * * 5' in UTC;"
        " the nearest are 2025-05-30T17:00:00Z and 2025-06-06T17:00:00Z"
    )


def test_a_given_slot_of_the_schedule_is_taken():
    """The word of an operator, or of a Job's name."""
    actual = FRIDAYS.require(THIS_FRIDAY).at

    assert actual == THIS_FRIDAY


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 17 * * 5", timedelta(minutes=5)),
        ("*/10 * * * *", timedelta(minutes=5)),
        ("*/5 * * * *", timedelta(minutes=2, seconds=30)),
        ("* * * * *", timedelta(minutes=1)),
        ("@every 10s", timedelta(minutes=1)),
    ],
)
def test_a_first_start_is_on_time_within_five_minutes_half_the_distance_or_a_minute(expression, expected):
    """Else pasting a line by hand on Monday would send Friday's report."""
    actual = Schedule.parse(expression, "UTC").on_time(THIS_FRIDAY)

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "on_time", "expected"),
    [
        ("0 17 * * 5", True, LAST_FRIDAY - timedelta(minutes=1)),
        ("0 17 * * 5", False, THIS_FRIDAY - timedelta(minutes=1)),
        ("* * * * *", True, THIS_FRIDAY - timedelta(seconds=90)),
        ("* * * * *", False, THIS_FRIDAY - timedelta(seconds=30)),
        ("0 9,17 * * *", True, THIS_FRIDAY - timedelta(hours=8, minutes=1)),
    ],
)
def test_a_schedule_is_unbroken_since_the_slot_before_or_for_a_late_start_since_its_own(expression, on_time, expected):
    """Half the distance early, a minute at most: so far may a host's clock be ahead of the store's."""
    actual = Schedule.parse(expression, "UTC").unbroken_since(THIS_FRIDAY, on_time=on_time)

    assert actual == expected


def test_a_schedule_is_known_by_its_line():
    """Stored and read back it is the same; the engine is part of it."""
    line = Line("30 2 * * *", "Europe/Berlin", "kubernetes")

    actual = Schedule.of(line)

    assert (actual.line, actual == Schedule.parse("30 2 * * *", "Europe/Berlin")) == (line, False)


def test_a_leap_day_on_a_sunday_is_found_forty_years_away_within_bounded_work():
    """Of the zone no more is looked at than the two years that have such a day."""
    stretches_of.cache_clear()
    leap_sundays = Schedule.parse("0 9 29 2 */7", "America/New_York")

    actual = next(leap_sundays.after(datetime(2088, 3, 1, tzinfo=UTC)))

    assert actual == datetime(2128, 2, 29, 14, tzinfo=UTC)
    assert stretches_of.cache_info().misses == 2


def test_a_year_of_minutes_is_listed_whole_both_ways():
    """Half a million slots, each once."""
    minutely = Schedule.parse("* * * * *", "Europe/Berlin")
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)

    forwards = list(minutely.between(start, end))
    backwards = list(islice(minutely.before(end), len(forwards)))

    assert (len(forwards), len(set(forwards))) == (525_600, 525_600)
    assert backwards[::-1] == forwards


@pytest.mark.parametrize("year", [1, 2, 9998, 9999])
def test_at_the_ends_of_the_calendar_there_are_no_slots_and_no_traceback(year):
    """Whoever types the year 9999 gets one line."""
    with pytest.raises(errors.InstantInvalid):
        FRIDAYS.slot_for(datetime(year, 6, 1, tzinfo=UTC))
