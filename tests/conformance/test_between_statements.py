"""A transaction held up between two of its statements while somebody else acts: at every point, for every act.

Who acts either ends before it goes on, or waits for a lock that it has, and goes on after it. Whichever it is, the
story that the two are told and the rows must fit. A file has one writer, so nothing comes between there.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from once.errors import Busy
from once.event import Operator
from once.run import Hold, Outcome
from once.store.base import Beat, Cancelled, Claim, Claimed, Recorded, Store
from once.verdict import Go, Overlap
from tests.conformance.claims import LEASE, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

WAITERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
ALICE = Operator("alice", "web1")

Act = Callable[[Store, Claim, Hold], Any]

WISHES: dict[str, Callable[[str], Claim]] = {
    "the slot's next attempt": lambda task: claim(slot(0), task=task, attempts=3, by=holder("b")),
    "the next slot": lambda task: claim(slot(1), task=task, by=holder("b")),
    "the next slot instead": lambda task: claim(slot(1), task=task, overlap=Overlap.REPLACE, by=holder("b")),
}
ACTS: dict[str, Act] = {
    "beats": lambda store, _, hold: store.beat(hold, LEASE),
    "succeeds": lambda store, _, hold: store.finish(hold, ending()),
    "fails": lambda store, _, hold: store.finish(hold, ending(Outcome.FAILED)),
    "is repeated": lambda store, wanted, _: store.claim(wanted.replaced(token="rival", holder=holder("c"))),
    "is cancelled": lambda store, _, hold: store.cancel(hold.task, by=ALICE),
    "is excused": lambda store, wanted, _: store.excuse([wanted], by=ALICE),
    "is pruned": lambda store, _, hold: store.prune(hold.task, timedelta(seconds=1)),
}
ENDS: dict[str, Act] = {
    "beats": ACTS["beats"],
    "succeeds": ACTS["succeeds"],
    "fails and is to be repeated": lambda store, _, hold: store.finish(
        hold, ending(Outcome.FAILED, retry_at=ending().finished_at + LEASE)
    ),
}
QUICK = ("beats", "succeeds")
"""The acts that take no lock of the task's, and so really come between."""


@pytest.fixture(params=["postgres", "pgbouncer"])
def store_kind(request: pytest.FixtureRequest) -> str:
    """A file has one writer."""
    kind: str = request.param
    return kind


class Halting:
    """A transaction's session, which lets something else happen after its statement of this number."""

    def __init__(self, session: Any, at: int, meanwhile: Callable[[], None]) -> None:
        self._session, self._left, self._meanwhile = session, at, meanwhile

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def act(*args: Any) -> Any:
            answer = getattr(self._session, verb)(*args)
            self._left -= 1
            if self._left == 0:
                self._meanwhile()
            return answer

        return act


class Meanwhile:
    """Somebody else's act, in a thread and on a connection of its own; tried again when it waited for too long."""

    def __init__(self, bench: Bench, act: Callable[[], Any]) -> None:
        self._bench = bench
        self._act = act
        self._thread = threading.Thread(target=self._run)
        self.has_begun = False
        self.answer: Any = None

    def begin(self) -> None:
        """Returns when it has ended, or waits for a lock."""
        self.has_begun = True
        self._thread.start()
        while self._thread.is_alive() and self._bench.meddle(WAITERS) == [(0,)]:
            self._thread.join(0.001)

    def end(self) -> Any:
        self._thread.join()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _run(self) -> None:
        try:
            self.answer = self._patiently()
        except Exception as error:  # noqa: BLE001 — told by end()
            self.answer = error

    def _patiently(self) -> Any:
        while True:
            with suppress(Busy):
                return self._act()


@contextmanager
def halting(store: Store, at: int, meanwhile: Callable[[], None]) -> Iterator[None]:
    """The store's next transaction is held up there."""
    database = store._database
    transaction = database.transaction

    @contextmanager
    def halted(**how: Any) -> Iterator[Any]:
        with transaction(**how) as session:
            yield Halting(session, at, meanwhile)

    database.transaction = halted
    yield
    database.transaction = transaction


@pytest.mark.parametrize("state", ["works", "is over", "is lost"])
@pytest.mark.parametrize("act", [act if act in QUICK else pytest.param(act, marks=pytest.mark.slow) for act in ACTS])
def test_what_happens_between_two_statements_of_a_claim_fits_its_verdict(bench: Bench, state: str, act: str) -> None:
    """The run that is there works within its lease, is over and not found, or is found lost."""
    claimer, other = bench.open(), bench.open()
    tasks = (f"report{number:03}" for number in itertools.count())
    for wish in WISHES.values():
        for at in itertools.count(1):
            task = next(tasks)
            hold = _in_state(bench, other, task, state)
            wanted = wish(task)
            meanwhile = Meanwhile(bench, partial(ACTS[act], other, wanted, hold))
            with halting(claimer, at, meanwhile.begin):
                claimed = claimer.claim(wanted)
            if not meanwhile.has_begun:
                break
            _check(other, wanted, claimed, hold, meanwhile.end())


@pytest.mark.parametrize("state", ["works", "is over"])
@pytest.mark.parametrize("act", [act if act in QUICK else pytest.param(act, marks=pytest.mark.slow) for act in ENDS])
def test_no_run_slips_through_a_cancel(bench: Bench, state: str, act: str) -> None:
    """It is over, or is asked to stop; and it is not to be repeated, whenever it ends meanwhile."""
    for store, task, hold, meanwhile, at in _each_point(bench, state, ENDS[act]):
        with halting(store, at, meanwhile.begin):
            told = store.cancel(task, by=ALICE)
        if not meanwhile.has_begun:
            return
        answer = meanwhile.end()
        run = store.run(task, hold.number)

        assert run is not None
        assert run.retry_at is None
        assert run.stop_asked is not None or run.outcome is not Outcome.RUNNING
        assert run.outcome is Outcome.CANCELLED or hold.number not in told.ended
        if isinstance(answer, Beat):
            assert answer.ours is (run.outcome is Outcome.RUNNING)
        if act == "fails and is to be repeated" and (told.asked or told.ended):
            assert run.outcome is Outcome.CANCELLED


@pytest.mark.slow
@pytest.mark.parametrize("state", ["works", "is over", "is lost"])
@pytest.mark.parametrize("act", ENDS)
def test_no_success_is_excused(bench: Bench, state: str, act: str) -> None:
    """Nor what is alive: the excuse comes first, or the end does."""
    for store, task, hold, meanwhile, at in _each_point(bench, state, ENDS[act]):
        with halting(store, at, meanwhile.begin):
            excused = store.excuse([claim(slot(0), task=task)], by=ALICE)
        if not meanwhile.has_begun:
            return
        answer = meanwhile.end()
        run = store.run(task, hold.number)

        assert run is not None
        assert not (excused.slots and run.outcome in (Outcome.RUNNING, Outcome.SUCCEEDED))
        assert not (excused.slots and run.retry_at)
        if isinstance(answer, Beat):
            assert answer.ours is (run.outcome is Outcome.RUNNING)


def _each_point(bench: Bench, state: str, act: Act) -> Iterator[tuple[Store, str, Hold, Meanwhile, int]]:
    """A task in this state for every statement after which a transaction may be held up, and what happens then."""
    store, other = bench.open(), bench.open()
    for at in itertools.count(1):
        task = f"report{at:03}"
        hold = _in_state(bench, other, task, state)
        wanted = claim(slot(0), task=task)
        yield store, task, hold, Meanwhile(bench, partial(act, other, wanted, hold)), at


def _in_state(bench: Bench, store: Store, task: str, state: str) -> Hold:
    """A run of the slot at noon in this state."""
    hold = held(store, claim(slot(0), task=task, attempts=3))
    if state != "works":
        bench.let_pass(LEASE)
    if state == "is lost":
        store.finish(held(store, claim(slot(0.5), task=task)), ending(Outcome.FAILED))
    return hold


def _check(store: Store, wanted: Claim, claimed: Claimed, hold: Hold, answer: Any) -> None:
    rows = {run.number: run for run in store.runs(wanted.task)}
    running = [number for number, run in rows.items() if run.outcome is Outcome.RUNNING]
    started = isinstance(claimed.verdict, Go)
    same_slot = wanted.slot == slot(0)

    assert len(running) <= 1, "two rows say running"
    assert len({(run.slot, run.attempt) for run in rows.values()}) == len(rows)
    match answer:
        case Beat(ours=ours):
            assert ours is (hold.number in running), "a beat was told another story than the row tells"
            assert not (ours and started), "it is trusted, and another has started"
        case Recorded.AS_ENDED | Recorded.INSTEAD_OF_LOST:
            kept = (Outcome.SUCCEEDED, Outcome.CANCELLED if rows[hold.number].stop_asked else Outcome.FAILED)
            assert rows[hold.number].outcome in kept, "an end was answered and not kept"
            assert not (started and same_slot and rows[hold.number].outcome is Outcome.SUCCEEDED), "it was run again"
        case Recorded.LATE:
            assert rows[hold.number].late_outcome is not None
            assert started and same_slot, "nobody had repeated it"
        case Claimed(verdict=verdict):
            assert not (isinstance(verdict, Go) and started), "both have started"
        case Cancelled(ended=ended, asked=asked):
            assert all(rows[number].outcome is Outcome.CANCELLED for number in ended)
            assert all(rows[run.number].stop_asked for run in asked)
            assert not (started and same_slot and hold.number in ended), "what was cancelled was run again"
