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
            (KNOWN.replaced(retired="by ops", paused="by ops"), Reason.RETIRED),
            (KNOWN.replaced(paused="by ops", blocker=ALIVE), Reason.PAUSED),
        ],
    )
    def test_a_retired_or_paused_task_does_not_run(self, facts: Facts, why: Reason) -> None:
        """Whatever else is the case."""
        assert decide(SCHEDULED, facts) == Skip(why, recorded=True, why="by ops")
        assert decide(SLOTLESS, facts) == Skip(why, recorded=False, why="by ops")

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

    def test_a_newer_slot_replaces_an_older_ones_run(self) -> None:
        """It is asked once, and waited for."""
        wish = SCHEDULED.replaced(overlap=Overlap.REPLACE)
        asked = ALIVE.replaced(stop_asked="replaced by slot …")

        assert decide(wish, KNOWN.replaced(blocker=ALIVE)) == Wait(ALIVE, replaces=True)
        assert decide(wish, KNOWN.replaced(blocker=asked)) == Wait(asked)

    @pytest.mark.parametrize("slot", [SLOT + MINUTE, None])
    def test_only_an_older_slots_run_is_replaced(self, slot: datetime | None) -> None:
        """Not a newer one's, nor one without a slot, which cannot be told to be older."""
        other = ALIVE.replaced(slot=slot)
        wish = SCHEDULED.replaced(overlap=Overlap.REPLACE)

        assert decide(wish, KNOWN.replaced(blocker=other)) == Skip(Reason.OVERLAP, recorded=True, run=other)

    def test_what_a_transaction_holds_is_waited_for_but_cannot_be_asked(self) -> None:
        """Its run is over, and nobody beats for it."""
        fenced = ALIVE.replaced(outcome=Outcome.LOST)

        assert decide(SCHEDULED.replaced(overlap=Overlap.REPLACE), KNOWN.replaced(blocker=fenced)) == Wait(fenced)

    @pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.WAIT, Overlap.REPLACE])
    def test_whoever_catches_up_waits_for_what_is_alive(self, overlap: Overlap) -> None:
        """Or hosts that share the slots would lose them to each other."""
        wish = SCHEDULED.replaced(catches_up=True, overlap=overlap)
        newer = ALIVE.replaced(slot=SLOT + MINUTE)

        assert decide(wish, KNOWN.replaced(blocker=newer)) == Wait(newer)

    def test_no_slot_is_lost_to_a_run_that_catches_up(self) -> None:
        """The slot in its time waits for it."""
        older = ALIVE.replaced(caught_up=True)

        for overlap in (Overlap.SKIP, Overlap.WAIT, Overlap.REPLACE):
            assert decide(SCHEDULED.replaced(overlap=overlap), KNOWN.replaced(blocker=older)) == Wait(older)

    def test_a_slot_that_is_to_be_caught_up_stays_free_in_a_pause(self) -> None:
        """A skip on record would settle it."""
        wish = SCHEDULED.replaced(catches_up=True)

        assert decide(wish, KNOWN.replaced(paused="by ops")) == Skip(Reason.PAUSED, recorded=False, why="by ops")


class TestRerun:
    """An operator wants the slot's next attempt."""

    RERUN = SCHEDULED.replaced(rerun=True, on_time=None, attempts=None)

    @pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.RUNNING, Outcome.SUCCEEDED}))
    def test_whatever_became_of_it_but_success(self, outcome: Outcome) -> None:
        """Skips and excuses too: the operator has seen them."""
        assert decide(self.RERUN, KNOWN.replaced(latest=attempt(outcome, 2))) == Go(attempt=3)

    def test_a_success_is_repeated_only_on_a_further_word(self) -> None:
        """Which is --again."""
        facts = KNOWN.replaced(latest=attempt(Outcome.SUCCEEDED), succeeded=True, settled_through=SLOT)

        assert decide(self.RERUN, facts) == Skip(Reason.SETTLED)
        assert decide(self.RERUN, facts.replaced(settled_through=None)) == Skip(Reason.DONE, run=facts.latest)
        assert decide(self.RERUN.replaced(again=True), facts) == Go(attempt=2)

    def test_what_is_alive_stays_in_the_way(self) -> None:
        """This slot's run, and another's; nothing is recorded, since the slot is left as it was."""
        own = attempt(Outcome.RUNNING)

        assert decide(self.RERUN.replaced(again=True), KNOWN.replaced(latest=own, latest_alive=True)) == Skip(
            Reason.HELD, run=own
        )
        assert decide(self.RERUN, KNOWN.replaced(blocker=ALIVE)) == Skip(Reason.OVERLAP, run=ALIVE)

    def test_a_pause_is_about_the_schedule(self) -> None:
        """What is mended is tried by hand before the task is resumed."""
        assert decide(self.RERUN, KNOWN.replaced(paused="by ops", retired="by ops")) == Go(attempt=1)


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
        (Wait(ALIVE, replaces=True), True),
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
    paused=st.none() | st.just("by ops"),
    retired=st.none() | st.just("by ops"),
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
    catches_up=st.booleans(),
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
