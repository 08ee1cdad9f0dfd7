"""What the verbs share that change a task by hand: who does it and why, to which task, and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from once import host, missing
from once.commands.looking import known_task
from once.commands.opening import Place, place
from once.errors import Busy, TasksUnclear
from once.event import Event, Operator, What
from once.instants import in_words, parse_instant
from once.noun import Noun
from once.render import moment
from once.run import Task
from once.schedule import Schedule
from once.store.base import Store

TRIES = 10
"""Each waits a second or two for whoever holds the task."""

Done = TypeVar("Done")

reason = click.option("--reason", metavar="TEXT", help="The reason, kept in the record.")

EVENT_KEYS = ("at", "what", "login", "host", "task", "scope", "run", "slot", "until", "why")
"""What programs may rely on."""


class Target(Noun):
    """What a pause is about: a task, or all whose names begin with `scope`."""

    task: str | None
    scope: str

    def __str__(self) -> str:
        if self.task is not None:
            return self.task
        return f"every task of {self.scope}" if self.scope else "every task"

    def item(self) -> dict[str, Any]:
        """What it is, for programs."""
        return {"task": self.task, "scope": self.scope if self.task is None else None}


class Act(Noun):
    """An open store, and who acts on it."""

    where: Place
    store: Store
    by: Operator

    @property
    def scope(self) -> str:
        """What the names of all tasks of this host's scope begin with."""
        named = self.where.settings.scope
        return f"{named}/" if named else ""

    def known(self, name: str) -> Task:
        """A task that is known. Raises NoSuchTask, TaskNameInvalid."""
        return known_task(self.where, self.store, name)

    def task(self, name: str) -> str:
        """Its full name."""
        return self.known(name).name

    def patiently(self, act: Callable[[], Done]) -> Done:
        """Do it, and try again while a start or a prune holds the task. Raises Busy after the last try."""
        for _ in range(TRIES - 1):
            try:
                return act()
            except Busy:
                self.store.close()
        return act()

    def targets(self, tasks: Sequence[str], *, everything: bool, verb: str) -> list[Target]:
        """Each of these tasks, or all as one. Raises TasksUnclear, NoSuchTask, TaskNameInvalid."""
        if everything == bool(tasks):
            raise TasksUnclear(verb=verb)
        return [Target(self.task(name), "") for name in tasks] or [Target(None, self.scope)]


def act(db: str | None, reason: str | None) -> Act:
    """The record of this host, and who types this. Raises NoRecordYet."""
    where = place(db)
    return Act(where, where.read(), host.operator(os.environ, why=reason))


def slot_named(store: Store, task: Task, given: str, now: datetime) -> datetime:
    """The slot of a task with a schedule that an operator names: `last`, or an instant of it, then or now.

    Raises InstantInvalid, SlotInvalid.
    """
    assert task.line is not None
    schedule = Schedule.of(task.line)
    if given == "last":
        return schedule.nearest(now)[0]
    at = parse_instant(given, now)
    return at if missing.is_known(store, task, at) else schedule.require(at).at


def event_item(event: Event) -> dict[str, Any]:
    """The event for programs."""
    return {key: getattr(event, key) for key in EVENT_KEYS}


def event_line(event: Event) -> str:
    """The event for people."""
    about = "" if event.task is not None else f" {Target(None, event.scope or '')}"
    who = Operator(event.login, event.host, event.why)
    return f"{moment(event.at)}  {event.what}{about}{_particulars(event)} {who}"


def _particulars(event: Event) -> str:
    run = f" run {event.run}" if event.run is not None else ""
    if event.what is What.EXCUSE and event.until != event.slot:
        return f" slots {moment(event.slot)} to {moment(event.until)}"
    slot = f" slot {moment(event.slot)}" if event.slot is not None else ""
    until = f" until {moment(event.until)}" if event.what is What.PAUSE and event.until is not None else ""
    return f"{run}{slot}{until}"


def until(now: datetime, length: timedelta | None) -> str:
    """How long a pause lasts."""
    return f"for {in_words(length)}, until {moment(now + length)}" if length else "until it is resumed"
