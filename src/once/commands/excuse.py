"""`once excuse`: a known gap."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice

import click

from once import host, missing
from once.commands.acting import Act, act, reason, slot_named
from once.commands.options import as_json, database
from once.errors import ExcuseTooFar, ExcuseUnclear, PeriodInvalid, TaskHasNoSchedule
from once.event import Operator
from once.instants import parse_instant, rfc3339
from once.render import Answer
from once.run import Task
from once.schedule import Schedule
from once.schedule.schedule import ON_TIME
from once.store.base import Claim, Excused
from once.verdict import Wish

AT_ONCE = 500
"""Slots in one transaction, so that no start waits for long."""

AHEAD = timedelta(days=366)
"""Each slot is a row. A year that was mistyped would be millions, before anybody saw that nothing runs any more."""


@click.command(short_help="Declare slots a known gap; no start runs them.")
@click.argument("task")
@click.option("--slot", metavar="WHEN", help="This slot, past or future.")
@click.option("--since", metavar="WHEN", help="Every gap from here on.")
@click.option("--until", metavar="WHEN", help="… up to here; in the future, every slot.  [default: now]")
@reason
@database
@as_json
def excuse(
    *,
    task: str,
    slot: str | None,
    since: str | None,
    until: str | None,
    reason: str | None,
    db: str | None,
    as_json: bool,
) -> Answer:
    """Excuse a slot of TASK, or all its gaps of a time: they are no gaps any more, and no start runs them.

    \b
    Example:
      once excuse weekly-report --since 2026-12-24T00:00:00Z --until 2027-01-02T00:00:00Z --reason "office closed"
    """
    if (slot is None) == (since is None) or (slot is not None and until is not None):
        raise ExcuseUnclear
    asked = act(db, reason)
    known = asked.known(task)
    if known.line is None:
        raise TaskHasNoSchedule(task=known.name)
    now = asked.store.now()
    if slot is not None:
        slots: Iterator[datetime] = iter((slot_named(asked.store, known, slot, now),))
    else:
        slots = _wanted(asked, known, parse_instant(since or "", now), parse_instant(until, now) if until else now, now)
    excused = list(_excused(asked, known, slots, now))
    done = [at for one in excused for at in one.slots]
    alive = sum(one.alive for one in excused)
    items = [{"task": known.name, "slot": at} for at in done]
    return Answer(
        verb="excuse", items=items, lines=_lines(known.name, done, alive), as_json=as_json, status=1 if alive else 0
    )


def _wanted(asked: Act, task: Task, since: datetime, until: datetime, now: datetime) -> Iterator[datetime]:
    """The gaps, and the slots that are yet to come or may still be started. Raises PeriodInvalid, ExcuseTooFar."""
    if since >= until:
        raise PeriodInvalid(since=rfc3339(since), until=rfc3339(until))
    if until > now + AHEAD:
        raise ExcuseTooFar(until=rfc3339(until), task=task.name)
    assert task.line is not None
    young = max(since, now - ON_TIME, task.in_force_since or since)
    gaps = missing.missing(asked.store, task, since=since, until=min(until, now))
    coming = Schedule.of(task.line).between(young, until) if young < until else ()
    return iter(dict.fromkeys(chain((gap.first for gap in gaps), coming)))


def _excused(asked: Act, task: Task, slots: Iterator[datetime], now: datetime) -> Iterator[Excused]:
    assert task.line is not None
    schedule, claim = Schedule.of(task.line), _claim(task, asked.by, now)
    any_before = False
    while batch := list(islice(slots, AT_ONCE)):
        claims = [
            claim.replaced(token=os.urandom(16).hex(), wish=claim.wish.replaced(slot=at), slot=schedule.slot_of(at))
            for at in batch
        ]
        yield (one := asked.patiently(partial(asked.store.excuse, claims, by=asked.by, continued=any_before)))
        any_before = any_before or bool(one.slots)


def _claim(task: Task, by: Operator, now: datetime) -> Claim:
    """What the rows of all slots have in common: they are in the operator's name."""
    return Claim(
        task=task.name,
        token="",
        wish=Wish(slot=None, fired_at=now),
        slot=None,
        line=task.line,
        lease=timedelta(),
        holder=host.holder(os.environ).replaced(user=by.login),
        command=(),
        command_hash="",
        by_hand=True,
    )


def _lines(task: str, done: Sequence[datetime], alive: int) -> list[str]:
    lines = []
    if len(done) == 1:
        lines.append(f"{task}: slot {rfc3339(done[0])} is excused")
    elif done:
        lines.append(f"{task}: {len(done)} slots from {rfc3339(done[0])} to {rfc3339(done[-1])} are excused")
    if alive:
        lines.append(f"{task}: left {alive} that run or wait to be retried; once cancel ends them")
    return lines or [f"{task}: nothing to excuse: what there was has succeeded, or is excused"]
