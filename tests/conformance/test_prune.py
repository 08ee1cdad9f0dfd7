"""Forgetting old history never forgets a promise: whatever goes, no slot of it runs again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from once.event import Operator
from once.run import Outcome
from once.store.base import Pruned, Recorded, Store
from once.verdict import Go, Reason, Skip
from tests.conformance.claims import LEASE, claim, ending, held, slot
from tests.conformance.conftest import Bench

KEEP = timedelta(days=90)
HOUR = timedelta(hours=1)


def ran(store: Store, hour: float, outcome: Outcome = Outcome.SUCCEEDED, **wish: Any) -> None:
    """The slot of this hour was claimed, and ended so."""
    store.finish(held(store, claim(slot(hour), **wish)), ending(outcome))


def numbers(store: Store) -> list[int]:
    """The runs that the task still has, oldest first."""
    return sorted(run.number for run in store.runs("report"))


def test_what_is_younger_than_keep_stays(bench: Bench, store: Store) -> None:
    """To the instant."""
    ran(store, 0)
    ran(store, 1)
    bench.let_pass(KEEP)

    assert store.prune("report", KEEP) == Pruned()
    assert numbers(store) == [1, 2]


def test_what_is_older_goes_and_its_slots_are_settled(bench: Bench, store: Store) -> None:
    """All but the newest success."""
    for hour in range(4):
        ran(store, hour)
    bench.let_pass(KEEP + 4 * HOUR)
    pruned = store.prune("report", KEEP)

    assert pruned == Pruned(runs=3, settled_through=slot(2).at)
    assert numbers(store) == [4]
    assert store.task("report").settled_through == slot(2).at


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED])
def test_a_slot_that_was_forgotten_never_runs_again(bench: Bench, store: Store, outcome: Outcome) -> None:
    """However it ended, however many attempts a start may make, and also one that no run was seen of."""
    ran(store, 0, outcome)
    ran(store, 2)
    bench.let_pass(KEEP + 4 * HOUR)
    store.prune("report", KEEP)
    verdicts = [store.claim(claim(slot(hour), attempts=9)).verdict for hour in (-1, 0)]

    assert numbers(store) == [2]
    assert verdicts == [Skip(Reason.SETTLED)] * 2
    assert numbers(store) == [2]


def test_a_slot_after_the_forgotten_ones_runs_as_ever(bench: Bench, store: Store) -> None:
    """A prune settles what it forgets, nothing beyond; numbers go on where they were."""
    ran(store, 0)
    ran(store, 1)
    bench.let_pass(KEEP + 4 * HOUR)
    store.prune("report", KEEP)
    claimed = store.claim(claim(slot(3)))

    assert claimed.verdict == Go(attempt=1)
    assert claimed.hold.number == 3


def test_a_running_run_stays_and_its_slot_stays_open(bench: Bench, store: Store) -> None:
    """Its holder may need another attempt of it: what is settled ends before."""
    ran(store, 0)
    running = held(store, claim(slot(1), lease=KEEP * 2))
    bench.let_pass(timedelta(minutes=1))
    store.claim(claim(slot(2)))
    bench.let_pass(KEEP + 4 * HOUR)
    pruned = store.prune("report", KEEP / 2)

    assert pruned.settled_through is None
    assert numbers(store) == [1, 2, 3]
    assert store.finish(running, ending(Outcome.FAILED)) is Recorded.AS_ENDED
    assert store.claim(claim(slot(1), attempts=2)).verdict == Go(attempt=2)


def test_a_run_whose_lease_has_ended_is_not_forgotten_before_it_is_lost(bench: Bench, store: Store) -> None:
    """It says running, and its beat may still come through."""
    ran(store, 0)
    running = held(store, claim(slot(1)))
    bench.let_pass(KEEP + 4 * HOUR)
    store.prune("report", KEEP)

    assert numbers(store) == [1, 2]
    assert store.beat(running, LEASE).ours


def test_a_holder_that_waits_to_retry_finds_its_slot_open(bench: Bench, store: Store) -> None:
    """Also when an operator forgets nearly everything meanwhile."""
    ran(store, 0)
    ran(store, 1)
    hold = held(store, claim(slot(2), attempts=2))
    at = bench.clock.now()
    store.finish(hold, ending(Outcome.FAILED, finished_at=at, retry_at=at + 8 * HOUR))
    bench.let_pass(5 * HOUR)
    pruned = store.prune("report", HOUR)

    assert pruned == Pruned(runs=1, settled_through=slot(0).at)
    assert numbers(store) == [2, 3]


def test_the_newest_start_stays_whatever_became_of_it(bench: Bench, store: Store) -> None:
    """--min-interval goes by it, with or without a slot."""
    store.finish(held(store, claim(None)), ending(Outcome.FAILED))
    bench.let_pass(HOUR)
    store.finish(held(store, claim(None)), ending(Outcome.FAILED))
    bench.let_pass(KEEP + HOUR)
    store.prune("report", KEEP)
    verdict = store.claim(claim(None, min_interval=KEEP * 2)).verdict

    assert numbers(store) == [2]
    assert verdict == Skip(Reason.TOO_SOON)


def test_the_newest_success_stays_by_number_and_by_slot(bench: Bench, store: Store) -> None:
    """What was caught up last is not the slot that ONCE_PREVIOUS_SUCCESS names."""
    ran(store, 0)
    ran(store, 5)
    ran(store, 4)
    ran(store, 6, Outcome.FAILED)
    ran(store, 7, Outcome.FAILED)
    bench.let_pass(KEEP + 9 * HOUR)
    store.prune("report", KEEP)

    assert numbers(store) == [2, 3, 5]
    assert store.look(claim(slot(8))).previous_success == slot(5).at


def test_the_end_of_a_lost_run_may_still_come_for_a_month(bench: Bench, store: Store) -> None:
    """It waits in the journal of a host that is down; there it would be set aside if the row were gone."""
    lost = held(store, claim(slot(0)))
    bench.let_pass(LEASE + HOUR)
    ran(store, 1)
    ran(store, 2)
    bench.let_pass(timedelta(days=29))
    soon = store.prune("report", HOUR)
    kept = numbers(store)
    recorded = store.finish(lost, ending(Outcome.FAILED))
    bench.let_pass(timedelta(days=2))
    late = store.prune("report", HOUR)

    assert (soon.runs, kept) == (1, [1, 3])
    assert recorded is Recorded.INSTEAD_OF_LOST
    assert (late.runs, numbers(store)) == (1, [3])


def test_a_lost_run_that_nobody_ended_goes_in_the_end(bench: Bench, store: Store) -> None:
    """Its end, if it ever comes, is told to be unknown; the slot is settled all the same."""
    lost = held(store, claim(slot(0)))
    bench.let_pass(LEASE + HOUR)
    ran(store, 1)
    bench.let_pass(KEEP + HOUR)
    store.prune("report", KEEP)

    assert numbers(store) == [2]
    assert store.finish(lost, ending()) is Recorded.UNKNOWN
    assert store.claim(claim(slot(0), attempts=2)).verdict == Skip(Reason.SETTLED)


def test_a_slot_that_was_run_ahead_of_its_time_settles_nothing_before_it(bench: Bench, store: Store) -> None:
    """What an operator ran for next year must not keep this year's slots from running."""
    ran(store, 24 * 200)
    ran(store, 1)
    ran(store, 2)
    bench.let_pass(KEEP + 4 * HOUR)
    pruned = store.prune("report", KEEP)

    assert pruned == Pruned(runs=1, settled_through=slot(1).at)
    assert store.claim(claim(slot(24 * 90))).verdict == Go(attempt=1)


def test_an_old_slot_that_was_run_today_is_history_of_today(bench: Bench, store: Store) -> None:
    """By hand, say: its row tells what was done today."""
    ran(store, 0)
    bench.let_pass(KEEP + 4 * HOUR)
    ran(store, 1)
    ran(store, 24 * 90)
    pruned = store.prune("report", KEEP)

    assert pruned == Pruned(runs=1, settled_through=slot(0).at)
    assert numbers(store) == [2, 3]


def test_what_is_settled_never_goes_back(bench: Bench, store: Store) -> None:
    """A later prune of an older slot, run by hand and then forgotten, leaves it where it was."""
    ran(store, 3)
    ran(store, 2)
    ran(store, 5)
    bench.let_pass(KEEP + 9 * HOUR)
    first = store.prune("report", KEEP, page=1)
    second = store.prune("report", KEEP, page=1, beyond=first.next)

    assert (first.settled_through, second.settled_through) == (slot(3).at, slot(3).at)
    assert numbers(store) == [3]


def test_a_long_history_goes_page_by_page(bench: Bench, store: Store) -> None:
    """Each page is a short transaction; what must stay does not stand in the way of what follows."""
    for hour in range(7):
        ran(store, hour, Outcome.SUCCEEDED if hour == 0 else Outcome.FAILED)
    bench.let_pass(KEEP + 9 * HOUR)
    pages, beyond = [], 0
    while beyond is not None:
        pruned = store.prune("report", KEEP, page=2, beyond=beyond)
        pages.append(pruned.runs)
        beyond = pruned.next

    assert pages == [1, 2, 2, 0]
    assert numbers(store) == [1, 7]


def test_a_rehearsal_says_it_and_does_nothing(bench: Bench, store: Store) -> None:
    """The same figures."""
    for hour in range(4):
        ran(store, hour)
    bench.let_pass(KEEP + 4 * HOUR)
    foreseen = store.prune("report", KEEP, rehearse=True)

    assert (numbers(store), store.task("report").settled_through) == ([1, 2, 3, 4], None)
    assert store.prune("report", KEEP) == foreseen


def test_with_slack_it_begins_later_and_then_takes_all(bench: Bench, store: Store) -> None:
    """So that a task that runs each minute prunes now and then, not each minute."""
    for hour in range(4):
        ran(store, hour)
        bench.let_pass(HOUR)
    bench.let_pass(KEEP - 2 * HOUR)
    before = store.prune("report", KEEP, slack=3 * HOUR)
    bench.let_pass(2 * HOUR)
    after = store.prune("report", KEEP, slack=3 * HOUR)

    assert (before.runs, after.runs) == (0, 3)


def test_an_operators_prune_is_noted(bench: Bench, store: Store) -> None:
    """Who, where, what."""
    ran(store, 0)
    ran(store, 1)
    bench.let_pass(KEEP + 4 * HOUR)
    store.prune("report", KEEP, by=Operator("ops", "desk"))

    assert bench.meddle("SELECT login, host, what, task FROM once.event") == [("ops", "desk", "prune", "report")]


def test_a_task_that_nobody_knows_has_nothing_to_forget(store: Store) -> None:
    """Absence is a value."""
    assert store.prune("nobody", KEEP) == Pruned()


def test_whoever_prunes_does_not_wait_for_whoever_claims(bench: Bench, store: Store, store_kind: str) -> None:
    """The task is busy: another time will do."""
    if store_kind == "sqlite":
        pytest.skip("a file has one writer, who is waited for shortly")
    ran(store, 0)
    ran(store, 1)
    bench.let_pass(KEEP + 4 * HOUR)
    with store._database.transaction() as claiming:
        claiming.row("lock_task", {"task": "report"})
        pruned = bench.open().prune("report", KEEP)

    assert pruned == Pruned(busy=True, next=0)
    assert numbers(store) == [1, 2]


def test_a_row_that_a_transaction_holds_stays_for_the_next_time(bench: Bench, store: Store, store_kind: str) -> None:
    """A job that outlived its run, behind its fence; its slot is settled already."""
    if store_kind == "sqlite":
        pytest.skip("there is no fence in a file")
    for hour in range(3):
        ran(store, hour)
    bench.let_pass(KEEP + 4 * HOUR)
    with store._database.transaction() as fenced:
        fenced.row("lock_run", {"task": "report", "number": 1})
        pruned = bench.open().prune("report", KEEP)

    assert pruned == Pruned(runs=1, settled_through=slot(1).at)
    assert numbers(store) == [1, 3]
    assert store.prune("report", KEEP).runs == 1
