"""Excuse and rerun: a slot becomes a known gap, or gets its next attempt by hand."""

from __future__ import annotations

import pytest

from once.event import Event, What
from once.run import Outcome
from once.store.base import Excused, Recorded, Store
from once.verdict import Go, Overlap, Reason
from tests.conformance.by_hand import ALICE, BOB, HOUR, knows, reason, row, told, waits_to_retry
from tests.conformance.claims import LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench


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
        waits_to_retry(store, slot(1), overlap=Overlap.ALLOW)

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
