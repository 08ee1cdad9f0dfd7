"""What the nights of the clock change do to a schedule.

The table for Berlin is what Debian's daemon did when its clock was played through both nights; the other zones
follow the same rule.
"""

from datetime import UTC, datetime, timedelta
from itertools import takewhile

import pytest

from once.schedule import Schedule


def slots(expression, zone, first, last, **engine):
    """The slots from first up to last, both `month-day hour:minute` in UTC of a year, as hours and minutes."""
    start, end = (datetime.fromisoformat(f"{text}Z") for text in (first, last))
    schedule = Schedule.parse(expression, zone, **engine)
    forwards = list(schedule.between(start, end))
    backwards = list(takewhile(lambda slot: slot >= start, schedule.before(end)))

    assert backwards[::-1] == forwards
    return [f"{slot:%H:%M}" for slot in forwards]


# The night of 2026-10-25 in Berlin: the clock goes back at 01:00Z.
#
#   UTC     23:00 ... 00:00 ... 01:00 ... 02:00 ... 03:00
#   Berlin  01:00 ... 02:00 ... 02:00 ... 03:00 ... 04:00
BERLIN_AUTUMN = ("2026-10-24T23:00", "2026-10-25T03:30")

# The night of 2026-03-29 in Berlin: the clock goes forward at 01:00Z.
#
#   UTC     00:00 ... 01:00 ... 02:00 ... 03:00
#   Berlin  01:00 ... 03:00 ... 04:00 ... 05:00
BERLIN_SPRING = ("2026-03-29T00:00", "2026-03-29T04:30")


@pytest.mark.parametrize(
    ("expression", "autumn", "spring"),
    [
        ("30 2 * * *", ["00:30"], ["01:00"]),
        ("10,30 2 * * *", ["00:10", "00:30"], ["01:00"]),
        ("5 1-3 * * *", ["23:05", "00:05", "02:05"], ["00:05", "01:00", "01:05"]),
        (
            "*/30 * * * *",
            ["23:00", "23:30", "00:00", "00:30", "01:00", "01:30", "02:00", "02:30", "03:00"],
            ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30", "03:00", "03:30", "04:00"],
        ),
        ("0 */2 * * *", ["00:00", "01:00", "03:00"], ["02:00", "04:00"]),
        ("*/20 2 * * *", ["00:00", "00:20", "00:40", "01:00", "01:20", "01:40"], []),
        (
            "15 * * * *",
            ["23:15", "00:15", "01:15", "02:15", "03:15"],
            ["00:15", "01:15", "02:15", "03:15", "04:15"],
        ),
        ("0 3 * * *", ["02:00"], ["01:00"]),
    ],
)
def test_berlin_is_as_debians_cron_plays_it(expression, autumn, spring):
    """A fixed time once, at the end of the gap or the first time round; a star in minute or hour in real time."""
    actual = slots(expression, "Europe/Berlin", *BERLIN_AUTUMN), slots(expression, "Europe/Berlin", *BERLIN_SPRING)

    assert actual == (autumn, spring)


@pytest.mark.parametrize(
    ("expression", "autumn", "spring"),
    [
        ("30 2 * * *", ["00:30"], []),
        ("0 3 * * *", ["02:00"], ["01:00"]),
        ("5 1-3 * * *", ["23:05", "00:05", "02:05"], ["00:05", "01:05"]),
        ("0 */2 * * *", ["00:00", "01:00", "03:00"], ["02:00", "04:00"]),
        ("*/20 2 * * *", ["00:00", "00:20", "00:40", "01:00", "01:20", "01:40"], []),
    ],
)
def test_under_kubernetes_nothing_is_due_in_a_gap(expression, autumn, spring):
    """The controller makes no Job there, so no slot is missed (SpecSchedule.Next of robfig/cron v3)."""
    nights = (BERLIN_AUTUMN, BERLIN_SPRING)

    actual = tuple(slots(expression, "Europe/Berlin", *night, engine="kubernetes") for night in nights)

    assert actual == (autumn, spring)


@pytest.mark.parametrize(
    ("zone", "expression", "first", "last", "expected"),
    [
        ("America/New_York", "30 1 * * *", "2025-11-02T05:00", "2025-11-02T08:00", ["05:30"]),
        ("America/Sao_Paulo", "30 23 * * *", "2019-02-17T01:00", "2019-02-17T04:00", ["01:30"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2025-04-05T14:30", "2025-04-05T16:00", ["14:45"]),
        ("Africa/Casablanca", "30 2 * * *", "2025-02-23T01:00", "2025-02-23T03:00", ["01:30"]),
        ("Africa/Cairo", "30 23 * * *", "2025-10-30T20:00", "2025-10-30T22:30", ["20:30"]),
        # at 00:01 the clock went back to 23:01: the first minute of the new day comes first, and only once
        ("America/St_Johns", "0 0 * * *", "2006-10-29T02:00", "2006-10-29T05:00", ["02:30"]),
        ("America/St_Johns", "30 23 * * *", "2006-10-29T01:30", "2006-10-29T05:00", ["02:00"]),
    ],
)
def test_a_fixed_time_in_a_repeated_hour_is_one_slot(zone, expression, first, last, expected):
    """The first pass, whether the change is an hour or less, at two or at midnight."""
    actual = slots(expression, zone, first, last)

    assert actual == expected


@pytest.mark.parametrize(
    ("zone", "expression", "first", "last", "expected"),
    [
        # the four quarters of both passes, and both full hours
        (
            "America/New_York",
            "*/15 * * * *",
            "2025-11-02T05:00",
            "2025-11-02T07:00",
            ["05:00", "05:15", "05:30", "05:45", "06:00", "06:15", "06:30", "06:45"],
        ),
        ("America/New_York", "0 * * * *", "2025-11-02T05:00", "2025-11-02T07:00", ["05:00", "06:00"]),
        (
            "Australia/Lord_Howe",
            "*/15 1 * * *",
            "2025-04-05T14:30",
            "2025-04-05T15:30",
            ["14:30", "14:45", "15:00", "15:15"],
        ),
        ("America/St_Johns", "0 */1 * * *", "2006-10-29T02:00", "2006-10-29T04:00", ["02:30", "03:30"]),
    ],
)
def test_an_interval_job_keeps_running_in_the_repeated_hour(zone, expression, first, last, expected):
    """The opposite error: an hour of silence every autumn."""
    actual = slots(expression, zone, first, last)

    assert actual == expected


@pytest.mark.parametrize(
    ("zone", "expression", "first", "last", "expected"),
    [
        ("Europe/Berlin", "30 2 * * *", "2025-03-30T00:00", "2025-03-30T06:00", ["01:00"]),
        ("America/New_York", "30 2 * * *", "2025-03-09T06:00", "2025-03-09T12:00", ["07:00"]),
        ("Africa/Casablanca", "30 2 * * *", "2025-04-06T00:00", "2025-04-06T06:00", ["02:00"]),
        ("Africa/Cairo", "30 0 * * *", "2025-04-24T20:00", "2025-04-25T03:00", ["22:00"]),
        ("America/Sao_Paulo", "0 0 * * *", "2018-11-04T00:00", "2018-11-04T12:00", ["03:00"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2025-10-04T12:00", "2025-10-04T20:00", ["15:30"]),
        ("Antarctica/Troll", "30 1 * * *", "2025-03-30T00:00", "2025-03-30T06:00", ["01:00"]),
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-29T00:00", "2012-01-03T00:00", ["10:00"]),
    ],
)
def test_a_fixed_time_in_a_gap_runs_at_its_end(zone, expression, first, last, expected):
    """The first instant after it, once, be the gap half an hour, two hours or a whole day."""
    actual = slots(expression, zone, first, last)

    assert actual == expected


@pytest.mark.parametrize(
    ("zone", "expression", "first", "last", "expected"),
    [
        ("Europe/Berlin", "0 */2 * * *", "2025-03-29T22:00", "2025-03-30T03:00", ["23:00", "02:00"]),
        ("Europe/Berlin", "*/15 2 * * *", "2025-03-29T22:00", "2025-03-30T03:00", []),
        ("America/Sao_Paulo", "*/30 0 * * *", "2018-11-04T00:00", "2018-11-04T12:00", []),
        ("Antarctica/Troll", "0 */2 * * *", "2025-03-30T00:00", "2025-03-30T05:00", ["00:00", "02:00", "04:00"]),
    ],
)
def test_nothing_is_made_up_for_an_interval_job_in_a_gap(zone, expression, first, last, expected):
    """Nothing starts at 03:00 for `0 */2`, so a slot there would be a gap in the report."""
    actual = slots(expression, zone, first, last)

    assert actual == expected


def test_the_second_pass_has_slots_of_its_own():
    """A start in the second pass is for the second pass: no arithmetic on zoned times loses it."""
    schedule = Schedule.parse("*/15 * * * *", "Europe/Berlin")
    first = datetime(2025, 10, 26, 1, 0, 5, tzinfo=UTC)

    actual = [schedule.slot_for(first + timedelta(minutes=minutes)) for minutes in (0, 15, 30, 45)]

    assert [f"{slot.at:%H:%M}" for slot in actual] == ["01:00", "01:15", "01:30", "01:45"]
    assert [(slot.local[-5:], slot.fold) for slot in actual] == [("02:00", 1), ("02:15", 1), ("02:30", 1), ("02:45", 1)]


def test_both_passes_of_a_local_time_are_two_slots():
    """In the zone they compare equal, so identity and order are kept in UTC."""
    schedule = Schedule.parse("30 * * * *", "Europe/Berlin")

    passes = {schedule.slot_for(datetime(2025, 10, 26, hour, 31, tzinfo=UTC)) for hour in (0, 1)}

    assert {(slot.at.hour, slot.local, slot.fold) for slot in passes} == {
        (0, "2025-10-26T02:30", 0),
        (1, "2025-10-26T02:30", 1),
    }


def test_a_second_start_in_the_repeated_hour_meets_the_first_ones_slot():
    """A fixed time does not fire again; whoever does finds it claimed."""
    schedule = Schedule.parse("30 2 * * *", "Europe/Berlin")
    starts = [datetime(2025, 10, 26, hour, 30, 5, tzinfo=UTC) for hour in (0, 1)]

    actual = {schedule.slot_for(start).at for start in starts}

    assert actual == {datetime(2025, 10, 26, 0, 30, tzinfo=UTC)}


def test_the_catch_up_start_after_a_gap_is_not_taken_for_yesterdays():
    """At 03:00:05 the slot is the end of the gap, and its local time says 03:00."""
    actual = Schedule.parse("30 2 * * *", "Europe/Berlin").slot_for(datetime(2025, 3, 30, 1, 0, 5, tzinfo=UTC))

    assert (actual.at, actual.local) == (datetime(2025, 3, 30, 1, tzinfo=UTC), "2025-03-30T03:00")


def test_an_interval_start_after_a_gap_is_for_the_slot_before_it():
    """At 03:30 the latest slot of `0 */2` is midnight's."""
    actual = Schedule.parse("0 */2 * * *", "Europe/Berlin").slot_for(datetime(2025, 3, 30, 1, 30, tzinfo=UTC))

    assert actual.at == datetime(2025, 3, 29, 23, tzinfo=UTC)
