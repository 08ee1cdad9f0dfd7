"""`once gaps`: slots that should have run and have no successful run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import click

from once.commands.looking import Look, Period, first_of, look, many, period_options, tasks_argument
from once.commands.options import DURATION, as_json, database
from once.errors import OnceError
from once.noun import Noun
from once.render import Answer, Cell, moment
from once.reports.due import Due, InForce, Quiet
from once.reports.gaps import Gap, joined, silence
from once.reports.gaps import gaps as gaps_of
from once.reports.mixed import Mixed, mixed
from once.run import Task
from once.voice import write_line

TITLES = ("TASK", "WHAT", "SLOTS", "FROM", "TO", "WHY")
GRACE_AT_MOST, GRACE_AT_LEAST = timedelta(minutes=5), timedelta(minutes=1)


class Wanted(Noun):
    """What counts as a gap, and how gaps are told."""

    period: Period
    skipped: bool
    each: bool
    every: timedelta | None

    @property
    def longest(self) -> timedelta:
        """The longest silence that is no gap: half as late as the next, five minutes at most, a minute always."""
        assert self.every is not None
        return self.every + max(min(self.every / 2, GRACE_AT_MOST), GRACE_AT_LEAST)


@click.command(short_help="Slots that should have run and have no successful run.")
@tasks_argument
@period_options
@click.option("--skipped", is_flag=True, help="Also list slots that a policy skipped.")
@click.option("--each", is_flag=True, help="A line for each slot, also for slots in a row.")
@click.option("--every", type=DURATION, help="How often a task without a schedule should start.")
@database
@as_json
def gaps(
    *,
    tasks: tuple[str, ...],
    since: str,
    until: str | None,
    skipped: bool,
    each: bool,
    every: timedelta | None,
    db: str | None,
    as_json: bool,
) -> Answer:
    """List the slots of each TASK, or of every task, that were missed, failed or lost.

    \b
    Example:
      once gaps --since 30d nightly
    """
    asked = look(tasks, db)
    wanted = Wanted(Period.of(since, until, asked.store.now()), skipped, each, every)
    in_force = _in_force(asked)
    two_lines = [one for known in in_force.values() for one in mixed(known, wanted.period.since, wanted.period.until)]
    any_found, found = first_of(_found(asked, wanted, in_force))
    return Answer(
        verb="gaps",
        items=map(_item, found) if as_json else (),
        titles=TITLES,
        rows=() if as_json else map(_row, found),
        lines=[*_lines(asked, wanted, any_found=any_found), *map(_told, two_lines)],
        beside={"notes": list(map(_note, two_lines))},
        as_json=as_json,
        status=1 if any_found else 0,
    )


def _in_force(asked: Look) -> dict[str, list[InForce]]:
    """The lines of each task that has any."""
    found: dict[str, list[InForce]] = {}
    for one in asked.store.in_force([task.name for task in asked.tasks] if asked.named else None):
        found.setdefault(one.task, []).append(one)
    return found


def _found(asked: Look, wanted: Wanted, in_force: dict[str, list[InForce]]) -> Iterator[Gap]:
    """Task by task, earliest first."""
    quiet = asked.store.pauses()
    for batch in asked.batches():
        due = _due(batch, in_force, quiet)
        of_slots = groupby(_of_slots(asked, wanted, due), key=lambda gap: gap.task)
        task, found = next(of_slots, (None, iter(())))
        for each in batch:
            if each.name == task:
                yield from found
                task, found = next(of_slots, (None, iter(())))
            elif each.line is None and wanted.every is not None:
                yield from _of_starts(asked, wanted, each, quiet)


def _of_slots(asked: Look, wanted: Wanted, due: dict[str, Due]) -> Iterator[Gap]:
    """A gap may begin in one span and go on in the next, where it is the first."""
    now = wanted.period.now
    before: Gap | None = None

    def find(names: Sequence[str], since: datetime, until: datetime) -> Iterator[tuple[str, tuple[bool, Gap]]]:
        for page in asked.store.slots(names, since=since, until=until):
            found = gaps_of(page, due[page.task], now=now, skipped=wanted.skipped, each=wanted.each)
            yield from ((page.task, (number == 0, gap)) for number, gap in enumerate(found))

    for task, (is_first, gap) in wanted.period.by_task(list(due), find) if due else ():
        whole = None
        if before is not None and is_first and not wanted.each:
            whole = joined(before, gap, due[task], now=now)
        if before is not None and whole is None:
            yield before
        before = whole or gap
    if before is not None:
        yield before


def _of_starts(asked: Look, wanted: Wanted, task: Task, quiet: Sequence[Quiet]) -> Iterator[Gap]:
    assert wanted.every is not None
    silent = Due.of(task, [], quiet).quiet
    period = wanted.period
    for last_start, next_start in asked.store.silences(
        task.name, wanted.longest, since=period.since, until=period.until
    ):
        gap = silence(task.name, last_start, next_start, wanted.every)
        if not any(one.covers(gap.first) for one in silent):
            yield gap


def _due(batch: Sequence[Task], in_force: dict[str, list[InForce]], quiet: Sequence[Quiet]) -> dict[str, Due]:
    """What was due of each task that has a schedule which this host can read."""
    found = {}
    for task in batch:
        if task.name in in_force:
            try:
                found[task.name] = Due.of(task, in_force[task.name], quiet)
            except OnceError as error:  # written by a newer once, or with zone data that this host lacks
                write_line(f"once gaps: {task.name} is left out: {error}")
    return found


def _lines(asked: Look, wanted: Wanted, *, any_found: bool) -> list[str]:
    lines = [] if any_found else [f"No gaps in {many(len(asked.tasks), 'task')} {wanted.period}."]
    without = [task.name for task in asked.tasks if task.line is None]
    if without and wanted.every is None and asked.named:
        lines += [f"{name} has no schedule: --every DUR says how often it should start." for name in without]
    return lines


def _told(found: Mixed) -> str:
    one, other = (f"{line.expression} {line.zone}" for line in found.lines)
    return (
        f"{found.task}: mixed schedule from {moment(found.first)} to {moment(found.last)}:"
        f" {one} and {other} are both in use, so the slots of both run."
    )


def _note(found: Mixed) -> dict[str, Any]:
    lines = [{"schedule": line.expression, "zone": line.zone, "engine": line.engine} for line in found.lines]
    return {"kind": "mixed schedule", "task": found.task, "first": found.first, "last": found.last, "lines": lines}


def _item(gap: Gap) -> dict[str, Any]:
    return {
        "task": gap.task,
        "kind": str(gap.kind),
        "first": gap.first,
        "last": gap.last,
        "count": gap.count,
        "reason": gap.reason,
        "number": gap.number,
        "host": gap.host,
    }


def _row(gap: Gap) -> list[Cell]:
    where = f", run {gap.number} on {gap.host}" if gap.number is not None else ""
    to = gap.last if gap.count > 1 else None
    return [gap.task, str(gap.kind), str(gap.count), gap.first, to, f"{gap.reason}{where}"]
