"""What the verbs that watch share: each task, what is known of it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from once.errors import OnceError
from once.noun import Noun
from once.reports import health
from once.reports.due import Due, InForce
from once.reports.health import Finding, Kind, Limits, State, Vitals
from once.reports.stuck import may_be_too_long, stuck
from once.run import Run, Task
from once.store.base import Store

NEWEST = 20
"""Rows of each task that tell how it is."""


class Checked(Noun):
    """A task, or a name that is none (`task` is None then), and what is wrong with it."""

    name: str
    findings: tuple[Finding, ...] = ()
    task: Task | None = None
    vitals: Vitals = Vitals()
    running: tuple[Run, ...] = ()

    @property
    def state(self) -> State:
        """The gravest of its findings'."""
        return health.worst(one.state for one in self.findings)

    @property
    def last_success(self) -> datetime | None:
        """The newest slot that succeeded, or the newest success."""
        return health.last_success(self.vitals)


def watched(store: Store, names: Sequence[str], limits: Limits, *, now: datetime) -> Iterator[Checked]:
    """The tasks of these names, or all, in eight statements whatever their number."""
    asked = list(dict.fromkeys(names)) or None
    known = {task.name: task for task in store.tasks()}
    vitals = store.vitals(asked, newest=max(NEWEST, 3 * limits.failures))
    running: dict[str, list[Run]] = {}
    for run in store.running(asked):
        running.setdefault(run.task, []).append(run)
    slow = {run.task for runs in running.values() for run in runs if may_be_too_long(run, now)}
    history = store.durations(list(slow)) if slow else {}
    in_force: dict[str, list[InForce]] = {}
    for one in store.in_force(asked):
        in_force.setdefault(one.task, []).append(one)
    quiet = store.pauses()
    for name in asked or known:
        if name not in known:
            yield Checked(name, (Finding(Kind.NO_SUCH_TASK, State.UNKNOWN, "is not a known task"),))
            continue
        task, runs = known[name], running.get(name, [])
        try:
            due = Due.of(task, in_force.get(name, ()), quiet)
        except OnceError as error:  # written by a newer once, or with zone data that this host lacks
            yield Checked(name, (Finding(Kind.UNREADABLE, State.UNKNOWN, str(error)),), task, vitals[name])
            continue
        suspicious = list(stuck(runs, history, now=now))
        alive = sum(run.lease_until is not None and run.lease_until > now for run in runs)
        found = health.findings(task, vitals[name], due, suspicious, alive=alive, now=now, limits=limits)
        yield Checked(name, tuple(found), task, vitals[name], tuple(runs))
