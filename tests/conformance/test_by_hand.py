"""What operators do by hand: pause, resume, retire, cancel, excuse; and what the events say of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.event import Event, Operator, What
from once.run import Ending, Hold, Outcome, Run
from once.store.base import Beat, Cancelled, Excused, Recorded, Store
from once.verdict import Go, Overlap, Reason, Skip, Verdict
from tests.conformance.claims import LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

ALICE = Operator("alice", "web1", "deploy")
BOB = Operator("bob", "web2")
HOUR = timedelta(hours=1)


def reason(verdict: Verdict) -> Reason:
    """Why a start was turned away."""
    assert isinstance(verdict, Skip), verdict
    return verdict.reason


def row(store: Store, number: int) -> Run:
    """A run that must be there."""
    found = store.run("report", number)
    assert found is not None
    return found


def knows(store: Store, *tasks: str) -> None:
    """Make tasks known, by a slot of each that has succeeded."""
    for task in tasks:
        store.finish(held(store, claim(slot(-9), task=task)), ending())


def told(store: Store, task: str = "report") -> list[What]:
    """What was done to a task, newest first."""
    return [event.what for event in store.events(task, since=NOON - HOUR)]


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
        first, _ = _waits_to_retry(store)
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
        first, _ = _waits_to_retry(store)
        second = held(store, claim(attempts=9).replaced(retry_of=first.token))
        cancelled = store.cancel("report", by=ALICE)

        assert (cancelled.ended, [run.number for run in cancelled.asked]) == ((), [2])
        assert store.beat(second, LEASE).stop == "cancelled by alice on web1: deploy"
        assert row(store, 1).outcome is Outcome.FAILED

    def test_a_retry_that_nobody_waits_for_any_more_is_left(self, bench: Bench, store: Store) -> None:
        """The lease after it is over: that attempt has failed, and that is all there is to it."""
        _waits_to_retry(store)
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


class TestExcuse:
    """A known gap: nobody runs it, and nobody is woken for it."""

    def test_a_slot_that_nobody_ran_is_excused(self, store: Store) -> None:
        """By a row of its own, which a later start finds."""
        knows(store, "report")

        assert store.excuse([claim()], by=ALICE) == Excused(slots=(slot().at,))
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.EXCUSED
        assert (row(store, 2).outcome, row(store, 2).reason) == (Outcome.EXCUSED, "by alice on web1: deploy")
        assert row(store, 2).lease_until is None

    @pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.CANCELLED])
    def test_a_slot_that_came_to_nothing_is_excused(self, store: Store, outcome: Outcome) -> None:
        """Attempts are left, and nobody is to take them; what happened stays on record."""
        store.finish(held(store), ending(outcome))
        excused = store.excuse([claim()], by=ALICE)

        assert excused == Excused(slots=(slot().at,))
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.EXCUSED
        assert [(run.attempt, run.outcome) for run in store.runs("report")] == [(2, Outcome.EXCUSED), (1, outcome)]

    def test_a_lost_run_is_excused_and_its_late_end_is_evidence(self, bench: Bench, store: Store) -> None:
        """The operator has it found if nobody else has."""
        hold = held(store, claim(attempts=9))
        bench.let_pass(LEASE)
        excused = store.excuse([claim()], by=ALICE)
        recorded = store.finish(hold, ending(Outcome.FAILED))

        assert excused == Excused(slots=(slot().at,))
        assert row(store, 1).outcome is Outcome.LOST
        assert recorded is Recorded.LATE
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.EXCUSED

    def test_a_skipped_slot_is_excused(self, store: Store) -> None:
        """It counts no more as left out."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.claim(claim())

        assert store.excuse([claim()], by=ALICE) == Excused(slots=(slot().at,))
        assert reason(store.claim(claim()).verdict) is Reason.EXCUSED

    def test_what_is_alive_is_left_and_counted(self, store: Store) -> None:
        """At work, or waiting to retry."""
        held(store, claim(slot(0), overlap=Overlap.ALLOW))
        _waits_to_retry(store, slot(1), overlap=Overlap.ALLOW)

        assert store.excuse([claim(slot(0)), claim(slot(1))], by=ALICE) == Excused(alive=2)
        assert told(store) == []

    def test_what_has_succeeded_is_left(self, bench: Bench, store: Store) -> None:
        """Also late: it is no gap."""
        store.finish(held(store, claim(slot(0))), ending())
        lost = held(store, claim(slot(1)))
        bench.let_pass(LEASE)
        store.cancel("report", by=ALICE)
        store.finish(lost, ending())
        before = list(store.runs("report"))

        assert store.excuse([claim(slot(0)), claim(slot(1))], by=BOB) == Excused()
        assert list(store.runs("report")) == before

    def test_what_is_settled_is_left(self, bench: Bench, store: Store) -> None:
        """Its history is gone, and it is no gap: an excuse would be all that is told of a slot that has succeeded."""
        for hour in range(2):
            store.finish(held(store, claim(slot(hour))), ending())
        bench.let_pass(3 * HOUR)
        store.prune("report", HOUR)

        assert store.excuse([claim(slot(hour)) for hour in (-1, 0)], by=ALICE) == Excused()
        assert [run.number for run in store.runs("report")] == [2]

    def test_twice_is_once(self, store: Store) -> None:
        """The first word stands."""
        knows(store, "report")
        store.excuse([claim()], by=ALICE)

        assert store.excuse([claim()], by=BOB) == Excused()
        assert len(list(store.runs("report"))) == 2
        assert told(store) == [What.EXCUSE]

    def test_what_is_excused_in_several_transactions_is_one_event(self, store: Store) -> None:
        """And another act is another event, whoever's it is."""
        knows(store, "report")
        for hour, by, continued in ((0, ALICE, False), (1, ALICE, True), (2, BOB, True), (3, ALICE, False)):
            store.excuse([claim(slot(hour))], by=by, continued=continued)
        events = store.events("report", since=NOON)

        assert [(event.login, event.slot, event.until) for event in reversed(events)] == [
            (ALICE.login, slot(0).at, slot(1).at),
            (BOB.login, slot(2).at, slot(2).at),
            (ALICE.login, slot(3).at, slot(3).at),
        ]

    def test_several_slots_are_one_event(self, store: Store) -> None:
        """From the first to the last; those that need no excuse are left out."""
        knows(store, "report")
        store.finish(held(store, claim(slot(2))), ending())
        excused = store.excuse([claim(slot(hour)) for hour in (3, 0, 1, 2)], by=ALICE)
        (event,) = store.events("report", since=NOON)

        assert excused.slots == (slot(3).at, slot(0).at, slot(1).at)
        assert (event.what, event.slot, event.until) == (What.EXCUSE, slot(0).at, slot(3).at)
        assert sorted(run.number for run in store.runs("report")) == [1, 2, 3, 4, 5]

    def test_numbers_go_on_after_it(self, store: Store) -> None:
        """An excuse has one of its own: the fencing token never repeats."""
        knows(store, "report")
        store.excuse([claim(slot(0)), claim(slot(1))], by=ALICE)

        assert held(store, claim(slot(2))).number == 4

    def test_an_excuse_starts_no_interval_and_proves_no_cron_alive(self, bench: Bench, store: Store) -> None:
        """It is an operator's doing, not a host's."""
        knows(store, "report")
        before = [bench.meddle(f"SELECT * FROM once.{table}") for table in ("sighting", "schedule")]
        store.excuse([claim(by=holder("laptop")).replaced(by_hand=True)], by=ALICE)

        assert [bench.meddle(f"SELECT * FROM once.{table}") for table in ("sighting", "schedule")] == before

    def test_a_later_start_does_not_run_it_but_a_rerun_does(self, store: Store) -> None:
        """The operator has changed their mind."""
        knows(store, "report")
        store.excuse([claim()], by=ALICE)
        later = store.claim(claim(attempts=9)).verdict
        caught_up = store.claim(claim(attempts=9, catches_up=True)).verdict
        rerun = store.claim(claim(rerun=True, attempts=None))

        assert [reason(later), reason(caught_up)] == [Reason.EXCUSED, Reason.EXCUSED]
        assert rerun.verdict == Go(attempt=2)


class TestRerun:
    """The slot's next attempt, by hand."""

    def test_whatever_became_of_the_slot_but_success(self, store: Store) -> None:
        """A cancelled slot too: who has the right to cancel may change their mind."""
        store.finish(held(store), ending(Outcome.CANCELLED))
        hold = held(store, claim(rerun=True, attempts=None))
        store.finish(hold, ending())

        assert row(store, 2).attempt == 2
        assert reason(store.claim(claim(rerun=True, attempts=None)).verdict) is Reason.DONE

    def test_a_success_is_repeated_only_with_again(self, store: Store) -> None:
        """And then as often as one likes."""
        store.finish(held(store), ending())
        for number in (2, 3):
            hold = held(store, claim(rerun=True, again=True, attempts=None))
            store.finish(hold, ending(Outcome.FAILED))

            assert (hold.number, row(store, number).attempt) == (number, number)
        assert reason(store.claim(claim(attempts=9)).verdict) is Reason.DONE

    def test_a_settled_slot_too(self, bench: Bench, store: Store) -> None:
        """Its history is gone: only again does it."""
        for hour in range(2):
            store.finish(held(store, claim(slot(hour))), ending())
        bench.let_pass(3 * HOUR)
        store.prune("report", HOUR)

        assert reason(store.claim(claim(rerun=True)).verdict) is Reason.SETTLED
        assert store.claim(claim(rerun=True, again=True)).verdict == Go(attempt=1)

    def test_what_is_alive_is_never_doubled(self, store: Store) -> None:
        """Neither the slot's own run nor another of the task; nothing is recorded for it."""
        hold = held(store)
        verdicts = [
            store.claim(claim(slot(hour), rerun=True, again=True, attempts=None)).verdict for hour in (0, -1, 1)
        ]

        assert [reason(verdict) for verdict in verdicts] == [Reason.HELD, Reason.OVERLAP, Reason.OVERLAP]
        assert [run.number for run in store.runs("report")] == [hold.number]

    def test_who_did_it_is_on_record(self, store: Store) -> None:
        """With the run that came of it."""
        hold = held(store, claim(rerun=True))
        store.note_rerun(hold, slot().at, by=ALICE)

        assert store.events("report", since=NOON) == [
            Event(
                at=NOON, what=What.RERUN, login="alice", host="web1", task="report", run=1, slot=slot().at, why="deploy"
            )
        ]


class TestEvents:
    """Who did what, when, on what, and why."""

    def test_they_are_told_newest_first(self, bench: Bench, store: Store) -> None:
        """Those of the task, and those of all that concern it."""
        knows(store, "eu/report", "eu/other")
        minute = timedelta(minutes=1)
        store.pause("eu/report", by=ALICE, length=HOUR)
        bench.let_pass(minute)
        store.pause("eu/other", by=ALICE)
        store.pause(None, by=BOB, scope="eu/")
        bench.let_pass(minute)
        store.pause(None, by=BOB, scope="us/")
        store.resume(None, by=BOB, scope="eu/")

        assert store.events("eu/report", since=NOON) == [
            Event(at=NOON + 2 * minute, what=What.RESUME, login="bob", host="web2", scope="eu/"),
            Event(at=NOON + minute, what=What.PAUSE, login="bob", host="web2", scope="eu/"),
            Event(
                at=NOON,
                what=What.PAUSE,
                login="alice",
                host="web1",
                task="eu/report",
                until=NOON + HOUR,
                why="deploy",
            ),
        ]

    def test_of_one_instant_the_last_comes_first(self, store: Store) -> None:
        """Two within a clock's grain keep their order."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.resume("report", by=ALICE)
        store.retire("report", by=ALICE)

        assert told(store) == [What.RETIRE, What.RESUME, What.PAUSE]

    def test_they_begin_where_one_asks(self, bench: Bench, store: Store) -> None:
        """And are no more than one asks for."""
        knows(store, "report")
        for _ in range(3):
            store.pause("report", by=ALICE)
            bench.let_pass(HOUR)
        newest = store.events("report", since=NOON, limit=1)

        assert [event.at for event in store.events("report", since=NOON + HOUR)] == [NOON + 2 * HOUR, NOON + HOUR]
        assert [event.at for event in newest] == [NOON + 2 * HOUR]

    def test_what_a_database_cannot_hold_does_not_cost_the_event(self, store: Store) -> None:
        """NUL and bytes that are no UTF-8 are replaced, in the reasons of rows too."""
        knows(store, "report")
        odd = Operator("al\0ice", "web\udcff", "caf\udce9\0")
        store.excuse([claim(slot(-1))], by=odd)
        store.pause("report", by=odd)
        store.claim(claim())
        event, excused = store.events("report", since=NOON)

        assert excused == event.replaced(what=What.EXCUSE, slot=slot(-1).at, until=slot(-1).at)
        assert (event.login, event.host, event.why) == (
            "al\N{REPLACEMENT CHARACTER}ice",
            "web?",
            "caf?\N{REPLACEMENT CHARACTER}",
        )
        assert row(store, 2).reason == f"by {event.login} on {event.host}: {event.why}"
        assert row(store, 3).reason == f"paused: {row(store, 2).reason}"

    def test_a_prune_by_hand_is_one_too(self, bench: Bench, store: Store) -> None:
        """It says how much went."""
        for hour in range(3):
            store.finish(held(store, claim(slot(hour))), ending())
        bench.let_pass(9 * HOUR)
        store.prune("report", HOUR, by=ALICE)
        (event,) = store.events("report", since=NOON)

        assert (event.what, event.login) == (What.PRUNE, "alice")
        assert event.why is not None and event.why.startswith("runs: 2, settled through: ")


def _waits_to_retry(store: Store, at: object = None, **wish: object) -> tuple[Hold, Ending]:
    """A holder whose attempt has failed with 7 and who will retry in an hour."""
    hold = held(store, claim(*([at] if at else []), attempts=9, **wish))
    failed = ending(Outcome.FAILED, exit_status=7, retry_at=NOON + HOUR, finished_at=NOON)
    store.finish(hold, failed)
    return hold, failed
