"""Pause, resume, retire: nothing of a task starts, and the record says who wanted it so."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.event import What
from once.run import Outcome
from once.store.base import Beat, Recorded, Store
from once.verdict import Go, Reason
from tests.conformance.by_hand import ALICE, BOB, HOUR, knows, reason, row, told
from tests.conformance.claims import LEASE, claim, ending, held, slot
from tests.conformance.conftest import Bench


class TestPause:
    """Nothing starts; what is running goes on."""

    def test_a_task_is_paused_by_its_name(self, store: Store) -> None:
        """And no other."""
        knows(store, "report", "other")

        assert store.pause("report", by=ALICE)
        assert reason(store.claim(claim()).verdict) is Reason.PAUSED
        assert store.claim(claim(task="other")).verdict == Go(attempt=1)

    def test_a_task_that_nobody_knows_cannot_be_paused(self, store: Store) -> None:
        """A slip of the pen would be taken for a pause. No event either."""
        assert not store.pause("reprot", by=ALICE)
        assert store.task("reprot") is None
        assert told(store, "reprot") == []

    def test_the_look_before_the_claim_knows_of_it(self, store: Store) -> None:
        """By whom, where, and why."""
        knows(store, "report")
        store.pause("report", by=ALICE)

        assert store.look(claim()).paused == "by alice on web1: deploy"
        assert store.look(claim(task="other")).paused is None

    def test_the_skip_on_record_names_who_and_why(self, store: Store) -> None:
        """Whoever finds the gap need not ask around."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.claim(claim())

        assert (row(store, 2).outcome, row(store, 2).reason) == (Outcome.SKIPPED, "paused: by alice on web1: deploy")

    def test_a_pause_without_a_reason_names_who(self, store: Store) -> None:
        """Nothing hangs behind it."""
        knows(store, "report")
        store.pause("report", by=BOB)
        store.claim(claim())

        assert row(store, 2).reason == "paused: by bob on web2"

    def test_a_pause_with_a_length_ends_by_itself(self, bench: Bench, store: Store) -> None:
        """By the store's clock, to the instant; what was skipped meanwhile stays so."""
        knows(store, "report")
        store.pause("report", by=ALICE, length=HOUR)
        bench.let_pass(HOUR - timedelta(microseconds=1))
        before = store.claim(claim(slot(0))).verdict
        bench.let_pass(timedelta(microseconds=1))

        assert reason(before) is Reason.PAUSED
        assert reason(store.claim(claim(slot(0))).verdict) is Reason.SKIPPED_BEFORE
        assert store.claim(claim(slot(1))).verdict == Go(attempt=1)

    def test_the_last_pause_of_a_task_counts(self, bench: Bench, store: Store) -> None:
        """Who says an hour after somebody said for ever means an hour."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.pause("report", by=BOB, length=HOUR)
        bench.let_pass(HOUR)

        assert store.claim(claim(slot(1))).verdict == Go(attempt=1)

    def test_a_run_that_is_at_work_goes_on(self, store: Store) -> None:
        """It is for cancel to stop it."""
        hold = held(store)
        store.pause("report", by=ALICE)

        assert store.beat(hold, LEASE) == Beat(ours=True)
        assert store.finish(hold, ending()) is Recorded.AS_ENDED

    def test_resumed_it_starts_again(self, store: Store) -> None:
        """The slots in between stay skipped."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.claim(claim(slot(0)))

        assert store.resume("report", by=BOB)
        assert reason(store.claim(claim(slot(0))).verdict) is Reason.SKIPPED_BEFORE
        assert store.claim(claim(slot(1))).verdict == Go(attempt=1)

    def test_resuming_what_is_not_paused_does_nothing(self, bench: Bench, store: Store) -> None:
        """Neither a task, nor all, nor a pause that has ended by itself; and no event says otherwise."""
        knows(store, "report")
        store.pause("report", by=ALICE, length=HOUR)
        store.pause(None, by=ALICE, length=HOUR)
        bench.let_pass(HOUR)

        assert [store.resume(task, by=BOB) for task in ("report", "reprot", None)] == [False, False, False]
        assert told(store) == [What.PAUSE, What.PAUSE]


class TestPauseOfMany:
    """One row pauses all, or all of a scope; also what nobody knows yet."""

    def test_all_are_paused(self, store: Store) -> None:
        """Each skip says by whom."""
        knows(store, "report", "other")
        store.pause(None, by=ALICE)
        verdicts = [store.claim(claim(task=task)).verdict for task in ("report", "other")]

        assert [reason(verdict) for verdict in verdicts] == [Reason.PAUSED, Reason.PAUSED]
        assert row(store, 2).reason == "paused: by alice on web1: deploy"

    def test_a_task_that_nobody_knows_is_paused_at_its_first_claim(self, store: Store) -> None:
        """A deployment in a maintenance window starts nothing."""
        store.pause(None, by=ALICE, scope="eu/")
        claimed = store.claim(claim(task="eu/new"))

        assert reason(claimed.verdict) is Reason.PAUSED
        assert [run.outcome for run in store.runs("eu/new")] == [Outcome.SKIPPED]

    @pytest.mark.parametrize("task", ["eu", "report", "us/eu/report", "EU/report"])
    def test_a_scope_is_how_a_name_begins(self, store: Store, task: str) -> None:
        """To the letter, and from the first."""
        store.pause(None, by=ALICE, scope="eu/")

        assert store.claim(claim(task=task)).verdict == Go(attempt=1)

    @pytest.mark.parametrize("scope", ["%", "_", "e_/", "\\"])
    def test_a_scope_is_no_pattern(self, store: Store, scope: str) -> None:
        """A name is data."""
        store.pause(None, by=ALICE, scope=scope)

        assert store.claim(claim(task="eu/report")).verdict == Go(attempt=1)
        assert reason(store.claim(claim(task=f"{scope}report")).verdict) is Reason.PAUSED

    def test_the_end_of_a_pause_of_all_leaves_those_paused_by_name(self, store: Store) -> None:
        """Somebody had a reason of their own."""
        knows(store, "report", "other")
        store.pause("report", by=BOB)
        store.pause(None, by=ALICE)

        assert store.resume(None, by=ALICE)
        assert reason(store.claim(claim()).verdict) is Reason.PAUSED
        assert row(store, 2).reason == "paused: by bob on web2"
        assert store.claim(claim(task="other")).verdict == Go(attempt=1)

    def test_the_end_of_a_pause_by_name_leaves_that_of_all(self, store: Store) -> None:
        """The window is still open."""
        knows(store, "report")
        store.pause("report", by=BOB)
        store.pause(None, by=ALICE)

        assert store.resume("report", by=BOB)
        assert reason(store.claim(claim()).verdict) is Reason.PAUSED

    def test_scopes_end_one_by_one(self, store: Store) -> None:
        """What one operator has paused another does not resume unawares."""
        store.pause(None, by=ALICE)
        store.pause(None, by=BOB, scope="eu/")
        store.resume(None, by=ALICE)

        assert reason(store.claim(claim(task="eu/report")).verdict) is Reason.PAUSED
        assert store.claim(claim(task="us/report")).verdict == Go(attempt=1)
        assert not store.resume(None, by=ALICE)
        assert store.resume(None, by=BOB, scope="eu/")
        assert store.claim(claim(slot(1), task="eu/report")).verdict == Go(attempt=1)

    def test_it_ends_by_itself(self, bench: Bench, store: Store) -> None:
        """And may be set anew."""
        store.pause(None, by=ALICE)
        store.pause(None, by=ALICE, length=HOUR)
        paused = store.claim(claim(slot(0))).verdict
        bench.let_pass(HOUR)

        assert reason(paused) is Reason.PAUSED
        assert store.claim(claim(slot(1))).verdict == Go(attempt=1)


class TestRetire:
    """A task that is no more."""

    def test_its_starts_are_skipped_by_name_of_who_did_it(self, store: Store) -> None:
        """A forgotten crontab line is harmless, and says what it is."""
        knows(store, "report")

        assert store.retire("report", by=ALICE)
        assert reason(store.claim(claim()).verdict) is Reason.RETIRED
        assert row(store, 2).reason == "retired: by alice on web1: deploy"
        assert row(store, 2).outcome is Outcome.SKIPPED

    def test_once_is_enough(self, store: Store) -> None:
        """The first who did it is the one that is named."""
        knows(store, "report")
        store.retire("report", by=ALICE)

        assert not store.retire("report", by=BOB)
        assert not store.retire("reprot", by=BOB)
        assert store.look(claim()).retired == "by alice on web1: deploy"
        assert told(store) == [What.RETIRE]

    def test_resumed_it_is_back(self, store: Store) -> None:
        """Paused or not."""
        knows(store, "report")
        store.retire("report", by=ALICE)
        store.pause("report", by=ALICE)

        assert store.resume("report", by=BOB)
        assert store.claim(claim()).verdict == Go(attempt=1)

    def test_a_rerun_by_hand_passes(self, store: Store) -> None:
        """Pauses and retirements are about the schedule."""
        knows(store, "report")
        store.retire("report", by=ALICE)
        store.pause("report", by=ALICE)
        store.pause(None, by=ALICE)

        assert store.claim(claim(rerun=True)).verdict == Go(attempt=1)
