"""Schedules in plain words, and the notes on clock changes."""

from datetime import UTC, datetime

import pytest

from once.schedule import Schedule
from once.schedule.words import clock_notes, in_words


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", "every minute, UTC"),
        ("*/15 * * * *", "every 15 minutes, UTC"),
        ("15 * * * *", "at minute 15 of every hour, UTC"),
        ("7-59/13 * * * *", "at minutes 7, 20, 33, 46 and 59 of every hour, UTC"),
        ("@hourly", "every hour, on the hour, UTC"),
        ("0 */2 * * *", "every 2 hours from 00:00, UTC"),
        ("*/10 9-17 * * 1-5", "every 10 minutes of the hours 09 to 17 from Monday to Friday, UTC"),
        ("0 9-17 * * 1-5", "on the hour, at 09 to 17 from Monday to Friday, UTC"),
        ("* 9 * * *", "every minute of hour 09, UTC"),
        ("5 1-3 * * *", "at 01:05, 02:05 and 03:05 every day, UTC"),
        ("0 17 * * 5", "at 17:00 on Fridays, UTC"),
        ("0 17 * * 6,7", "at 17:00 on Saturdays and Sundays, UTC"),
        ("0 9 13 * *", "at 09:00 on day 13 of the month, UTC"),
        ("0 9 1-7,L * *", "at 09:00 on days 1 to 7 and the last day of the month, UTC"),
        ("0 9 * * 5L,1#2", "at 09:00 on the second Monday of the month and on the last Friday of the month, UTC"),
        ("0 9 13 * 5", "at 09:00 on day 13 of the month, and also on Fridays, UTC"),
        ("0 9 1-31 * 1", "at 09:00 every day, UTC"),
        ("0 9 */2 * 1", "at 09:00 on Mondays, but only on days 1, 3 and so on to 31 of the month, UTC"),
        ("0 9 * 3,9 *", "at 09:00 every day in March and September, UTC"),
        ("0 9 * 3,9 1", "at 09:00 on Mondays in March and September, UTC"),
        ("@yearly", "at 00:00 on day 1 of January, UTC"),
        ("@every 90m", "every 1h 30m, counted from 1970-01-01T00:00Z"),
    ],
)
def test_a_schedule_is_told_in_one_plain_line(expression, expected):
    """Read aloud to someone who does not know cron, it makes sense."""
    actual = in_words(Schedule.parse(expression, "UTC"))

    assert actual == expected


def test_the_zone_is_part_of_the_line():
    """A time without a zone says nothing."""
    actual = in_words(Schedule.parse("30 2 * * *", "Europe/Berlin"))

    assert actual == "at 02:30 every day, Europe/Berlin time"


@pytest.mark.parametrize(
    ("expression", "engine", "expected"),
    [
        (
            "30 2 * * *",
            "cron",
            [
                "02:30 does not exist on 2026-03-29; runs at 03:00",
                "02:30 comes twice on 2026-10-25; runs the first time only",
            ],
        ),
        (
            "*/20 2 * * *",
            "cron",
            [
                "02:00, 02:20 and 02:40 do not exist on 2026-03-29; nothing runs then",
                "02:00, 02:20 and 02:40 come twice on 2026-10-25; runs both times",
            ],
        ),
        (
            "* * * * *",
            "cron",
            [
                "02:00 to 02:59 do not exist on 2026-03-29; nothing runs then",
                "02:00 to 02:59 come twice on 2026-10-25; runs both times",
            ],
        ),
        (
            "30 2 * * *",
            "kubernetes",
            [
                "02:30 does not exist on 2026-03-29; nothing runs then",
                "02:30 comes twice on 2026-10-25; runs both times",
            ],
        ),
        ("30 4 * * *", "cron", []),
        ("30 2 * * 1", "cron", []),
        ("@every 15m", "cron", []),
    ],
)
def test_a_note_says_what_a_clock_change_does_to_the_schedule(expression, engine, expected):
    """Only where it does something."""
    schedule = Schedule.parse(expression, "Europe/Berlin", engine=engine)

    actual = clock_notes(schedule, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))

    assert actual == expected
