"""`once runs`: the history of a task, newest first."""

from __future__ import annotations

import sys

import click

from once.commands import acting, telling
from once.commands.looking import known_task
from once.commands.opening import place
from once.commands.options import Number, as_json, database
from once.instants import EPOCH
from once.render import Answer


@click.command(short_help="The history of a task, newest first.")
@click.argument("task")
@click.option("-n", "--limit", type=Number(min=1), help="How many at most.  [default: 20 on a terminal, else all]")
@database
@as_json
def runs(*, task: str, limit: int | None, db: str | None, as_json: bool) -> Answer:
    """List the runs of TASK, newest first, and what was done to it by hand.

    \b
    Example:
      once runs weekly-report -n 5
    """
    where = place(db)
    store = where.read()
    name = known_task(where, store, task).name
    now = store.now()
    if limit is None and not as_json and sys.stdout.isatty():
        limit = 20
    found = store.runs(name, limit=limit)
    since = EPOCH
    if limit is not None:
        found = iter(told := list(found))
        since = told[-1].claimed_at or since if len(told) == limit else since
    events = store.events(name, since=since)
    if as_json:
        by_hand = [acting.event_item(event) for event in events]
        items = (telling.item(run, now) for run in found)
        return Answer(verb="runs", items=items, beside={"events": by_hand}, as_json=True)
    lines = ["", "By hand, newest first:", *(f"  {acting.event_line(event)}" for event in events)] if events else []
    return Answer(verb="runs", titles=telling.RUN_TITLES, rows=(telling.row(run, now) for run in found), lines=lines)
