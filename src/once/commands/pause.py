"""`once pause`: nothing of a task starts."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import click

from once.commands.acting import act, reason, until
from once.commands.options import DURATION, as_json, database
from once.render import Answer


@click.command(short_help="Let no run of a task start, for a time or until it is resumed.")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every task, including those that are not known yet.")
@click.option("--for", "length", metavar="DUR", type=DURATION, help="How long.  [default: until once resume]")
@reason
@database
@as_json
def pause(
    *,
    tasks: tuple[str, ...],
    everything: bool,
    length: timedelta | None,
    reason: str | None,
    db: str | None,
    as_json: bool,
) -> Answer:
    """Let no run of TASK start. What runs goes on; slots of that time are skipped, and are no gaps.

    \b
    Example:
      once pause --all --for 2h --reason "database upgrade"
    """
    asked = act(db, reason)
    targets = asked.targets(tasks, everything=everything, verb="pause")
    for target in targets:
        asked.patiently(partial(asked.store.pause, target.task, scope=target.scope, by=asked.by, length=length or None))
    now = asked.store.now()
    lines = [f"{target}: paused {until(now, length)}" for target in targets]
    named = [target.task for target in targets if target.task is not None]
    running = (run for run in asked.store.running(named or None) if run.task.startswith(asked.scope))
    lines += [f"{run.task}: run {run.number} on {run.host} goes on; once cancel stops it" for run in running]
    items = [{**target.item(), "paused_until": now + length if length else None} for target in targets]
    return Answer(verb="pause", items=items, lines=lines, as_json=as_json)
