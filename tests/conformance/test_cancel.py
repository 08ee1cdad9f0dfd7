"""Cancel: a run is asked to stop, or is over at once; whichever it is, its slot is not run again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.run import Outcome
from once.store.base import Beat, Cancelled, Recorded, Store
from once.verdict import Overlap, Reason
from tests.conformance.by_hand import ALICE, BOB, HOUR, reason, row, told, waits_to_retry
from tests.conformance.claims import LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench


class TestCancel:
    """A run is asked to stop, or is over at once where nobody is there to answer."""

    def test_the_holder_learns_it_from_its_next_beat(self, store: Store) -> None:
        """With who and why; its lease is extended all the same, since it has yet to stop."""
        hold = held(store)
        cancelled = store.cancel("report", by=ALICE)
        beat = store.beat(hold, LEASE)

        assert cancelled.ended == ()
        assert [run.number for run in cancelled.asked] == [1]
        assert cancelled.asked[0].stop_asked == "cancelled by alice on web1: deploy"
        assert beat == Beat(ours=True, stop="cancelled by alice on web1: deploy")
        assert row(store, 1).outcome is Outcome.RUNNING

    def test_its_end_is_the_holders_to_record(self, store: Store) -> None:
        """Final: no attempt that is left may repeat it."""
        hold = held(store, claim(attempts=9))
        store.cancel("report", by=ALICE)
        why = store.beat(hold, LEASE).stop
        recorded = store.finish(hold, ending(Outcome.CANCELLED, reason=why, exit_status=143))

        assert recorded is Recorded.AS_ENDED
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.CANCELLED
        assert (row(store, 1).reason, row(store, 1).exit_status) == ("cancelled by alice on web1: deploy", 143)

    @pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.LOST])
    def test_what_came_to_nothing_before_it_heard_is_cancelled_all_the_same(
        self, store: Store, outcome: Outcome
    ) -> None:
        """Neither its holder nor anybody else repeats it; how it ended is kept."""
        first = claim(attempts=9)
        hold = held(store, first)
        store.cancel("report", by=ALICE)
        end = ending(outcome, exit_status=7, reason="for its own reason", retry_at=NOON + HOUR, tail=b"oops")
        recorded = store.finish(hold, end)
        own = store.claim(claim(attempts=9).replaced(retry_of=first.token)).verdict
        other = store.claim(claim(attempts=9, by=holder("b"))).verdict

        assert recorded is Recorded.AS_ENDED
        assert (row(store, 1).outcome, row(store, 1).exit_status, row(store, 1).retry_at) == ("cancelled", 7, None)
        assert row(store, 1).reason == "cancelled by alice on web1: deploy; for its own reason"
        assert row(store, 1).tail == b"oops"
        assert [reason(own), reason(other)] == [Reason.CANCELLED, Reason.CANCELLED]
        assert store.finish(hold, end) is Recorded.ALREADY

    def test_a_second_request_does_not_rename_the_first(self, store: Store) -> None:
        """Both have left an event."""
        hold = held(store)
        store.cancel("report", by=ALICE)
        store.cancel("report", by=BOB)

        assert store.beat(hold, LEASE).stop == "cancelled by alice on web1: deploy"
        assert [event.login for event in store.events("report", since=NOON)] == ["bob", "alice"]

    def test_who_cancels_after_a_newer_run_has_asked_changes_nothing(self, store: Store) -> None:
        """The run stops for the first who wanted it."""
        hold = held(store, claim(slot(-1)))
        store.claim(claim(slot(0), overlap=Overlap.REPLACE))
        store.cancel("report", by=ALICE)

        assert store.beat(hold, LEASE).stop == "replaced by slot 2026-11-27T12:00:00Z"

    def test_a_run_whose_lease_has_ended_is_over_at_once(self, bench: Bench, store: Store) -> None:
        """Nobody is waited for who may never answer."""
        hold = held(store, claim(attempts=9))
        bench.let_pass(LEASE)

        assert store.cancel("report", by=ALICE) == Cancelled(ended=(1,))
        assert (row(store, 1).outcome, row(store, 1).reason) == (
            Outcome.CANCELLED,
            "cancelled by alice on web1: deploy",
        )
        assert store.beat(hold, LEASE) == Beat(
            ours=False, outcome=Outcome.CANCELLED, reason="cancelled by alice on web1: deploy"
        )
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.CANCELLED

    def test_a_run_from_before_its_host_was_started_again_is_over_at_once(self, bench: Bench, store: Store) -> None:
        """In a file of one host, whatever its lease says; elsewhere its lease tells."""
        held(store)
        cancelled = store.cancel("report", by=ALICE, boot="boot2")

        assert bool(cancelled.ended) is (bench.kind == "sqlite")
        assert bool(cancelled.asked) is (bench.kind != "sqlite")

    @pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.LOST])
    def test_the_late_end_of_a_cancelled_run_is_evidence(self, bench: Bench, store: Store, outcome: Outcome) -> None:
        """Beside the operator's word, once; nothing else is touched."""
        hold = held(store)
        bench.let_pass(LEASE)
        store.cancel("report", by=ALICE)
        before = row(store, 1)
        late = ending(outcome, exit_status=3, tail=b"late")
        recorded = [store.finish(hold, late), store.finish(hold, late)]

        assert recorded == [Recorded.LATE, Recorded.ALREADY]
        assert row(store, 1) == before.replaced(late_outcome=outcome, late_status=3, late_at=late.finished_at)

    def test_a_late_success_settles_the_slot_all_the_same(self, bench: Bench, store: Store) -> None:
        """What was done need not be done again, also by hand."""
        hold = held(store)
        bench.let_pass(LEASE)
        store.cancel("report", by=ALICE)
        store.finish(hold, ending())

        assert reason(store.claim(claim(rerun=True)).verdict) is Reason.DONE

    def test_the_late_end_of_a_cancelled_run_is_waited_for_as_that_of_a_lost_one(
        self, bench: Bench, store: Store
    ) -> None:
        """It may lie in the journal of a host that is down: a prune leaves the row for thirty days."""
        hold = held(store)
        bench.let_pass(LEASE)
        store.cancel("report", by=ALICE)
        store.finish(held(store, claim(slot(1))), ending())
        bench.let_pass(timedelta(days=29))
        early = store.prune("report", HOUR)
        kept = row(store, 1).outcome
        bench.let_pass(timedelta(days=2))

        assert (early.runs, kept) == (0, Outcome.CANCELLED)
        assert store.prune("report", HOUR).runs == 1
        assert store.finish(hold, ending()) is Recorded.UNKNOWN

    def test_a_run_that_was_asked_and_never_answered_is_not_run_again(self, bench: Bench, store: Store) -> None:
        """Its lease ended before its beat came: whoever finds it keeps to the operator's word."""
        hold = held(store, claim(attempts=9))
        store.cancel("report", by=ALICE)
        bench.let_pass(LEASE)
        verdict = store.claim(claim(attempts=9, by=holder("b"))).verdict

        assert reason(verdict) is Reason.CANCELLED
        assert row(store, 1).outcome is Outcome.CANCELLED
        assert row(store, 1).reason == ("cancelled by alice on web1: deploy; its lease had ended, found by b (pid 42)")
        assert store.finish(hold, ending(Outcome.CANCELLED)) is Recorded.LATE

    def test_a_retry_that_is_waited_for_is_cancelled(self, store: Store) -> None:
        """The holder's own next claim is turned away, and so is everybody else's; how the attempt ended is kept."""
        first = waits_to_retry(store)
        cancelled = store.cancel("report", by=ALICE)
        own = store.claim(claim(attempts=9).replaced(retry_of=first.token)).verdict
        other = store.claim(claim(attempts=9, by=holder("b"))).verdict

        assert cancelled == Cancelled(ended=(1,))
        assert [reason(own), reason(other)] == [Reason.CANCELLED, Reason.CANCELLED]
        assert (row(store, 1).outcome, row(store, 1).exit_status, row(store, 1).retry_at) == (
            Outcome.CANCELLED,
            7,
            None,
        )

    def test_a_retry_that_has_begun_is_cancelled_itself(self, store: Store) -> None:
        """The attempt before it is history."""
        first = waits_to_retry(store)
        second = held(store, claim(attempts=9).replaced(retry_of=first.token))
        cancelled = store.cancel("report", by=ALICE)

        assert (cancelled.ended, [run.number for run in cancelled.asked]) == ((), [2])
        assert store.beat(second, LEASE).stop == "cancelled by alice on web1: deploy"
        assert row(store, 1).outcome is Outcome.FAILED

    def test_a_retry_that_nobody_waits_for_any_more_is_left(self, bench: Bench, store: Store) -> None:
        """The lease after it is over: that attempt has failed, and that is all there is to it."""
        waits_to_retry(store)
        bench.let_pass(HOUR + LEASE)

        assert store.cancel("report", by=ALICE) == Cancelled()
        assert row(store, 1).outcome is Outcome.FAILED

    def test_one_of_several_is_cancelled_by_its_number(self, store: Store) -> None:
        """The others work on."""
        holds = [held(store, claim(slot(hour), overlap=Overlap.ALLOW)) for hour in range(3)]
        cancelled = store.cancel("report", 2, by=ALICE)
        stops = [store.beat(hold, LEASE).stop for hold in holds]

        assert [run.number for run in cancelled.asked] == [2]
        assert stops == [None, "cancelled by alice on web1: deploy", None]

    def test_without_a_number_all_of_them_are(self, bench: Bench, store: Store) -> None:
        """Those that are alive and those that are stuck, each with its event."""
        held(store, claim(slot(0), overlap=Overlap.ALLOW))
        bench.let_pass(LEASE / 2)
        alive = held(store, claim(slot(1), overlap=Overlap.ALLOW))
        bench.let_pass(LEASE / 2)
        cancelled = store.cancel("report", by=ALICE)

        assert cancelled.ended == (1,)
        assert [run.number for run in cancelled.asked] == [alive.number]
        assert sorted(event.run or 0 for event in store.events("report", since=NOON)) == [1, 2]

    @pytest.mark.parametrize("number", [None, 1, 7])
    def test_where_nothing_runs_nothing_happens(self, store: Store, number: int | None) -> None:
        """No row is changed, no event is left."""
        store.finish(held(store), ending())
        before = row(store, 1)

        assert store.cancel("report", number, by=ALICE) == Cancelled()
        assert store.cancel("reprot", number, by=ALICE) == Cancelled()
        assert (row(store, 1), told(store)) == (before, [])

    def test_a_run_whose_fence_a_transaction_holds_is_asked(self, bench: Bench, store: Store) -> None:
        """It is alive whatever its lease says: its job's transaction is open."""
        if bench.kind == "sqlite":
            pytest.skip("SQLite has no fence")
        hold = held(store)
        bench.let_pass(LEASE)
        with bench.holding("SELECT once.assert_holder('report', 1)"):
            cancelled = store.cancel("report", by=ALICE)
            beat = store.beat(hold, LEASE)

        assert (cancelled.ended, [run.number for run in cancelled.asked]) == ((), [1])
        assert beat == Beat(ours=True, stop="cancelled by alice on web1: deploy")
