"""Which expressions are read, how, and why others are refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from once import errors
from once.schedule import Schedule
from once.schedule.slots import BEGINNING, END

MONDAY = datetime(2025, 6, 2, 8, 30, tzinfo=UTC)


def slots(expression, count=4, **engine):
    """The next slots in UTC, as month-day and time."""
    schedule = Schedule.parse(expression, "UTC", **engine)
    return [f"{slot:%m-%d %H:%M}" for slot in islice(schedule.after(MONDAY), count)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", ["06-02 08:31", "06-02 08:32", "06-02 08:33"]),
        ("0 17 * * 5", ["06-06 17:00", "06-13 17:00", "06-20 17:00"]),
        ("10,40 9 * * *", ["06-02 09:10", "06-02 09:40", "06-03 09:10"]),
        ("0 9-11/2 * * *", ["06-02 09:00", "06-02 11:00", "06-03 09:00"]),
        ("05 09 * * *", ["06-02 09:05", "06-03 09:05", "06-04 09:05"]),
        ("0 9 1 jan,Feb,MAR *", ["01-01 09:00", "02-01 09:00", "03-01 09:00"]),
        ("0 9 * * mon", ["06-02 09:00", "06-09 09:00", "06-16 09:00"]),
        ("0 9 * * 0", ["06-08 09:00", "06-15 09:00", "06-22 09:00"]),
        ("0 9 * * 7", ["06-08 09:00", "06-15 09:00", "06-22 09:00"]),
        ("0 9 * * 1-7", ["06-02 09:00", "06-03 09:00", "06-04 09:00"]),
        ("0 9 * * 6-7", ["06-07 09:00", "06-08 09:00", "06-14 09:00"]),
        ("0 9 * * SUN-MON", ["06-02 09:00", "06-08 09:00", "06-09 09:00"]),
        ("0 9 * * */7", ["06-08 09:00", "06-15 09:00", "06-22 09:00"]),
        ("0 9 */100 * *", ["07-01 09:00", "08-01 09:00", "09-01 09:00"]),
        ("\t0  9\t* * *  ", ["06-02 09:00", "06-03 09:00", "06-04 09:00"]),
    ],
)
def test_five_fields_are_read_as_cron_reads_them(expression, expected):
    """Lists, ranges, steps, names in any case, 0 and 7 for Sunday, leading zeros, blanks and tabs."""
    actual = slots(expression, 3)

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 9-9 * * *", ["06-02 09:00", "06-03 09:00"]),
        ("5-5 * * * *", ["06-02 09:05", "06-02 10:05"]),
        ("0 9 1-1 * *", ["07-01 09:00", "08-01 09:00"]),
        ("0 9 * * 5-5", ["06-06 09:00", "06-13 09:00"]),
        ("0 9 * * 7-7", ["06-08 09:00", "06-15 09:00"]),
        ("0 9 * 7-7 *", ["07-01 09:00", "07-02 09:00"]),
        ("0 9 * * MON-MON", ["06-02 09:00", "06-09 09:00"]),
    ],
)
def test_a_range_of_one_value_is_that_value(expression, expected):
    """`9-9` is 9, not the whole field: form builders write such ranges."""
    actual = slots(expression, 2)

    assert actual == expected


def test_a_start_late_in_the_day_of_a_one_value_range_is_for_that_value():
    """At 14:10 the slot of `0 9-9 * * *` is nine o'clock."""
    actual = Schedule.parse("0 9-9 * * *", "UTC").slot_for(datetime(2025, 6, 2, 14, 10, tzinfo=UTC)).local

    assert actual == "2025-06-02T09:00"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # begins with a star: both must match
        ("0 9 */2 * 1", ["06-09", "06-23", "07-07", "07-21"]),
        ("0 9 */1 * 1", ["06-02", "06-09", "06-16", "06-23"]),
        ("0 9 *,1 * 2", ["06-03", "06-10", "06-17", "06-24"]),
        ("0 9 15 * */1", ["06-15", "07-15", "08-15", "09-15"]),
        ("0 9 15 * *,1", ["06-15", "07-15", "08-15", "09-15"]),
        ("0 9 1-7 * */7", ["07-06", "08-03", "09-07", "10-05"]),
        ("0 9 */100,1-7 * MON", ["06-02", "07-07", "08-04", "09-01"]),
        ("0 9 ? * MON", ["06-02", "06-09", "06-16", "06-23"]),
        ("0 9 15 * ?", ["06-15", "07-15", "08-15", "09-15"]),
        # does not: either will do
        ("0 9 15 * 1", ["06-02", "06-09", "06-15", "06-16"]),
        ("0 9 1-31 * 1", ["06-02", "06-03", "06-04", "06-05"]),
        ("0 9 1-31/2 * 1", ["06-02", "06-03", "06-05", "06-07"]),
        ("0 9 1,* * 2", ["06-02", "06-03", "06-04", "06-05"]),
        ("0 9 15 * 0-6", ["06-02", "06-03", "06-04", "06-05"]),
        ("0 9 15 * 1,*", ["06-02", "06-03", "06-04", "06-05"]),
        ("48 14 31 jun sun", ["06-08", "06-15", "06-22", "06-29"]),
    ],
)
def test_the_first_character_of_a_day_field_decides_between_either_and_both(expression, expected):
    """As the daemon did it on a Monday the 30th; the manual only speaks of restricted fields."""
    actual = [slot.split()[0] for slot in slots(expression)]

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("5/15 * * * *", ["06-02 08:35", "06-02 08:50", "06-02 09:05"]),
        ("0 9 * * MON/2", ["06-02 09:00", "06-04 09:00", "06-06 09:00"]),
        ("0 9 20/5 * *", ["06-20 09:00", "06-25 09:00", "06-30 09:00"]),
        ("? 9 * * *", ["06-02 09:00", "06-02 09:01", "06-02 09:02"]),
        ("0 9 L * *", ["06-30 09:00", "07-31 09:00", "08-31 09:00"]),
        ("0 9 15,L * *", ["06-15 09:00", "06-30 09:00", "07-15 09:00"]),
        ("0 9 * * 5#2", ["06-13 09:00", "07-11 09:00", "08-08 09:00"]),
        ("0 9 * * fri#2", ["06-13 09:00", "07-11 09:00", "08-08 09:00"]),
        ("0 9 * * 5#5", ["08-29 09:00", "10-31 09:00", "01-30 09:00"]),
        ("0 9 * * 5L", ["06-27 09:00", "07-25 09:00", "08-29 09:00"]),
        ("0 9 * * L5", ["06-27 09:00", "07-25 09:00", "08-29 09:00"]),
        ("0 9 * * 7L", ["06-29 09:00", "07-27 09:00", "08-31 09:00"]),
        ("0 9 * * 1,5#2", ["06-02 09:00", "06-09 09:00", "06-13 09:00"]),
    ],
)
def test_what_other_crons_add_has_one_meaning(expression, expected):
    """`N/step` to the end of the field, `?` for a star, last days and the nth weekday, also in lists."""
    actual = slots(expression, 3)

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("@hourly", ["06-02 09:00", "06-02 10:00"]),
        ("@daily", ["06-03 00:00", "06-04 00:00"]),
        (" @daily", ["06-03 00:00", "06-04 00:00"]),
        ("@midnight", ["06-03 00:00", "06-04 00:00"]),
        ("@weekly", ["06-08 00:00", "06-15 00:00"]),
        ("@monthly", ["07-01 00:00", "08-01 00:00"]),
        ("@yearly", ["01-01 00:00", "01-01 00:00"]),
        ("@annually", ["01-01 00:00", "01-01 00:00"]),
    ],
)
def test_macros_are_crons(expression, expected):
    """The same on every host, without any hash."""
    actual = slots(expression, 2)

    assert actual == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("@every 15m", ["08:45:00", "09:00:00", "09:15:00"]),
        ("@every 90", ["08:31:30", "08:33:00", "08:34:30"]),
        ("@every 1h 30m", ["09:00:00", "10:30:00", "12:00:00"]),
    ],
)
def test_an_interval_is_aligned_to_the_unix_epoch(expression, expected):
    """So every host has the same slots, whenever it started."""
    schedule = Schedule.parse(expression, "Asia/Kolkata")

    actual = [f"{slot:%H:%M:%S}" for slot in islice(schedule.after(MONDAY), 3)]

    assert actual == expected


def test_an_interval_runs_both_ways_and_across_the_epoch():
    """Forwards and backwards give the same slots, the boundary belongs to after, not before."""
    schedule = Schedule.parse("@every 7s", "UTC")
    epoch = datetime(1970, 1, 1, tzinfo=UTC)

    actual = [
        [(slot - epoch) // timedelta(seconds=1) for slot in islice(way, 2)]
        for way in (
            schedule.after(epoch),
            schedule.before(epoch),
            schedule.between(epoch, epoch + timedelta(seconds=8)),
        )
    ]

    assert actual == [[7, 14], [-7, -14], [0, 7]]


def test_an_interval_may_be_longer_than_the_calendar_has_left():
    """The slot after the last one would be in the year 10070, or before the year 1."""
    schedule = Schedule.parse("@every 36500d", "UTC")

    actual = [next(way, None) for way in (schedule.after(datetime.max.replace(tzinfo=UTC)), schedule.before(BEGINNING))]

    assert actual == [None, None]
    assert len(list(schedule.between(BEGINNING, END))) == 100


def test_the_expression_is_kept_as_written_but_for_blanks():
    """The stored text is what the user will recognise."""
    actual = Schedule.parse(" 0\t9  * *  Mon ", "UTC").expression

    assert actual == "0 9 * * Mon"


REFUSED = [
    # expression, what the message says, what it advises
    ("", "it is empty", '"0 9 * * *"'),
    ("0 9 * *", "expected 5 fields, got 4", "minute hour day month weekday"),
    ("0 15 */1 * * *", "expected 5 fields, got 6; cron has no seconds field", "without the seconds: 15 */1 * * *"),
    ("0 0 9 * * *", "expected 5 fields, got 6", "0 9 * * *"),
    ("* * * * * *", "expected 5 fields, got 6", "* * * * *"),
    ("0 12 16 11 2 0 2021", "expected 5 fields, got 7", "12 16 11 2 0"),
    ("R 2 * * *", "minute: R is random", "a number"),
    ("H 2 * * *", "minute: H is Jenkins's", "a number"),
    ("H(0-30)/5 2 * * *", "minute: H is Jenkins's", "a number"),
    ("0 9 15W * *", "day-of-month: W, the nearest working day", "a day"),
    ("0 9 LW * *", "day-of-month: W, the nearest working day", "a day"),
    ("@reboot", "@reboot has no slots", "@daily"),
    ("@DAILY", "@DAILY is not a macro", "@daily"),
    ("@fortnightly", "@fortnightly is not a macro", "@weekly"),
    ("@daily 5", "5 after @daily", "@daily"),
    ("@every", "is not a duration", "@every 15m"),
    ("@every soon", "'soon' is not a duration", "@every 15m"),
    ("@every 500ms", "whole seconds", "@every 15m"),
    ("@every 0s", "whole seconds", "@every 15m"),
    ("CRON_TZ=Europe/Berlin 0 9 * * *", "the zone is not part", '--tz Europe/Berlin --schedule "0 9 * * *"'),
    ("TZ=Europe/Rome\t0 2 * * *", "the zone is not part", '--tz Europe/Rome --schedule "0 2 * * *"'),
    ("TZ=Europe/Rome", "the zone is not part", "--tz Europe/Rome"),
    ("TZ=0", "the zone is not part", "--tz with a zone"),
    ("TZ=", "the zone is not part", "--tz with a zone"),
    ("0 22-4 * * *", "hour: 22-4 runs backwards", "22-23,0-4"),
    ("0 22-2 * * *", "hour: 22-2 runs backwards", "22-23,0-2"),
    ("0 23-0 * * *", "hour: 23-0 runs backwards", "23,0"),
    ("0 22-4/2 * * *", "hour: 22-4/2 runs backwards", "22,0,2,4"),
    ("35-33 * * * *", "minute: 35-33 runs backwards", "35-59,0-33"),
    ("0 9 25-5 * *", "day-of-month: 25-5 runs backwards", "25-31,1-5"),
    ("0 9 * NOV-FEB *", "month: NOV-FEB runs backwards", "11-12,1-2"),
    ("0 9 * * FRI-MON", "day-of-week: FRI-MON runs backwards", "5-6,0-1"),
    ("0 9 * * Mon-Sun", "day-of-week: Mon-Sun runs backwards", "1-7"),
    ("0 9 * * SAT-SUN", "day-of-week: SAT-SUN runs backwards", "6-7"),
    ("0 9 * * 5-1", "day-of-week: 5-1 runs backwards", "5-6,0-1"),
    ("0 9 * * 7-1", "day-of-week: 7-1 runs backwards", "0-1"),
    ("60 * * * *", "minute: 60 is out of range 0-59", "0"),
    ("* 24 * * *", "hour: 24 is out of range 0-23", "0"),
    ("* * 0 * *", "day-of-month: 0 is out of range 1-31", "1 to 31"),
    ("* * * 13 *", "month: 13 is out of range 1-12", "1 to 12"),
    ("* * * * 8", "day-of-week: 8 is out of range 0-7", "0 to 7"),
    ("1,,2 * * * *", "minute: nothing beside a ','", "1,2"),
    (", * * * *", "minute: nothing beside a ','", "*"),
    ("*/0 * * * *", "minute: */0 has a step of 0", "*/1"),
    ("+5 * * * *", "minute: '+' has no meaning", "digits"),
    ("0 9 1\N{EN DASH}5 * *", "day-of-month: '\N{EN DASH}' (U+2013) has no meaning", "digits"),
    ("0 9\N{NO-BREAK SPACE}* * *", "hour: U+00A0 has no meaning", "a plain blank"),
    ("0 9 * * *\r", "day-of-week: U+000D has no meaning", "a plain blank"),
    ("0 9 * *\N{ZERO WIDTH SPACE} *", "month: U+200B has no meaning", "digits"),
    ("٣ 9 * * *", "minute: '٣' (U+0663) has no meaning", "digits"),
    ("0 9 * * SUNDAY", "day-of-week: SUNDAY is no name", "SUN"),
    ("0 9 * MON *", "month: cannot read MON", "JAN to DEC"),
    ("*-5 * * * *", "minute: cannot read *-5", "1-5"),
    ("1-2-3 * * * *", "minute: cannot read 1-2-3", "1-5"),
    ("*/ * * * *", "minute: cannot read */", "*/2"),
    ("0 9 L-3 * *", "day-of-month: cannot read L-3", "1 to 31"),
    ("0 9 * * 5#6", "day-of-week: cannot read 5#6", "SUN to SAT"),
    ("0 L * * *", "hour: cannot read L", "0 to 23"),
    ("0 0 30 2 *", "it never matches", "a day that these months have"),
    ("0 9 31 2,4,6,9,11 *", "it never matches", "a day"),
    ("0 9 */31 * 5#5", "it never matches", "a day"),
    ("9" * 1001, "longer than 1000 characters", "a shorter one"),
]


@pytest.mark.parametrize(("expression", "why", "repair"), REFUSED)
def test_a_refusal_names_the_field_the_character_and_a_repair(expression, why, repair):
    """One line for each, before anything is run; what cannot be seen is named by its code point."""
    with pytest.raises(errors.ScheduleInvalid) as refusal:
        Schedule.parse(expression, "UTC")

    actual = (why in refusal.value.message, repair in refusal.value.advice, "\n" in str(refusal.value))
    assert actual == (True, True, False), str(refusal.value)


@pytest.mark.parametrize(
    "repair",
    ["22-23,0-4", "23,0", "22,0,2,4", "35-59,0-33"],
)
def test_the_repair_of_a_backward_range_can_be_written_in_its_place(repair):
    """What a message advises is accepted."""
    field = {"35-59,0-33": f"{repair} * * * *"}.get(repair, f"0 {repair} * * *")

    actual = Schedule.parse(field, "UTC").expression

    assert actual == field


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # a star with a step above 1 is no star to the controller …
        ("0 9 */2 * 1", ["06-02", "06-03", "06-05", "06-07"]),
        # … and a star anywhere in a list is one
        ("0 9 1,* * 2", ["06-03", "06-10", "06-17", "06-24"]),
        ("0 9 */1 * 1", ["06-02", "06-09", "06-16", "06-23"]),
        ("0 9 15 * 1", ["06-02", "06-09", "06-15", "06-16"]),
    ],
)
def test_kubernetes_has_its_own_rule_for_stars_in_day_fields(expression, expected):
    """robfig/cron v3.0.1, getRange and dayMatches."""
    actual = [slot.split()[0] for slot in slots(expression, engine="kubernetes")]

    assert actual == expected


def test_an_interval_is_refused_under_kubernetes():
    """The controller counts it from the CronJob's creation, which no pod knows."""
    with pytest.raises(errors.ScheduleInvalid, match="counts @every from"):
        Schedule.parse("@every 15m", "UTC", engine="kubernetes")
