"""`once resume`: a paused or retired task may start again."""

from __future__ import annotations

from functools import partial

import click

from once.commands import telling
from once.commands.acting import Act, Target, act, reason
from once.commands.options import as_json, database
from once.render import Answer


@click.command(short_help="End a pause, or bring a retired task back.")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="End `once pause --all`; tasks paused by name stay paused.")
@reason
@database
@as_json
def resume(*, tasks: tuple[str, ...], everything: bool, reason: str | None, db: str | None, as_json: bool) -> Answer:
    """Let TASK start again, from its next slot on.

    \b
    Example:
      once resume weekly-report
    """
    asked = act(db, reason)
    targets = asked.targets(tasks, everything=everything, verb="resume")
    items = [
        {
            **target.item(),
            "resumed": asked.patiently(partial(asked.store.resume, target.task, scope=target.scope, by=asked.by)),
        }
        for target in targets
    ]
    left = _still_paused(asked, targets)
    lines = [
        f"{target}: {'resumed' if item['resumed'] else 'there was no such pause'}"
        for target, item in zip(targets, items, strict=True)
    ]
    return Answer(verb="resume", items=items, lines=lines + left, as_json=as_json, status=1 if tasks and left else 0)


def _still_paused(asked: Act, targets: list[Target]) -> list[str]:
    """The tasks that another pause keeps from starting."""
    now = asked.store.now()
    left = ((task, telling.standing(task, now)) for task in asked.store.tasks() if task.is_paused(now))
    wanted = {target.task for target in targets}
    return [
        f"{task.name}: still {standing}"
        for task, standing in left
        if task.name in wanted or (None in wanted and task.name.startswith(asked.scope))
    ]
