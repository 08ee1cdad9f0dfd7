"""What has happened to a task, and whether what its table says now may follow from it.

The table is read after every step and compared with what it said before: whatever has changed must be what that step
may change. What a prune has taken out of the table is remembered here.
"""

from __future__ import annotations

from datetime import datetime

from once.run import Outcome, Run
from once.store.base import Claim, Store
from once.verdict import Overlap
from tests.conformance.conftest import Bench

REPEATABLE = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.LOST)
COSTS_NO_ATTEMPT = (Outcome.STOPPED, Outcome.SKIPPED, Outcome.EXCUSED)

Changes = dict[int, set[str]]
"""Which fields of which runs may change."""


class Story:
    """One task's, as `store` tells it."""

    def __init__(self, bench: Bench, store: Store, task: str) -> None:
        self.bench, self.store, self.task = bench, store, task
        self.rows: dict[int, Run] = {}
        self.is_known = False
        self.last_number = 0
        self.settled_through: datetime | None = None
        self.succeeded: set[datetime] = set()
        self.final: set[datetime] = set()
        self.again: set[int] = set()
        self.tokens: dict[int, str] = {}
        self.dead_boots: set[str | None] = set()
        self.paused: dict[str | None, datetime | None] = {}

    def compare(self, changes: Changes, *, new: int = 0, gone: bool = False) -> None:
        """Read the table; nothing may have changed but these fields of these rows, and so many rows that came."""
        before = self.rows
        after = {run.number: run for run in self.store.runs(self.task)}
        for number in before.keys() & after.keys():
            changed = _difference(before[number], after[number])
            assert changed <= changes.get(number, set()), f"run {number}: {changed} may not change here"
            self._check_change(before[number], after[number])
        came = after.keys() - before.keys()
        assert len(came) <= new, f"{came} came from nowhere"
        assert all(number > self.last_number for number in came), "numbers went back"
        assert gone or not before.keys() - after.keys(), "rows were lost"
        self.rows = after
        if came or gone or not self.last_number:
            self._compare_task()
        self._note_what_is_final()
        self._check_successes()

    def check_started(self, wanted: Claim, number: int, before: dict[int, Run], kept: list[Run]) -> None:
        """A new run has begun: was it allowed to? `kept`: attempts whose holders kept their slots for a retry."""
        wish, at = wanted.wish, wanted.wish.slot
        assert at is not None
        attempts = [run for run in before.values() if run.slot == at]
        others = [run for run in self.rows.values() if run.outcome is Outcome.RUNNING and run.number != number]
        used = sum(self.rows[run.number].outcome not in COSTS_NO_ATTEMPT for run in attempts)
        newest = max(attempts, key=lambda run: run.attempt, default=None)
        keepers = {self.tokens[run.number] for run in kept if run.slot == at and not self._is_of_another_boot(run)}
        self.tokens[number] = wanted.token

        assert number > max(before, default=0)
        assert wish.again or at not in self.succeeded, "a slot that has succeeded was run again"
        assert wish.again or not self.is_settled(at), "a settled slot was run"
        assert wish.rerun or at not in self.final, "a slot was run against a recorded word"
        assert wish.rerun or newest is None or newest.stop_asked is None, "what was asked to stop was run again"
        assert wish.rerun or not self.pauses(), "a paused task was started"
        assert wish.attempts is None or used < wish.attempts, "more attempts than there are"
        assert wish.overlap is Overlap.ALLOW or not others, "two rows say running"
        assert not keepers or wanted.retry_of in keepers, "a kept slot was taken"
        assert not any(run.slot == at for run in others), "a slot runs twice"
        if wish.again:
            self.again.add(number)
        if wish.rerun:
            self.final.discard(at)

    def is_settled(self, at: datetime | None) -> bool:
        """Whether no start may run this slot any more, also where nothing else is known of it."""
        return self.settled_through is not None and at is not None and at <= self.settled_through

    def running(self) -> list[int]:
        """The runs that say so."""
        return [run.number for run in self.rows.values() if run.outcome is Outcome.RUNNING]

    def kept(self) -> list[Run]:
        """Attempts that have failed, and whose holders keep their slots for a retry."""
        newest: dict[datetime | None, Run] = {}
        for run in sorted(self.rows.values(), key=lambda run: run.attempt):
            newest[run.slot] = run
        now = self.bench.clock.now()
        return [run for run in newest.values() if run.retry_at and run.lease_until and run.lease_until > now]

    def alive(self) -> set[int]:
        """Runs that are at work within their lease, and those that are to be repeated."""
        at_work = {number for number in self.running() if not self._is_over(self.rows[number])}
        return at_work | {run.number for run in self.kept()}

    def that_may_expire(self) -> Changes:
        """What any claim may find to be over."""
        return {number: {"outcome", "reason"} for number in self.running() if self._is_over(self.rows[number])}

    def pauses(self) -> list[str | None]:
        """By what name the task is paused now; None: with all others."""
        now = self.bench.clock.now()
        return [name for name, until in self.paused.items() if until is None or until > now]

    def _compare_task(self) -> None:
        task = self.store.task(self.task)
        if task is None:
            assert not self.is_known
            return
        assert task.last_number >= max((self.last_number, *self.rows))
        assert self.settled_through is None or (task.settled_through and task.settled_through >= self.settled_through)
        self.is_known, self.last_number, self.settled_through = True, task.last_number, task.settled_through

    def _check_change(self, before: Run, after: Run) -> None:
        """Whoever changes it, a run is ended by others only when its time is over, and is named by who asked first."""
        if before.stop_asked is not None:
            assert after.stop_asked == before.stop_asked, "a second request has renamed the first"
        if before.outcome is not Outcome.RUNNING or after.finished_at is not None:
            return
        if after.outcome is not Outcome.RUNNING:
            assert self._is_over(before), "a run was ended over its holder's head"
        if after.outcome is Outcome.LOST:
            assert before.stop_asked is None, "a run that was asked to stop may be repeated"

    def _check_successes(self) -> None:
        done = [run for run in self.rows.values() if run.outcome is Outcome.SUCCEEDED and run.number not in self.again]
        assert len({run.slot for run in done}) == len(done), "two successes of one slot"

    def _note_what_is_final(self) -> None:
        newest: dict[datetime, Run] = {}
        for run in sorted(self.rows.values(), key=lambda run: run.attempt):
            assert run.slot is not None
            newest[run.slot] = run
            if Outcome.SUCCEEDED in (run.outcome, run.late_outcome):
                self.succeeded.add(run.slot)
        for at, run in newest.items():
            if run.outcome not in (Outcome.RUNNING, *REPEATABLE):
                self.final.add(at)

    def _is_over(self, run: Run) -> bool:
        assert run.lease_until is not None
        return run.lease_until <= self.bench.clock.now() or run.boot in self.dead_boots

    def _is_of_another_boot(self, run: Run) -> bool:
        """Which proves a holder dead to everybody in a file of one host; elsewhere its own host's runs tell."""
        return self.bench.kind == "sqlite" and run.boot in self.dead_boots


def _difference(before: Run, after: Run) -> set[str]:
    if before == after:
        return set()
    return {name for name, value in vars(before).items() if getattr(after, name) != value}
