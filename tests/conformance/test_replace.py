"""--overlap replace: a newer slot asks the run in its way to stop, and starts when that has ended or its lease has."""

from __future__ import annotations

import pytest

from once.run import Outcome, Run, Slot
from once.store.base import Beat, Recorded, Store
from once.verdict import Go, Overlap, Reason, Skip, Verdict, Wait
from tests.conformance.claims import LEASE, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

BY_NOON = "replaced by slot 2026-11-27T12:00:00Z"


def asks(store: Store, at: Slot | None = slot(), host: str = "b") -> Verdict:  # noqa: B008  # frozen
    """What a start with --overlap replace is told."""
    return store.claim(claim(at, overlap=Overlap.REPLACE, by=holder(host))).verdict


def waits_for(verdict: Verdict) -> tuple[int, bool]:
    """The run that a start waits for, and whether this very look asks it to stop."""
    assert isinstance(verdict, Wait), verdict
    return verdict.run.number, verdict.replaces


def rows(store: Store) -> list[Run]:
    """The task's runs, oldest first."""
    return list(reversed(list(store.runs("report"))))


def outcomes(store: Store) -> list[Outcome]:
    return [run.outcome for run in rows(store)]


def test_a_newer_slot_asks_the_run_in_its_way_to_stop(store: Store) -> None:
    """Its holder learns by which slot; nothing else is written."""
    hold = held(store, claim(slot(-1)))
    verdict = asks(store)

    assert waits_for(verdict) == (1, True)
    assert store.beat(hold, LEASE) == Beat(ours=True, stop=BY_NOON)
    assert [(run.number, run.stop_asked) for run in rows(store)] == [(1, BY_NOON)]


def test_it_asks_once_and_then_waits(store: Store) -> None:
    """The look alone tells it so: a waiter takes no lock."""
    held(store, claim(slot(-1)))
    asks(store)
    facts = store.look(claim(overlap=Overlap.REPLACE))

    assert facts.blocker is not None and facts.blocker.stop_asked == BY_NOON
    assert waits_for(asks(store)) == (1, False)


def test_the_first_that_asked_is_the_one_that_is_named(store: Store) -> None:
    """A third slot waits as well."""
    hold = held(store, claim(slot(-1)))
    asks(store)

    assert waits_for(asks(store, slot(1), "c")) == (1, False)
    assert store.beat(hold, LEASE).stop == BY_NOON


def test_it_starts_when_the_old_run_has_ended(store: Store) -> None:
    """Not while that is still stopping, however long it takes: its beats go on."""
    hold = held(store, claim(slot(-1)))
    asks(store)
    store.beat(hold, LEASE)
    before = waits_for(asks(store))
    store.finish(hold, ending(Outcome.CANCELLED, reason=BY_NOON))

    assert before == (1, False)
    assert asks(store) == Go(attempt=1)
    assert outcomes(store) == [Outcome.CANCELLED, Outcome.RUNNING]


def test_it_starts_when_the_old_runs_lease_has_ended(bench: Bench, store: Store) -> None:
    """To the instant. What was asked to stop and never answered counts as replaced; its late end is evidence."""
    hold = held(store, claim(slot(-1)))
    asks(store)
    bench.let_pass(LEASE * 0.999)
    before = waits_for(asks(store))
    bench.let_pass(LEASE * 0.001)
    started = asks(store)
    recorded = store.finish(hold, ending(Outcome.LOST, exit_status=137))
    old = rows(store)[0]

    assert (before, started) == ((1, False), Go(attempt=1))
    assert (old.outcome, old.reason) == (
        Outcome.CANCELLED,
        f"{BY_NOON}; its lease had ended, found by b (pid 42)",
    )
    assert (recorded, old.late_outcome, old.late_status) == (Recorded.LATE, Outcome.LOST, 137)


def test_a_run_that_answers_with_success_has_succeeded(store: Store) -> None:
    """It was done a moment before it was asked."""
    hold = held(store, claim(slot(-1)))
    asks(store)
    store.finish(hold, ending())

    assert asks(store) == Go(attempt=1)
    assert outcomes(store) == [Outcome.SUCCEEDED, Outcome.RUNNING]


@pytest.mark.parametrize("hours", [0, 1])
def test_only_a_newer_slot_replaces(store: Store, hours: int) -> None:
    """The same slot is held, an older one is skipped; nobody is asked to stop."""
    hold = held(store, claim(slot(hours)))
    verdict = asks(store)

    assert isinstance(verdict, Skip)
    assert verdict.reason is (Reason.OVERLAP if hours else Reason.HELD)
    assert store.beat(hold, LEASE).stop is None


def test_neither_a_run_without_a_slot_replaces_nor_is_it_replaced(store: Store) -> None:
    """Newer than what? A run by hand is not in the order of slots."""
    by_hand = held(store, claim(None))
    against = asks(store)
    store.finish(by_hand, ending())
    scheduled = held(store, claim(slot(1)))
    by = asks(store, None)

    assert [isinstance(verdict, Skip) and verdict.reason for verdict in (against, by)] == [Reason.OVERLAP] * 2
    assert store.beat(scheduled, LEASE).stop is None


@pytest.mark.parametrize("first", [0, 1])
def test_two_newer_waiters_do_not_both_start(store: Store, first: int) -> None:
    """Whichever comes first when the old run has ended: the newest is the one that stays."""
    old = held(store, claim(slot(-1)))
    for at in (slot(0), slot(1)):
        asks(store, at)
    store.finish(old, ending(Outcome.CANCELLED))
    verdicts = [asks(store, at) for at in ((slot(0), slot(1)) if first == 0 else (slot(1), slot(0)))]
    alive = [run.slot for run in rows(store) if run.outcome is Outcome.RUNNING]

    assert verdicts[0] == Go(attempt=1)
    assert len(alive) == 1
    if first == 0:
        assert waits_for(verdicts[1]) == (2, True)
    else:
        assert isinstance(verdicts[1], Skip) and verdicts[1].reason is Reason.OVERLAP
        assert outcomes(store) == [Outcome.CANCELLED, Outcome.RUNNING, Outcome.SKIPPED]


def test_two_starts_of_one_newer_slot_do_not_both_start(store: Store) -> None:
    """Both wait, one wins, the other finds the slot held."""
    old = held(store, claim(slot(-1)))
    asked = [waits_for(asks(store, host=host)) for host in "bc"]
    store.finish(old, ending(Outcome.CANCELLED))
    verdicts = [asks(store, host=host) for host in "bc"]

    assert asked == [(1, True), (1, False)]
    assert verdicts[0] == Go(attempt=1)
    assert isinstance(verdicts[1], Skip) and verdicts[1].reason is Reason.HELD


@pytest.mark.parametrize("answers", [True, False])
def test_a_replaced_slot_is_final(bench: Bench, store: Store, answers: bool) -> None:
    """Whatever attempts are left, for its holder or for others, whether it answered or not."""
    first = claim(slot(-1), attempts=9)
    hold = held(store, first)
    asks(store)
    if answers:
        store.finish(hold, ending(Outcome.CANCELLED, reason=BY_NOON))
    else:
        bench.let_pass(LEASE)
    newer = held(store, claim(slot(0), overlap=Overlap.REPLACE))
    store.finish(newer, ending())
    verdicts = [
        store.claim(wanted).verdict
        for wanted in (
            claim(slot(-1), attempts=9, standby=True),
            claim(slot(-1), attempts=9).replaced(retry_of=first.token),
        )
    ]

    assert [isinstance(verdict, Skip) and verdict.reason for verdict in verdicts] == [Reason.CANCELLED] * 2


def test_a_holder_that_waits_to_retry_is_in_nobodys_way(store: Store) -> None:
    """The newer slot starts; the retry then finds a newer run alive, and is not made."""
    first = claim(slot(-1), attempts=9, overlap=Overlap.REPLACE)
    failed = ending(Outcome.FAILED, exit_status=7)
    store.finish(held(store, first), failed.replaced(retry_at=failed.finished_at + LEASE))
    newer = asks(store)
    again = store.claim(claim(slot(-1), attempts=9, overlap=Overlap.REPLACE).replaced(retry_of=first.token)).verdict

    assert newer == Go(attempt=1)
    assert isinstance(again, Skip) and again.reason is Reason.OVERLAP
    assert outcomes(store) == [Outcome.FAILED, Outcome.RUNNING]


def test_runs_that_were_allowed_side_by_side_are_replaced_one_after_another(store: Store) -> None:
    """The newest first; the newcomer starts when the last of them has ended."""
    olds = [held(store, claim(slot(hour), overlap=Overlap.ALLOW)) for hour in (-2, -1)]
    told = []
    for hold in reversed(olds):
        told.append(waits_for(asks(store)))
        store.finish(hold, ending(Outcome.CANCELLED))

    assert told == [(2, True), (1, True)]
    assert asks(store) == Go(attempt=1)


def test_what_a_transaction_holds_is_waited_for(bench: Bench, store: Store) -> None:
    """Its run is over and nobody could answer; the job's transaction is still open."""
    if bench.kind == "sqlite":
        pytest.skip("SQLite has no fence")
    store.finish(held(store, claim(slot(-1))), ending(Outcome.FAILED))
    with bench.holding("SELECT FROM once.run FOR KEY SHARE"):
        verdict = asks(store)

    assert waits_for(verdict) == (1, False)
    assert asks(store) == Go(attempt=1)
