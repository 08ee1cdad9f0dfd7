"""The intervals of a schedule: edited, taken back, and two lines in use at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from once.run import Line
from once.schedule import Schedule
from once.store.base import Claim, Store
from once.verdict import Go, Reason, Skip, Verdict
from tests.conformance.claims import HOURLY, NOON, claim, ending, held, holder
from tests.conformance.conftest import Bench

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HALF_PAST = Line("30 * * * *", "UTC")
EVERY_HALF_HOUR = Line("*/30 * * * *", "UTC")


def start(line: Line, fired_at: datetime, host: str = "a", *, by_hand: bool = False, **wish: Any) -> Claim:
    """A start with this line, as `once run` makes it."""
    plan = Schedule.of(line)
    slot, on_time = plan.slot_for(fired_at), plan.on_time(plan.slot_for(fired_at).at)
    made = claim(slot, line=line, fired_at=fired_at, by=holder(host), on_time=None if by_hand else on_time, **wish)
    since = plan.unbroken_since(slot.at, on_time=fired_at - slot.at <= on_time)
    return made.replaced(by_hand=by_hand, unbroken_since=None if by_hand else since)


def begins(store: Store, bench: Bench, line: Line, at: datetime, host: str = "a", **how: Any) -> Verdict:
    """A start at this time: looked at, claimed or sighted, and ended at once."""
    bench.let_pass(at - bench.clock.now())
    wanted = start(line, at, host, **how)
    facts = store.look(wanted)
    claimed = store.claim(wanted)
    assert claimed.facts.in_force_since == facts.in_force_since
    if claimed.hold:
        store.finish(claimed.hold, ending())
    return claimed.verdict


def intervals(bench: Bench) -> list[tuple[str, str, str]]:
    """Expression, first and last seen of each, by the clock alone."""
    if bench.kind == "sqlite":
        clock = "strftime('%H:%M', {} / 1000000, 'unixepoch')"
    else:
        clock = "to_char({} at time zone 'UTC', 'HH24:MI')"
    first, last = clock.format("first_seen"), clock.format("last_seen")
    return bench.meddle(f"SELECT expression, {first}, {last} FROM once.schedule ORDER BY first_seen")


def reason(verdict: Verdict) -> Reason:
    """Why nothing was run."""
    assert isinstance(verdict, Skip)
    return verdict.reason


def test_a_schedule_that_stays_is_one_interval(bench: Bench, store: Store) -> None:
    """Whoever wins its slots, and though one was missed."""
    for hour, host in ((0, "a"), (1, "b"), (4, "a")):
        begins(store, bench, HOURLY, NOON + hour * HOUR, host)

    assert intervals(bench) == [("0 * * * *", "12:00", "16:00")]


def test_an_edit_ends_one_interval_and_begins_another(bench: Bench, store: Store) -> None:
    """So no slot of the new line is missed before it was there."""
    begins(store, bench, HOURLY, NOON)
    begins(store, bench, HALF_PAST, NOON + HOUR / 2)
    begins(store, bench, HALF_PAST, NOON + 3 * HOUR / 2)

    assert intervals(bench) == [("0 * * * *", "12:00", "12:00"), ("30 * * * *", "12:30", "13:30")]
    assert store.task("report").line == HALF_PAST


def test_a_line_that_was_taken_back_and_returns_has_an_interval_of_its_own(bench: Bench, store: Store) -> None:
    """What was not due meanwhile was not missed."""
    begins(store, bench, HOURLY, NOON)
    begins(store, bench, HALF_PAST, NOON + HOUR / 2)
    begins(store, bench, HALF_PAST, NOON + 3 * HOUR / 2)
    begins(store, bench, HOURLY, NOON + 2 * HOUR)

    assert intervals(bench) == [
        ("0 * * * *", "12:00", "12:00"),
        ("30 * * * *", "12:30", "13:30"),
        ("0 * * * *", "14:00", "14:00"),
    ]
    assert (store.task("report").line, store.task("report").in_force_since) == (HOURLY, NOON + 2 * HOUR)


def test_a_line_that_returns_late_does_not_run_what_was_not_due(bench: Bench, store: Store) -> None:
    """Rolled back on Monday, it does not send Friday's report, which was the other line's to send."""
    fridays, saturdays = Line("0 17 * * 5", "UTC"), Line("0 18 * * 6", "UTC")
    friday = datetime.fromisoformat("2026-12-04T17:00Z")
    begins(store, bench, fridays, friday)
    begins(store, bench, saturdays, friday + timedelta(days=8, hours=1))
    monday = friday + timedelta(days=10)
    first = begins(store, bench, fridays, monday)
    second = begins(store, bench, fridays, monday + HOUR)

    assert (reason(first), reason(second)) == (Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE)
    assert begins(store, bench, fridays, friday + timedelta(days=14)) == Go(attempt=1)


def test_two_lines_in_use_at_once_are_two_intervals_however_often_they_start(bench: Bench, store: Store) -> None:
    """Half the hosts have the old line: no row a start."""
    for hour in range(6):
        assert begins(store, bench, HOURLY, NOON + hour * HOUR, "a") == Go(attempt=1)
        assert begins(store, bench, HALF_PAST, NOON + hour * HOUR + HOUR / 2, "b") == Go(attempt=1)

    assert intervals(bench) == [("0 * * * *", "12:00", "17:00"), ("30 * * * *", "12:30", "17:30")]
    assert store.task("report").line == HALF_PAST


@pytest.mark.parametrize("winner", ["a", "b"])
def test_two_lines_that_share_slots_stay_two_intervals_whoever_wins_them(
    bench: Bench, store: Store, winner: str
) -> None:
    """A loser says that its line is in use, where nobody with that line has said so for this slot."""
    lines = {"a": HOURLY, "b": EVERY_HALF_HOUR}
    loser = "b" if winner == "a" else "a"
    begins(store, bench, lines["b"], NOON - HOUR / 2, "b")
    begins(store, bench, lines["a"], NOON, "a")
    begins(store, bench, lines["b"], NOON, "b")
    for hour in range(1, 5):
        begins(store, bench, lines["b"], NOON + hour * HOUR - HOUR / 2, "b")
        begins(store, bench, lines[winner], NOON + hour * HOUR, winner)
        begins(store, bench, lines[loser], NOON + hour * HOUR, loser)
    begins(store, bench, lines["b"], NOON + 5 * HOUR - HOUR / 2, "b")
    begins(store, bench, lines[loser], NOON + 5 * HOUR, loser)

    assert [(expression, first) for expression, first, _ in intervals(bench)] == [
        ("*/30 * * * *", "11:30"),
        ("0 * * * *", "12:00"),
    ]


def test_a_loser_whose_line_was_seen_at_its_slot_has_nothing_to_note(bench: Bench, store: Store) -> None:
    """One write a slot and line, not one a start; and none at all where there is one line."""
    begins(store, bench, HOURLY, NOON - HOUR, "a")
    begins(store, bench, EVERY_HALF_HOUR, NOON - HOUR / 2, "b")
    bench.let_pass(NOON - bench.clock.now())
    store.finish(held(store, start(EVERY_HALF_HOUR, NOON, "b")), ending())
    loser, same_line = start(HOURLY, NOON, "a"), start(EVERY_HALF_HOUR, NOON, "b")
    before = store.look(loser).line_noted
    store.sight(loser)

    assert (before, store.look(loser).line_noted, store.look(same_line).line_noted) == (False, True, True)


def test_a_line_of_which_a_slot_was_left_out_begins_anew(bench: Bench, store: Store) -> None:
    """Among two in use: at 13:00 nobody started with it, so nobody knows whether it was due."""
    begins(store, bench, HOURLY, NOON, "a")
    begins(store, bench, HALF_PAST, NOON + HOUR / 2, "b")
    begins(store, bench, HOURLY, NOON + 2 * HOUR, "a")

    assert intervals(bench) == [
        ("0 * * * *", "12:00", "12:00"),
        ("30 * * * *", "12:30", "12:30"),
        ("0 * * * *", "14:00", "14:00"),
    ]


def test_late_starts_of_two_lines_in_use_at_once_run_nothing_and_write_a_row_a_slot(bench: Bench, store: Store) -> None:
    """Of two lines, whoever comes late cannot know that its slot was due; what was noted once is not noted again."""
    begins(store, bench, HOURLY, NOON, "a")
    begins(store, bench, HALF_PAST, NOON + HOUR / 2, "b")
    late = [
        reason(begins(store, bench, line, NOON + minutes * MINUTE, host))
        for minutes, line, host in ((80, HOURLY, "a"), (81, HOURLY, "a"), (116, HALF_PAST, "b"), (117, HOURLY, "a"))
    ]

    assert late == [Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE, Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE]
    assert len(intervals(bench)) == 4


def test_a_start_by_hand_begins_no_interval(bench: Bench, store: Store) -> None:
    """An operator who types another expression has edited no crontab."""
    begins(store, bench, HOURLY, NOON)
    by_hand = begins(store, bench, HALF_PAST, NOON + HOUR / 2, by_hand=True)
    begins(store, bench, HOURLY, NOON + HOUR)

    assert by_hand == Go(attempt=1)
    assert intervals(bench) == [("0 * * * *", "12:00", "13:00")]


def test_a_task_that_was_only_run_by_hand_has_a_line_all_the_same(bench: Bench, store: Store) -> None:
    """So that what it is can be told."""
    begins(store, bench, HOURLY, NOON, by_hand=True)

    assert store.task("report").line == HOURLY


def test_an_interval_begins_and_ends_with_its_runs(bench: Bench, store: Store) -> None:
    """At the same instant, to the microsecond: a run is found in the interval of its line."""
    begins(store, bench, HOURLY, NOON)
    begins(store, bench, HOURLY, NOON + HOUR)

    assert bench.meddle("SELECT count(*) FROM once.run, once.schedule WHERE claimed_at IN (first_seen, last_seen)") == [
        (2,)
    ]


class TestTwins:
    """The same local time at another instant: two hosts whose zone data differ."""

    BERLIN = Line("0 9 * * *", "Europe/Berlin")
    AT = datetime.fromisoformat("2026-12-01T08:00Z")

    def test_another_instant_of_the_same_local_time_is_told(self, bench: Bench, store: Store) -> None:
        """With the run that has it."""
        begins(store, bench, self.BERLIN, self.AT)
        other = start(self.BERLIN, self.AT)
        other = other.replaced(slot=other.slot.replaced(at=self.AT + HOUR))
        twin = store.look(other).twin

        assert twin is not None
        assert (twin.number, twin.slot, twin.host) == (1, self.AT, "a")

    def test_its_own_slot_is_no_twin(self, bench: Bench, store: Store) -> None:
        """Nor is that of the day before."""
        begins(store, bench, self.BERLIN, self.AT - timedelta(days=1))
        begins(store, bench, self.BERLIN, self.AT)

        assert store.look(start(self.BERLIN, self.AT)).twin is None

    def test_the_second_pass_of_an_hour_is_no_twin_of_the_first(self, bench: Bench, store: Store) -> None:
        """The fold tells them apart."""
        every_half = Line("*/30 * * * *", "Europe/Berlin")
        first = datetime.fromisoformat("2027-10-31T00:30Z")
        begins(store, bench, every_half, first)

        assert store.look(start(every_half, first + HOUR)).twin is None

    @pytest.mark.parametrize(
        ("line", "how"),
        [
            (Line("0 9 * * *", "UTC"), {}),
            (Line("0 9 * * *", "Europe/Athens"), {}),
            (Line("0 9 * * *", "Europe/Athens"), {"by_hand": True}),
        ],
    )
    def test_the_same_local_time_of_another_line_is_no_twin(
        self, bench: Bench, store: Store, line: Line, how: dict[str, Any]
    ) -> None:
        """A zone that was edited, taken back, or typed by hand: its nine o'clock is another."""
        at = next(Schedule.of(line).after(self.AT - timedelta(hours=12)))
        begins(store, bench, self.BERLIN, self.AT - timedelta(days=1))
        begins(store, bench, line, at, "b", **how)
        bench.let_pass(max(timedelta(), self.AT - bench.clock.now()))

        assert store.look(start(self.BERLIN, self.AT)).twin is None
        assert store.look(start(line, at)).twin is None

    @pytest.mark.parametrize(
        "line",
        [
            Line("0 9 * * *", "Europe/Berlin", "kubernetes"),
            Line("@every 24h", "UTC"),
            Line("0 * * * *", "Europe/Berlin"),
        ],
    )
    def test_where_zone_data_decide_nothing_there_are_no_twins(self, bench: Bench, store: Store, line: Line) -> None:
        """The controller's instant is certain, and an interval or each hour are the same in every zone."""
        begins(store, bench, line, self.AT)
        other = start(line, self.AT)
        other = other.replaced(slot=other.slot.replaced(at=other.slot.at + HOUR))

        assert store.look(other).twin is None
