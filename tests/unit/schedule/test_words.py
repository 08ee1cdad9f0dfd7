"""Schedules in plain words."""

import pytest

from once.schedule import Schedule
from once.schedule.words import in_words


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", "every minute, UTC"),
        ("*/15 * * * *", "every 15 minutes, UTC"),
        ("15 * * * *", "at minute 15 of every hour, UTC"),
        ("7-59/13 * * * *", "at minutes 7, 20, 33, 46 and 59 of every hour, UTC"),
        ("@hourly", "every hour, on the hour, UTC"),
        ("0 */2 * * *", "every 2 hours from 00:00 to 22:00, every day, UTC"),
        ("23 0-20/2 * * *", "every 2 hours from 00:23 to 20:23, every day, UTC"),
        ("*/10 9-17 * * 1-5", "every 10 minutes from 09:00 to 17:50, from Monday to Friday, UTC"),
        ("*/5 0-3,20-23 * * *", "every 5 minutes from 00:00 to 03:55 and from 20:00 to 23:55, every day, UTC"),
        ("* */3 * * 1", "every minute of the hours beginning at 00:00, 03:00 and so on to 21:00, on Mondays, UTC"),
        ("1-5,31 9,17 * * 1", "at minutes 1 to 5 and 31 of the hours beginning at 09:00 and 17:00, on Mondays, UTC"),
        ("1-7 9 * * 1", "at minutes 1 to 7 of the hour beginning at 09:00, on Mondays, UTC"),
        ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00, from Monday to Friday, UTC"),
        ("0 0-5,12 * * *", "every hour from 00:00 to 05:00 and at 12:00, every day, UTC"),
        ("5 1,2,4,8,9,11,16 * * *", "at 01:05, 02:05, 04:05, 08:05, 09:05, 11:05 and 16:05 every day, UTC"),
        ("* 9 * * *", "every minute from 09:00 to 09:59, every day, UTC"),
        ("5 1-3 * * *", "at 01:05, 02:05 and 03:05 every day, UTC"),
        ("0 17 * * 5", "at 17:00 on Fridays, UTC"),
        ("0 17 * * 6,7", "at 17:00 on Saturdays and Sundays, UTC"),
        ("0 9 13 * *", "at 09:00 on day 13 of every month, UTC"),
        ("0 9 1-7,L * *", "at 09:00 on days 1 to 7 and the last day of every month, UTC"),
        ("0 9 31 * *", "at 09:00 on day 31 of every month that is long enough, UTC"),
        ("0 9 1 */3 *", "at 09:00 on day 1 of January, April, July and October, UTC"),
        ("0 9 1 6-9 *", "at 09:00 on day 1 of each month from June to September, UTC"),
        ("0 9 29 2 */7", "at 09:00 on Sundays, but only on 29 February, UTC"),
        ("0 9 * * 5L,1#2", "at 09:00 on the second Monday and the last Friday of every month, UTC"),
        ("0 9 * 3 3,1#1", "at 09:00 on Wednesdays in March and on the first Monday of March, UTC"),
        ("0 9 * * 5,6,7", "at 09:00 from Friday to Sunday, UTC"),
        ("0 9 * * 0-4", "at 09:00 from Sunday to Thursday, UTC"),
        ("0 9 * * 1-5,0", "at 09:00 every day but Saturday, UTC"),
        ("0 9 13 * 5", "at 09:00 on day 13 of every month, and also on Fridays, UTC"),
        ("0 9 1-31 * 1", "at 09:00 every day, UTC"),
        ("0 9 */2 * 1", "at 09:00 on Mondays, but only on days 1, 3 and so on to 31 of every month, UTC"),
        ("0 9 * 3,9 *", "at 09:00 every day in March and September, UTC"),
        ("0 9 * 3,9 1", "at 09:00 on Mondays in March and September, UTC"),
        ("0 9 * 11,12,1,2 1-5", "at 09:00 from Monday to Friday, from November to February, UTC"),
        ("* * * 2 *", "every minute in February, UTC"),
        ("*/5 * * 6-8 *", "every 5 minutes from June to August, UTC"),
        ("@yearly", "at 00:00 on 1 January, UTC"),
        ("@every 1h", "every hour, counted from midnight UTC"),
        ("@every 90m", "every 1 hour and 30 minutes, counted from midnight UTC"),
        ("@every 7d1s", "every 7 days and 1 second, counted from midnight UTC on 1970-01-01"),
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
