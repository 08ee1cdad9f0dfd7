"""`once status`: a line a task."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from once.commands import telling
from once.commands.looking import known_names, many, waits
from once.commands.opening import place
from once.commands.options import as_json, database
from once.errors import OnceError
from once.instants import in_words
from once.journal import Journal
from once.render import Answer, Cell, interval
from once.run import Run, Task
from once.store.base import Store

TITLES = ("TASK", "SCHEDULE", "LAST SLOT", "OUTCOME", "TOOK", "HOST", "NEXT SLOT", "NOTE")


@click.command(short_help="One line per task: what ran last, and what comes next.")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@database
@as_json
def status(*, tasks: tuple[str, ...], db: str | None, as_json: bool) -> Answer:
    """Show a line for each TASK, or for every task.

    \b
    Example:
      once status
    """
    where = place(db)
    if where.is_missing and not tasks:
        return Answer(verb="status", lines=[str(where.no_record())], as_json=as_json)
    store = where.read()
    now = store.now()
    known = {task.name: task for task in store.tasks()}
    names = known_names(where, tasks, known)
    chosen = [known[name] for name in names] if names else list(known.values())
    newest = store.newest(names or None)
    pairs = [(task, newest.get(task.name)) for task in chosen]
    return Answer(
        verb="status",
        items=(_item(task, run, now) for task, run in pairs),
        titles=TITLES,
        gives_way=("SCHEDULE", "HOST", "NOTE", "TOOK", "NEXT SLOT", "LAST SLOT"),
        rows=(_row(task, run, now) for task, run in pairs),
        lines=_lines(store, known, where),
        as_json=as_json,
    )


def _lines(store: Store, known: dict[str, Task], where: Any) -> list[str]:
    journal = Journal(where.journal)
    waiting, unread = journal.waiting(), len(journal.unread())
    lines = [] if known else [f"No task has been recorded in {store.name} yet."]
    if waiting:
        lines.append(f"{waits(waiting)}; once flush delivers {'it' if waiting == 1 else 'them'}.")
    if unread:
        lines.append(f"{many(unread, 'file')} in {journal.directory} cannot be read; once flush says which.")
    return lines


def _next_slot(task: Task, now: datetime) -> datetime | None:
    if task.line is None or task.retired_at is not None:
        return None
    from once.schedule import Schedule

    try:
        return next(Schedule.of(task.line).after(now))
    except OnceError:  # written by a newer once, or with zone data that this host lacks
        return None


def _item(task: Task, run: Run | None, now: datetime) -> dict[str, Any]:
    return {
        "task": task.name,
        "schedule": task.line.expression if task.line else None,
        "zone": task.line.zone if task.line else None,
        "in_force_since": task.in_force_since,
        "next_slot": _next_slot(task, now),
        "paused_at": task.paused_at,
        "paused_until": task.paused_until,
        "retired_at": task.retired_at,
        "last": telling.item(run, now) if run else None,
    }


def _row(task: Task, run: Run | None, now: datetime) -> list[Cell]:
    schedule = f"{task.line.expression} {task.line.zone}" if task.line else "-"
    coming, standing = _next_slot(task, now), telling.standing(task, now)
    if run is None:
        return [task.name, schedule, None, "-", "-", "-", coming, standing or "never ran"]
    took = interval(run.duration) if run.duration is not None else _so_far(run, now)
    return [
        task.name,
        schedule,
        run.slot,
        telling.state(run, now),
        took,
        run.host,
        coming,
        "; ".join(note for note in (_alive(run, now), standing, _ended(run)) if note),
    ]


def _so_far(run: Run, now: datetime) -> str:
    return interval(now - run.claimed_at) if run.claimed_at else "-"


def _alive(run: Run, now: datetime) -> str:
    if telling.state(run, now) == "stuck" and run.lease_until:
        return f"no beat, lease ended {in_words(now - run.lease_until)} ago, pid {run.pid}"
    if telling.state(run, now) == "running" and run.lease_until:
        return f"lease {in_words(run.lease_until - now)} left, pid {run.pid}"
    return ""


def _ended(run: Run) -> str:
    if run.outcome.was_started and run.exit_status not in (None, 0):
        return telling.result(run)
    return telling.note(run)
