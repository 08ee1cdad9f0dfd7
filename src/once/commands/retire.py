"""`once retire`: a task that is no more."""

from __future__ import annotations

from functools import partial

import click

from once.commands.acting import act, reason
from once.commands.options import as_json, database
from once.render import Answer


@click.command(short_help="Declare that a task is gone: no start, no slot due.")
@click.argument("tasks", metavar="TASK...", nargs=-1, required=True)
@reason
@database
@as_json
def retire(*, tasks: tuple[str, ...], reason: str | None, db: str | None, as_json: bool) -> Answer:
    """Declare that TASK is no more. Its history stays; a line that still starts it is skipped; once resume undoes it.

    \b
    Example:
      once retire nightly-export --reason "moved to the warehouse"
    """
    asked = act(db, reason)
    names = [asked.task(name) for name in tasks]
    done = [asked.patiently(partial(asked.store.retire, name, by=asked.by)) for name in names]
    lines = [f"{name}: retired{'' if new else ' before'}" for name, new in zip(names, done, strict=True)]
    items = [{"task": name, "retired": new} for name, new in zip(names, done, strict=True)]
    return Answer(verb="retire", items=items, lines=lines, as_json=as_json)
