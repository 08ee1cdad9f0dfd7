"""What the verbs that look back share: which tasks, which time, and how much of both at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any, TypeVar

import click

from once.commands.opening import Place, place
from once.commands.options import stacked
from once.errors import NoSuchTask, PeriodInvalid
from once.instants import parse_instant, rfc3339
from once.noun import Noun
from once.render import moment
from once.run import Task, task_name
from once.store.base import Store

SPAN, TASKS_AT_ONCE = timedelta(days=7), 25
"""What is held in memory together: a week of so many tasks, or up to four weeks of few."""

LONGEST_SPAN = 4 * SPAN

tasks_argument = click.argument("tasks", metavar="[TASK]...", nargs=-1)
period_options = stacked(
    click.option("--since", metavar="WHEN", default="7d", help="Since when.  [default: 7d, a week ago]"),
    click.option("--until", metavar="WHEN", help="Until when.  [default: now]"),
)


HELD_AT_MOST = 20_000
"""Findings that are held until they can be put in order."""

Found = TypeVar("Found")
Find = Callable[[Sequence[str], datetime, datetime], Iterable[tuple[str, Found]]]
"""Findings of these tasks in since ≤ time < until, each with its task: by task, earliest first."""


class Period(Noun):
    """What is looked back on, since ≤ time < until. `now` is the store's, and nothing is known beyond it."""

    since: datetime
    until: datetime
    now: datetime

    @classmethod
    def of(cls, since: str, until: str | None, now: datetime) -> Period:
        """As an operator types it. Raises InstantInvalid, PeriodInvalid."""
        start = parse_instant(since, now)
        end = now if until is None else min(now, parse_instant(until, now))
        if start >= end:
            raise PeriodInvalid(since=rfc3339(start), until=rfc3339(end))
        return cls(start, end, now)

    def spans(self, tasks: int = TASKS_AT_ONCE) -> Iterator[tuple[datetime, datetime]]:
        """The period in parts, one after the other, as long as so many tasks allow."""
        start, length = self.since, min(LONGEST_SPAN, SPAN * TASKS_AT_ONCE / max(tasks, 1))
        while start < self.until:
            end = min(start + length, self.until)
            yield start, end
            start = end

    def by_task(self, names: Sequence[str], find: Find[Found]) -> Iterator[tuple[str, Found]]:
        """What `find` tells of each task, task by task, earliest first.

        Of several tasks in several spans it is held until it can be put in order, unless that is too much: then the
        tasks are asked about one by one.
        """
        spans = list(self.spans(len(names)))
        if len(spans) > 1 and len(names) > 1:
            told = (pair for since, until in spans for pair in find(names, since, until))
            held = list(islice(told, HELD_AT_MOST + 1))
            if len(held) > HELD_AT_MOST:
                yield from chain.from_iterable(self.by_task([name], find) for name in names)
                return
            places = {name: place for place, name in enumerate(names)}
            yield from sorted(held, key=lambda pair: places[pair[0]])
            return
        for since, until in spans:
            yield from find(names, since, until)

    def __str__(self) -> str:
        return f"from {moment(self.since)} to {moment(self.until)}"


class Look(Noun):
    """An open store and the tasks that were asked for, by name; `named`: they were, one by one."""

    where: Place
    store: Store
    tasks: tuple[Task, ...]
    named: bool

    def batches(self) -> Iterator[tuple[Task, ...]]:
        """So many at a time as are asked about together."""
        return (self.tasks[first : first + TASKS_AT_ONCE] for first in range(0, len(self.tasks), TASKS_AT_ONCE))


def look(names: Sequence[str], db: str | None) -> Look:
    """The tasks of these names, or all. Raises NoSuchTask, NoRecordYet."""
    where = place(db)
    store = where.read()
    known = {task.name: task for task in store.tasks()}
    wanted = known_names(where, names, known)
    chosen = tuple(task for name, task in known.items() if not wanted or name in wanted)
    return Look(where, store, chosen, named=bool(wanted))


def known_names(where: Place, names: Sequence[str], known: Collection[str]) -> list[str]:
    """The full names of these tasks, in their order. Raises NoSuchTask, TaskNameInvalid."""
    wanted = [task_name(name, scope=where.settings.scope) for name in names]
    for name in wanted:
        if name not in known:
            raise NoSuchTask(task=name)
    return wanted


def known_task(where: Place, store: Store, name: str) -> Task:
    """The task of this name. Raises NoSuchTask, TaskNameInvalid."""
    full = task_name(name, scope=where.settings.scope)
    task = store.task(full)
    if task is None:
        raise NoSuchTask(task=full)
    return task


def first_of(items: Iterator[Any]) -> tuple[bool, Iterator[Any]]:
    """Whether there are any, and all of them: the exit status is settled before the first is written."""
    for first in items:
        return True, chain([first], items)
    return False, iter(())


def many(count: int, what: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def waits(outcomes: int) -> str:
    """`1 outcome waits on this host for the database`."""
    return f"{many(outcomes, 'outcome')} {'waits' if outcomes == 1 else 'wait'} on this host for the database"
