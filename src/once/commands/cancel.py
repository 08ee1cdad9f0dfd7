"""`once cancel`: end what runs."""

from __future__ import annotations

import os
from functools import partial

import click

from once import host
from once.commands import telling
from once.commands.acting import act, reason
from once.commands.options import Number, as_json, database
from once.instants import in_words
from once.render import Answer
from once.run import Run
from once.store.base import Cancelled


@click.command(short_help="Ask the runs of a task to stop.")
@click.argument("task")
@click.argument("number", type=Number(min=1), required=False)
@reason
@database
@as_json
def cancel(*, task: str, number: int | None, reason: str | None, db: str | None, as_json: bool) -> Answer:
    """Stop the run of TASK, or its run NUMBER. Its holder learns it from its next beat; its slot is not run again.

    \b
    Example:
      once cancel weekly-report --reason "wrong input"
    """
    asked = act(db, reason)
    name = asked.task(task)
    boot, came = host.holder(os.environ).boot, Cancelled()
    if (number or 0) <= telling.HIGHEST:
        came = asked.patiently(partial(asked.store.cancel, name, number, by=asked.by, boot=boot))
    lines = [f"{name}: run {one} is cancelled" for one in came.ended] + [_asked(run) for run in came.asked]
    items = [{"task": name, "number": one, "asked": False} for one in came.ended]
    items += [{"task": name, "number": run.number, "asked": True} for run in came.asked]
    if not items:
        what = "" if number is None else f" {number}"
        lines = [f"{name}: no run{what} to cancel: none is alive, stuck or to be retried"]
    return Answer(verb="cancel", items=items, lines=lines, as_json=as_json, status=0 if items else 1)


def _asked(run: Run) -> str:
    """A beat comes every fifth of the lease."""
    soon = ""
    if run.lease_until is not None and run.beat_at is not None:
        soon = f"; its next beat, within {in_words((run.lease_until - run.beat_at) / 5)}, tells it"
    return f"{run.task}: run {run.number} on {run.host} (pid {run.pid}) is asked to stop{soon}"
