"""`once overlaps`: runs of one task whose times intersect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from once.commands.looking import Look, Period, first_of, look, many, period_options, tasks_argument
from once.commands.options import as_json, database
from once.render import Answer, Cell, interval
from once.reports.overlaps import Overlap, Spell
from once.reports.overlaps import overlaps as overlaps_of

TITLES = ("TASK", "RUNS", "TOGETHER", "FROM", "TO", "WHERE", "NOTE")


@click.command(short_help="Runs of one task that were at work at the same time.")
@tasks_argument
@period_options
@database
@as_json
def overlaps(*, tasks: tuple[str, ...], since: str, until: str | None, db: str | None, as_json: bool) -> Answer:
    """List every two runs of each TASK, or of every task, that were at work at the same time, and for how long.

    \b
    Example:
      once overlaps --since 30d
    """
    asked = look(tasks, db)
    period = Period.of(since, until, asked.store.now())
    any_found, found = first_of(_found(asked, period))
    return Answer(
        verb="overlaps",
        items=map(_item, found) if as_json else (),
        titles=TITLES,
        gives_way=("WHERE",),
        rows=() if as_json else map(_row, found),
        lines=[] if any_found else [f"No overlaps in {many(len(asked.tasks), 'task')} {period}."],
        as_json=as_json,
        status=1 if any_found else 0,
    )


def _found(asked: Look, period: Period) -> Iterator[Overlap]:
    """By task, earliest first. A pair is told in the span in which it begins to share time, the first at the latest."""

    def find(names: Sequence[str], since: datetime, until: datetime) -> Iterator[tuple[str, Overlap]]:
        runs = asked.store.crossing(names, since=since, until=until, now=period.now)
        for found in overlaps_of(runs, since=since, until=until, now=period.now):
            if since == period.since or found.start >= since:
                yield found.task, found

    for batch in asked.batches():
        yield from (found for _, found in period.by_task([task.name for task in batch], find))


def _item(found: Overlap) -> dict[str, Any]:
    return {
        "task": found.task,
        "start": found.start,
        "end": found.end,
        "shared": found.shared,
        "assumed": found.is_assumed,
        "runs": [_side(found.earlier), _side(found.later)],
    }


def _side(spell: Spell) -> dict[str, Any]:
    run = spell.run
    return {
        "number": run.number,
        "attempt": run.attempt,
        "slot": run.slot,
        "host": run.host,
        "pid": run.pid,
        "outcome": str(run.outcome),
        "late_outcome": run.late_outcome,
        "start": spell.start,
        "end": spell.end,
        "assumed": spell.is_assumed,
    }


def _row(found: Overlap) -> list[Cell]:
    first, second = found.earlier.run, found.later.run
    return [
        found.task,
        f"{first.number} and {second.number}",
        interval(found.shared),
        found.start,
        found.end,
        first.host if first.host == second.host else f"{first.host} and {second.host}",
        _note(found),
    ]


def _note(found: Overlap) -> str:
    parts = []
    for spell in (found.earlier, found.later):
        run = spell.run
        if run.late_outcome is not None:
            parts.append(f"{run.number} was lost and ended late: {run.late_outcome}")
        elif spell.is_assumed:
            parts.append(f"{run.number} was lost; its end is assumed, at its last beat")
        elif run.duration is None:
            parts.append(f"{run.number} is still running")
    return "; ".join(parts)
