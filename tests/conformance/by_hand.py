"""What the tests of operators' verbs share: two operators, and tasks in the states that they find them in."""

from __future__ import annotations

from datetime import timedelta

from once.event import Operator, What
from once.run import Hold, Outcome, Run, Slot
from once.store.base import Store
from once.verdict import Reason, Skip, Verdict
from tests.conformance.claims import NOON, claim, ending, held, slot

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


def waits_to_retry(store: Store, at: Slot | None = None, **wish: object) -> Hold:
    """A holder whose attempt has failed with 7 and who will retry in an hour."""
    hold = held(store, claim(*([at] if at else []), attempts=9, **wish))
    store.finish(hold, ending(Outcome.FAILED, exit_status=7, retry_at=NOON + HOUR, finished_at=NOON))
    return hold
