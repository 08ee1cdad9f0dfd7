"""What a start says: which slot, in which zone, how late, what is next and what to try."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from once import wording
from once.run import Holder, Line, Outcome
from once.schedule import Schedule
from once.store.base import Claim
from once.verdict import Brief, Facts, Go, Reason, Skip, Wait, Wish

BERLIN_FRIDAYS = Line("0 17 * * 5", "Europe/Berlin")
FRIDAY = datetime.fromisoformat("2026-11-27T16:00Z")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

WINNER = Brief(
    number=12,
    outcome=Outcome.SUCCEEDED,
    slot=FRIDAY,
    attempt=1,
    host="h2",
    pid=1,
    claimed_at=FRIDAY,
    lease_until=None,
    retry_at=None,
    exit_status=0,
)
FACTS = Facts(now=FRIDAY, identity="i", known=True, line=BERLIN_FRIDAYS, command_hash="same")


def start(line: Line = BERLIN_FRIDAYS, slot: datetime = FRIDAY, *, late: timedelta = timedelta(), **how: Any) -> Claim:
    """A start that comes so late for a slot of this line; not by hand, unless `on_time` is None."""
    plan = Schedule.of(line)
    return Claim(
        task="report",
        token="t",
        wish=Wish(slot=slot, fired_at=slot + late, on_time=how.pop("on_time", plan.on_time(slot))),
        slot=plan.slot_of(slot),
        line=line,
        lease=5 * MINUTE,
        holder=Holder("h1", None, None, 1, "ops"),
        command=("report",),
        command_hash="same",
        **how,
    )


def test_a_first_sight_names_slot_zone_lateness_the_next_and_the_way_to_have_it() -> None:
    """A cron in another zone is noticed on day one, and a line pasted on Monday sends nothing."""
    line = wording.skipped(Skip(Reason.FIRST_SIGHT), start(late=2 * DAY + 17 * HOUR))

    assert line == (
        "slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z) was 2d 17h ago and this schedule is new here: "
        "noted, nothing was run; the next is 2026-12-04 17:00 Europe/Berlin (2026-12-04T16:00:00Z); "
        "--slot last runs this one now"
    )


def test_a_first_sight_of_a_schedule_that_ends_names_no_next() -> None:
    """There may be none within the calendar."""
    end = datetime.fromisoformat("9996-02-29T09:00Z")
    line = wording.skipped(Skip(Reason.FIRST_SIGHT), start(Line("0 9 29 2 *", "UTC"), end, late=2 * DAY))

    assert line.endswith("nothing was run; there is no other; --slot last runs it now")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (Reason.SETTLED, "SLOT is settled: its history was pruned; nothing was run"),
        (Reason.DONE, "SLOT is done: run 12 succeeded on h2"),
        (Reason.EXCUSED, "SLOT was excused; nothing was run"),
        (Reason.SKIPPED_BEFORE, "SLOT was skipped before; nothing was run"),
        (Reason.HELD, "SLOT is being run: run 12 succeeded on h2"),
        (Reason.FAILED, "SLOT has no attempts left: run 12 succeeded on h2"),
        (Reason.CANCELLED, "SLOT was cancelled: run 12 succeeded on h2"),
        (Reason.PAUSED, "SLOT skipped: the task is paused"),
        (Reason.RETIRED, "SLOT skipped: the task is retired"),
        (Reason.LATE, "SLOT skipped: this start is 20s late, more than --start-within"),
        (Reason.TOO_SOON, "SLOT skipped: the last start was less than --min-interval ago"),
        (Reason.OVERLAP, "SLOT skipped: a transaction of another run is still open, run 12 succeeded on h2"),
    ],
)
def test_every_skip_names_its_slot_and_why(reason: Reason, expected: str) -> None:
    """Local time, zone, and the instant in UTC."""
    line = wording.skipped(Skip(reason, run=WINNER), start(late=timedelta(seconds=20)))

    assert line == expected.replace("SLOT", "slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z)")


def test_a_slot_that_its_holder_tries_again_is_not_being_run() -> None:
    """Between two attempts nothing runs, and yet the slot is taken."""
    waiting = WINNER.replaced(outcome=Outcome.FAILED, exit_status=3, retry_at=FRIDAY + MINUTE)
    line = wording.skipped(Skip(Reason.HELD, run=waiting), start())

    assert line == (
        "slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z) will be tried again: "
        "run 12 failed on h2 with status 3"
    )


def test_every_reason_has_its_words() -> None:
    """A new one must not end in a KeyError in front of a job."""
    assert wording.SKIPPED.keys() == set(Reason)


@pytest.mark.parametrize(
    ("expression", "late", "is_off"),
    [
        # five minutes, whatever the distance
        ("* * * * *", 5 * MINUTE, False),
        ("* * * * *", 5 * MINUTE + timedelta(seconds=1), True),
        ("*/10 * * * *", 5 * MINUTE, False),
        ("*/10 * * * *", 5 * MINUTE + timedelta(seconds=1), True),
        # half the distance, where that is more
        ("0 * * * *", 30 * MINUTE, False),
        ("0 * * * *", 31 * MINUTE, True),
        ("0 16 * * *", 12 * HOUR, False),
        ("0 16 * * *", 13 * HOUR, True),
        ("0 16 * * 5", 3 * DAY + 12 * HOUR, False),
        ("0 16 * * 5", 3 * DAY + 13 * HOUR, True),
        ("0 16 27 11 5", 3 * DAY + 13 * HOUR, False),
        ("@every 1d", 13 * HOUR, True),
    ],
)
def test_a_start_is_off_schedule_beyond_five_minutes_and_half_the_distance(
    expression: str, late: timedelta, is_off: bool
) -> None:
    """Both: so that firing often and slotting seldom covers an outage without a word."""
    slot = next(Schedule.parse(expression, "UTC").before(FRIDAY + timedelta.resolution))
    said = wording.off_schedule(start(Line(expression, "UTC"), slot, late=late))

    assert (said is not None) is is_off


def test_an_off_schedule_line_names_slot_zone_and_lateness() -> None:
    """One line, and the command runs."""
    said = wording.off_schedule(start(late=4 * DAY + 3 * MINUTE))

    assert said == "off schedule: runs slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z), 4d late"


def test_a_slot_that_is_certain_is_never_off_schedule() -> None:
    """An operator's word, or the name of a Job: a pod may be as late as it likes."""
    assert wording.off_schedule(start(late=6 * DAY, on_time=None)) is None


class TestDrift:
    """A loser whose line is not the winner's says so."""

    OTHER = Line("0 17 * * 5", "UTC")

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            (FACTS, None),
            (FACTS.replaced(line=None, command_hash=None), None),
            (
                FACTS.replaced(line=OTHER),
                'the schedule here is "0 17 * * 5" Europe/Berlin, there "0 17 * * 5" UTC',
            ),
            (
                FACTS.replaced(line=BERLIN_FRIDAYS.replaced(engine="kubernetes")),
                'the schedule here is "0 17 * * 5" Europe/Berlin, there "0 17 * * 5" Europe/Berlin by kubernetes',
            ),
            (FACTS.replaced(command_hash="other"), "the command is another (once show report 12)"),
            (
                FACTS.replaced(line=OTHER, command_hash="other"),
                (
                    'the schedule here is "0 17 * * 5" Europe/Berlin, there "0 17 * * 5" UTC; '
                    "the command is another (once show report 12)"
                ),
            ),
        ],
    )
    @pytest.mark.parametrize("reason", [Reason.DONE, Reason.HELD, Reason.FAILED])
    def test_it_names_the_run_and_what_differs(self, reason: Reason, facts: Facts, expected: str | None) -> None:
        """In one line, both if both differ."""
        said = wording.drift(Skip(reason, run=WINNER), start(), facts)

        assert said == (expected and f"drift from run 12 on h2: {expected}")

    @pytest.mark.parametrize(
        ("skip", "claim"),
        [
            (Skip(Reason.DONE, run=WINNER), start(late=5 * MINUTE + timedelta(seconds=1))),
            (Skip(Reason.DONE, run=WINNER), start(on_time=None)),
            (Skip(Reason.DONE, run=WINNER.replaced(host="h1")), start()),
            (Skip(Reason.OVERLAP, run=WINNER), start()),
            (Skip(Reason.PAUSED), start()),
            (Skip(Reason.DONE), start()),
        ],
        ids=["late", "by hand", "the same host", "another slot's run", "paused", "pruned"],
    )
    def test_it_is_between_two_hosts_that_came_for_the_same_slot_at_its_time(self, skip: Skip, claim: Claim) -> None:
        """Between other starts somebody may have edited every host's line, and nobody is to be woken for that."""
        assert wording.drift(skip, claim, FACTS.replaced(line=self.OTHER)) is None

    @pytest.mark.parametrize(
        ("expression", "slot", "seen_today", "expected"),
        [
            ("* * * * *", "2026-11-27T16:00Z", True, False),
            ("* * * * *", "2026-11-27T16:00Z", False, True),
            ("* * * * *", "2026-11-28T00:00Z", True, True),
            ("* * * * *", "2026-11-28T00:01Z", True, False),
            ("0 17 * * 5", "2026-11-27T17:00Z", True, True),
            ("0 */6 * * *", "2026-11-27T06:00Z", True, False),
        ],
    )
    def test_it_is_told_when_it_begins_and_once_a_day(
        self, expression: str, slot: str, seen_today: bool, expected: bool
    ) -> None:
        """Cron mails what is said: not at every losing start of every minute."""
        claim = start(Line(expression, "UTC"), datetime.fromisoformat(slot))

        assert wording.is_news(claim, FACTS.replaced(seen_today=seen_today)) is expected


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Go(2), "would run slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z), attempt 2"),
        (Wait(WINNER), "would wait: run 12 succeeded on h2"),
        (
            Skip(Reason.PAUSED),
            "would not run: slot 2026-11-27 17:00 Europe/Berlin (2026-11-27T16:00:00Z) skipped: the task is paused",
        ),
    ],
)
def test_a_rehearsal_says_what_would_happen(verdict: Go | Wait | Skip, expected: str) -> None:
    """The same words as the real thing."""
    assert wording.rehearsal(verdict, start()) == expected


def test_a_pause_is_said_once_a_day_and_names_who_wants_it() -> None:
    """Cron mails what is said: a line for each slot of a maintenance window would be noise."""
    paused = Skip(Reason.PAUSED, recorded=True, why="by alice on web1: database upgrade")

    assert wording.skipped(paused, start()).endswith("the task is paused by alice on web1: database upgrade")
    assert wording.is_told(paused, start(), FACTS, recorded=True)
    assert not wording.is_told(paused, start(), FACTS.replaced(seen_today=True), recorded=True)
    assert wording.is_told(paused, start(by_hand=True), FACTS.replaced(seen_today=True), recorded=True)


@pytest.mark.parametrize("reason", [Reason.OVERLAP, Reason.LATE, Reason.TOO_SOON])
def test_whoever_records_a_skip_by_policy_says_so_each_time(reason: Reason) -> None:
    """A slot is lost by it."""
    seen = FACTS.replaced(seen_today=True)

    assert wording.is_told(Skip(reason, recorded=True), start(), seen, recorded=True)
    assert not wording.is_told(Skip(reason, recorded=True), start(), seen, recorded=False)
