"""The runs of a timeline, counted in cells by the store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from once.reports.timeline import Strip
from once.run import Outcome
from once.store.base import Store
from tests.conformance.claims import LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

HOUR = timedelta(hours=1)


def strips(store: Store, bench: Bench) -> list[Strip]:
    """Cells of an hour, from noon on."""
    return store.strips(["report"], since=NOON, now=bench.clock.now(), length=HOUR)


def strip(state: str, first: int, last: int, shared_last: int | None = None, runs: int = 1, host: str = "a") -> Strip:
    """As it is expected."""
    return Strip("report", host, state, first, last, shared_last, runs)


def ran(store: Store, hours: float, outcome: Outcome = Outcome.SUCCEEDED, *, took: timedelta, **wish: Any) -> None:
    """The slot of this hour ran for so long."""
    store.finish(held(store, claim(slot(hours), **wish)), ending(outcome, duration=took))


def test_runs_alike_are_counted_together(bench: Bench, store: Store) -> None:
    """From the cell that they were claimed in to the one that they ended in."""
    for minutes, outcome in ((0, Outcome.SUCCEEDED), (5, Outcome.SUCCEEDED), (10, Outcome.FAILED)):
        ran(store, minutes / 60, outcome, took=timedelta(minutes=1))
        bench.let_pass(timedelta(minutes=5))
    ran(store, 0.5, took=2 * HOUR)
    bench.let_pass(3 * HOUR)

    assert strips(store, bench) == [strip("failed", 0, 0), strip("succeeded", 0, 0, runs=2), strip("succeeded", 0, 2)]


def test_two_at_once_are_told_with_how_long(bench: Bench, store: Store) -> None:
    """The later one tells until which cell it had company."""
    ran(store, 0, took=2.5 * HOUR)
    bench.let_pass(HOUR)
    ran(store, 1, took=5 * HOUR)
    bench.let_pass(9 * HOUR)

    assert strips(store, bench) == [strip("succeeded", 0, 2), strip("succeeded", 1, 6, shared_last=2)]


def test_what_runs_lasts_until_now_and_what_is_stuck_until_its_last_beat(bench: Bench, store: Store) -> None:
    """A lease that has ended is told as such."""
    held(store, claim(slot(0), lease=4 * HOUR))
    bench.let_pass(2 * HOUR)
    alive = strips(store, bench)
    bench.let_pass(3 * HOUR)

    assert alive == [strip("running", 0, 2)]
    assert strips(store, bench) == [strip("stuck", 0, 0)]


def test_a_skip_stands_at_its_slot(bench: Bench, store: Store) -> None:
    """It has no time of its own."""
    held(store, claim(slot(0), lease=9 * HOUR))
    bench.let_pass(HOUR + LEASE)
    store.claim(claim(slot(1), by=holder("b")))

    assert strip("skipped", 1, 1, host="b") in strips(store, bench)


def test_what_ended_before_is_left_out_and_what_reaches_in_is_not(bench: Bench, store: Store) -> None:
    """Its first cell lies before the first."""
    ran(store, 0, took=HOUR)
    bench.let_pass(HOUR)
    ran(store, 1, took=3 * HOUR)
    bench.let_pass(9 * HOUR)
    told = store.strips(["report"], since=NOON + 2 * HOUR, now=bench.clock.now(), length=HOUR)

    assert [(one.first < 1, one.last) for one in told] == [(True, 2)]
