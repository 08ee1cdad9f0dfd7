"""The notes on what a change of the clock does to a slot."""

from datetime import UTC, datetime

import pytest

from once.schedule import Schedule
from once.schedule.notes import clock_note

# Berlin, 2026-03-29: 01:59 +01:00 is followed by 03:00 +02:00, at 01:00Z.
# Berlin, 2026-10-25: 02:59 +02:00 is followed by 02:00 +01:00, at 01:00Z.

SPRING, AUTUMN = datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)


def noted(expression, start, count, *, zone="Europe/Berlin", engine="cron"):
    """The slots after an instant that have a note, with it."""
    schedule = Schedule.parse(expression, zone, engine=engine)
    slots = [slot for slot, _ in zip(schedule.after(start), range(count), strict=False)]
    return {f"{slot:%m-%d %H:%M}": note for slot in slots if (note := clock_note(schedule, slot))}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("30 2 * * *", {"03-29 01:00": "02:30 does not exist on 2026-03-29; runs at 03:00"}),
        ("10,30 2 * * *", {"03-29 01:00": "02:10 and 02:30 do not exist on 2026-03-29; runs at 03:00"}),
        ("0 2,3 * * *", {"03-29 01:00": "02:00 does not exist on 2026-03-29; runs at 03:00"}),
        ("*/20 2 * * *", {"03-30 00:00": "02:00, 02:20 and 02:40 do not exist on 2026-03-29; nothing runs then"}),
        ("*/5 * * * *", {"03-29 01:00": "02:00 to 02:55 do not exist on 2026-03-29; nothing runs then"}),
        ("30 3 * * *", {}),
        ("30 2 * * 1", {}),
        ("@every 15m", {}),
    ],
)
def test_spring_is_noted_where_a_slot_is_moved_or_left_out(expression, expected):
    """At the slot that it was moved to, else at the first one after the gap."""
    actual = noted(expression, SPRING, 30)

    assert actual == expected


def test_the_slot_after_a_gap_may_be_a_year_later():
    """A note that was looked for near the change alone would never be seen."""
    schedule = Schedule.parse("*/30 2 29 3 *", "Europe/Berlin")
    slot = next(schedule.after(SPRING))

    assert slot == datetime(2027, 3, 29, tzinfo=UTC)
    assert clock_note(schedule, slot) == "02:00 and 02:30 do not exist on 2026-03-29; nothing runs then"


@pytest.mark.parametrize(
    ("expression", "slots", "note"),
    [
        ("30 2 * * *", ["10-25 00:30"], "02:30 comes twice on 2026-10-25; runs the first time only"),
        ("10,30 2 * * *", ["10-25 00:10", "10-25 00:30"], "02:10 and 02:30 come twice on 2026-10-25; runs the first"),
        ("15 * * * *", ["10-25 00:15", "10-25 01:15"], "02:15 comes twice on 2026-10-25; runs both times"),
        ("0 3 * * *", [], ""),
    ],
)
def test_autumn_is_noted_at_each_slot_of_the_repeated_hour(expression, slots, note):
    """Of both passes, if both run."""
    actual = noted(expression, AUTUMN, 30)

    assert list(actual) == slots
    assert all(text.startswith(note) for text in actual.values())


def test_kubernetes_makes_no_job_in_a_gap():
    """And a second one in the repeated hour, which is not a slot of its own."""
    spring = noted("30 2 * * *", SPRING, 1, engine="kubernetes")
    autumn = noted("30 2 * * *", AUTUMN, 2, engine="kubernetes")

    assert spring == {"03-30 00:30": "02:30 does not exist on 2026-03-29; nothing runs then"}
    assert autumn == {"10-25 00:30": "02:30 comes twice on 2026-10-25; runs the first time only"}


def test_a_slot_that_moves_into_another_day_is_noted_with_it():
    """Samoa left out 30 December 2011."""
    actual = noted("0 12 30 12 *", datetime(2011, 1, 1, tzinfo=UTC), 2, zone="Pacific/Apia")

    assert actual == {"12-30 10:00": "12:00 does not exist on 2011-12-30; runs at 00:00 on 2011-12-31"}
