"""The decision, question by question, in the order that is its contract."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from once.run import Outcome
from once.verdict import Brief, Facts, Go, Overlap, Reason, Skip, Verdict, Wait, Wish, decide, must_write

SLOT = datetime(2026, 11, 27, 17, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ALIVE = Brief(
    number=8,
    outcome=Outcome.RUNNING,
    slot=SLOT - timedelta(days=7),
    attempt=1,
    host="b",
    pid=1,
    claimed_at=SLOT,
    lease_until=SLOT + MINUTE,
    retry_at=None,
    exit_status=None,
)
SCHEDULED = Wish(slot=SLOT, fired_at=SLOT, on_time=5 * MINUTE)
SLOTLESS = Wish(slot=None, fired_at=SLOT)
KNOWN = Facts(now=SLOT, identity="i", known=True, in_force_since=SLOT - timedelta(days=70))


def attempt(outcome: Outcome, number: int = 1) -> Brief:
    """An attempt of the wished slot."""
    return ALIVE.replaced(number=7, outcome=outcome, slot=SLOT, attempt=number)


def reason(verdict: Verdict) -> Reason | None:
    """Why not, if not."""
    return verdict.reason if isinstance(verdict, Skip) else None


def test_a_free_slot_is_run() -> None:
    """As its first attempt."""
    assert decide(SCHEDULED, KNOWN) == Go(attempt=1)


def test_without_a_slot_only_what_is_alive_is_in_the_way() -> None:
    """Mutual exclusion and nothing else."""
    assert decide(SLOTLESS, KNOWN) == Go(attempt=1)
    assert decide(SLOTLESS, KNOWN.replaced(settled_through=SLOT + MINUTE)) == Go(attempt=1)


class TestTheSlot:
    """What is known of the wished slot itself."""

    @pytest.mark.parametrize(
        ("through", "verdict"), [(SLOT - SECOND, None), (SLOT, Reason.SETTLED), (SLOT + SECOND, Reason.SETTLED)]
    )
    def test_what_is_settled_is_settled(self, through: datetime, verdict: Reason | None) -> None:
        """Up to and with the instant itself."""
        assert reason(decide(SCHEDULED, KNOWN.replaced(settled_through=through))) is verdict

    def test_a_success_counts_whatever_came_after_it(self) -> None:
        """An operator may have run it again, and failed."""
        facts = KNOWN.replaced(succeeded=True, latest=attempt(Outcome.FAILED, 2))

        assert decide(SCHEDULED.replaced(attempts=9), facts) == Skip(Reason.DONE, run=facts.latest)

    @pytest.mark.parametrize(
        ("outcome", "why"), [(Outcome.SKIPPED, Reason.SKIPPED_BEFORE), (Outcome.EXCUSED, Reason.EXCUSED)]
    )
    def test_a_recorded_skip_or_excuse_settles_it(self, outcome: Outcome, why: Reason) -> None:
        """It was somebody's decision."""
        assert reason(decide(SCHEDULED.replaced(attempts=9), KNOWN.replaced(latest=attempt(outcome)))) is why

    @pytest.mark.parametrize("outcome", [Outcome.RUNNING, Outcome.FAILED], ids=["at work", "about to retry"])
    def test_what_is_held_is_not_ours(self, outcome: Outcome) -> None:
        """While the holder lives, whether it works or waits to try again."""
        facts = KNOWN.replaced(latest=attempt(outcome), latest_alive=True)

        assert decide(SCHEDULED.replaced(attempts=9), facts) == Skip(Reason.HELD, run=facts.latest)

    @pytest.mark.parametrize(
        "outcome", [Outcome.RUNNING, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.LOST]
    )
    def test_what_came_to_nothing_is_tried_again_while_attempts_are_left(self, outcome: Outcome) -> None:
        """Not once more."""
        facts = KNOWN.replaced(latest=attempt(outcome, 2), used=2)

        assert decide(SCHEDULED.replaced(attempts=3), facts) == Go(attempt=3)
        assert decide(SCHEDULED.replaced(attempts=None), facts) == Go(attempt=3)
        assert decide(SCHEDULED.replaced(attempts=2), facts) == Skip(Reason.FAILED, run=facts.latest)

    def test_what_a_signal_stopped_has_used_up_no_attempt(self) -> None:
        """An evicted pod's successor must run."""
        facts = KNOWN.replaced(latest=attempt(Outcome.STOPPED), used=0)

        assert decide(SCHEDULED, facts) == Go(attempt=2)

    def test_a_standby_waits_for_the_holder(self) -> None:
        """Whatever becomes of it."""
        facts = KNOWN.replaced(latest=attempt(Outcome.RUNNING), latest_alive=True, used=1)

        assert decide(SCHEDULED.replaced(standby=True), facts) == Wait(attempt(Outcome.RUNNING))

    def test_what_was_cancelled_is_final(self) -> None:
        """Attempts or not."""
        facts = KNOWN.replaced(latest=attempt(Outcome.CANCELLED))

        assert reason(decide(SCHEDULED.replaced(attempts=9), facts)) is Reason.CANCELLED


class TestFirstSight:
    """Slots count from when their schedule was first seen."""

    @pytest.mark.parametrize(("late", "why"), [(5 * MINUTE, None), (5 * MINUTE + SECOND, Reason.FIRST_SIGHT)])
    def test_a_new_schedule_runs_only_on_time(self, late: timedelta, why: Reason | None) -> None:
        """On time is as long as the wish says."""
        facts = KNOWN.replaced(in_force_since=None)

        assert reason(decide(SCHEDULED.replaced(fired_at=SLOT + late), facts)) is why

    @pytest.mark.parametrize(("since", "why"), [(SLOT, None), (SLOT + SECOND, Reason.NOT_IN_FORCE)])
    def test_a_slot_from_before_it_was_in_force_does_not_run_late(self, since: datetime, why: Reason | None) -> None:
        """Noted once, and not again."""
        wish = SCHEDULED.replaced(fired_at=SLOT + 10 * MINUTE)

        assert reason(decide(wish, KNOWN.replaced(in_force_since=since))) is why

    def test_a_slot_that_was_given_by_hand_always_counts(self) -> None:
        """It is an operator's word."""
        wish = SCHEDULED.replaced(on_time=None, fired_at=SLOT + timedelta(days=3))

        assert decide(wish, KNOWN.replaced(in_force_since=None)) == Go(attempt=1)

    def test_a_slot_that_was_tried_is_in_force(self) -> None:
        """Its next attempt does not have to be on time."""
        facts = KNOWN.replaced(in_force_since=None, latest=attempt(Outcome.FAILED))
        wish = SCHEDULED.replaced(attempts=2, fired_at=SLOT + timedelta(days=1))

        assert decide(wish, facts) == Go(attempt=2)


class TestPolicy:
    """What keeps a free slot from running. A skip of a slot is recorded, one without a slot is not."""

    @pytest.mark.parametrize(
        ("facts", "why"),
        [
            (KNOWN.replaced(retired=True, paused=True), Reason.RETIRED),
            (KNOWN.replaced(paused=True, blocker=ALIVE), Reason.PAUSED),
        ],
    )
    def test_a_retired_or_paused_task_does_not_run(self, facts: Facts, why: Reason) -> None:
        """Whatever else is the case."""
        assert decide(SCHEDULED, facts) == Skip(why, recorded=True)
        assert decide(SLOTLESS, facts) == Skip(why, recorded=False)

    @pytest.mark.parametrize(("late", "why"), [(MINUTE, None), (MINUTE + SECOND, Reason.LATE)])
    def test_a_start_has_its_time(self, late: timedelta, why: Reason | None) -> None:
        """By the host's clock, as the slot is."""
        wish = SCHEDULED.replaced(start_within=MINUTE, fired_at=SLOT + late)

        assert reason(decide(wish, KNOWN)) is why

    @pytest.mark.parametrize(("ago", "why"), [(59 * SECOND, Reason.TOO_SOON), (MINUTE, None)])
    def test_starts_keep_their_distance(self, ago: timedelta, why: Reason | None) -> None:
        """By the store's clock, and whatever the slot."""
        facts = KNOWN.replaced(last_claimed_at=SLOT - ago)

        assert reason(decide(SLOTLESS.replaced(min_interval=MINUTE), facts)) is why
        assert reason(decide(SCHEDULED.replaced(min_interval=MINUTE), facts)) is why

    def test_what_is_alive_is_in_the_way(self) -> None:
        """The skip names it."""
        facts = KNOWN.replaced(blocker=ALIVE)

        assert decide(SCHEDULED, facts) == Skip(Reason.OVERLAP, recorded=True, run=ALIVE)
        assert decide(SLOTLESS, facts) == Skip(Reason.OVERLAP, recorded=False, run=ALIVE)

    def test_who_waits_waits_for_it(self) -> None:
        """And asks again."""
        assert decide(SCHEDULED.replaced(overlap=Overlap.WAIT), KNOWN.replaced(blocker=ALIVE)) == Wait(ALIVE)


@pytest.mark.parametrize(
    ("verdict", "writes"),
    [
        (Go(attempt=1), True),
        (Skip(Reason.OVERLAP, recorded=True), True),
        (Skip(Reason.FIRST_SIGHT), True),
        (Skip(Reason.DONE), False),
        (Skip(Reason.FAILED, run=attempt(Outcome.FAILED)), False),
        (Skip(Reason.FAILED, run=attempt(Outcome.RUNNING)), True),
        (Wait(ALIVE), False),
    ],
)
def test_a_loser_writes_nothing(verdict: Verdict, writes: bool) -> None:
    """Only what changes a table goes through the lock."""
    assert must_write(verdict) is writes


briefs = st.none() | st.builds(attempt, st.sampled_from(Outcome), st.integers(1, 4))
instants = st.none() | st.timedeltas(-timedelta(days=2), timedelta(days=2)).map(lambda distance: SLOT + distance)
facts_of_any_kind = st.builds(
    KNOWN.replaced,
    settled_through=instants,
    paused=st.booleans(),
    retired=st.booleans(),
    succeeded=st.booleans(),
    latest=briefs,
    latest_alive=st.booleans(),
    used=st.integers(0, 4),
    blocker=st.none() | st.just(ALIVE),
    last_claimed_at=instants,
    in_force_since=instants,
)
wishes_of_any_kind = st.builds(
    SCHEDULED.replaced,
    fired_at=instants.filter(bool),
    attempts=st.none() | st.integers(1, 5),
    standby=st.booleans(),
    overlap=st.sampled_from(Overlap),
    start_within=st.none() | st.just(MINUTE),
    min_interval=st.sampled_from((timedelta(), MINUTE)),
)


@given(wishes_of_any_kind, facts_of_any_kind)
def test_whatever_the_policy_a_slot_never_starts_twice(wish: Wish, facts: Facts) -> None:
    """Neither what is settled, nor what has succeeded, nor what is held, nor beyond the attempts."""
    verdict = decide(wish, facts)
    left = wish.attempts is None or facts.used < wish.attempts
    free = facts.latest is None or (left and not facts.latest_alive)
    alone = facts.blocker is None or wish.overlap is Overlap.ALLOW
    settled = facts.settled_through is not None and facts.settled_through >= SLOT

    assert not isinstance(verdict, Go) or (free and not settled and not facts.succeeded and alone)


@given(wishes_of_any_kind, facts_of_any_kind)
def test_attempts_count_up_by_one(wish: Wish, facts: Facts) -> None:
    """They are part of the key that decides."""
    verdict = decide(wish, facts)
    latest = facts.latest.attempt if facts.latest else 0

    assert not isinstance(verdict, Go) or verdict.attempt == latest + 1
