"""`once prune`: forget old history, never a promise."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import click

from once import host
from once.clock import SystemClock
from once.commands.looking import known_names, many
from once.commands.opening import place
from once.commands.options import DURATION, as_json, database
from once.errors import TaskBusy
from once.event import Operator
from once.instants import in_words, rfc3339
from once.render import Answer
from once.settings import KEEP
from once.store.base import Pruned, Store

PAGE = 1000
TRIES, TRIES_EVERY = 20, 0.5


@click.command(short_help="Forget old history; no slot of it runs again.")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@click.option(
    "--keep",
    metavar="DUR",
    type=DURATION,
    help="Keep runs younger than this; 0: all.  [default: the setting keep, else 90d]",
)
@click.option("--dry-run", is_flag=True, help="Say what would be forgotten; change nothing.")
@database
@as_json
def prune(*, tasks: tuple[str, ...], keep: timedelta | None, dry_run: bool, db: str | None, as_json: bool) -> Answer:
    """Forget the runs of each TASK, or of every task, that are older than the time to keep.

    \b
    Example:
      once prune --keep 30d --dry-run
    """
    where = place(db)
    store = where.read()
    known = [task.name for task in store.tasks()]
    names = known_names(where, tasks, known)
    if keep is None:
        keep = KEEP if where.settings.keep is None else where.settings.keep
    if not keep:
        return Answer(verb="prune", lines=["Everything is kept: the time to keep is 0."], as_json=as_json)
    by = None if dry_run else host.operator(os.environ)
    items = [item for name in names or known if (item := _pruned(store, name, keep, by=by))["runs"]]
    lines = [_line(item) for item in items] or [f"Nothing to forget is older than {in_words(keep)}."]
    return Answer(verb="prune", items=items, lines=lines, as_json=as_json)


def _pruned(store: Store, task: str, keep: timedelta, *, by: Operator | None) -> dict[str, Any]:
    """Page by page, so that no start waits for long. Raises TaskBusy."""
    runs, through = 0, None
    beyond: int | None = 0
    while beyond is not None:
        page = _page(store, task, keep, beyond=beyond, by=by)
        runs += page.runs
        through = max(filter(None, (through, page.settled_through)), default=None)
        beyond = page.next
    return {"task": task, "runs": runs, "settled_through": through, "dry_run": by is None}


def _page(store: Store, task: str, keep: timedelta, *, beyond: int, by: Operator | None) -> Pruned:
    for _ in range(TRIES):
        page = store.prune(task, keep, beyond=beyond, page=PAGE, by=by, rehearse=by is None)
        if not page.busy:
            return page
        SystemClock().sleep(TRIES_EVERY)
    raise TaskBusy(task=task)


def _line(item: dict[str, Any]) -> str:
    would = item["dry_run"]
    runs = f"{many(item['runs'], 'run')} {'would be' if would else ''}".rstrip()
    through = item["settled_through"]
    settled = f"; no slot through {rfc3339(through)} {'would run' if would else 'runs'} again" if through else ""
    return f"{item['task']}: {runs} forgotten{settled}"
