"""`once complete-tasks`, which no help mentions: the tasks' names for a shell that completes one, a line each.

A shell that waits for TAB wants names or nothing, and soon: no word about what is wrong, and an end after two seconds.
"""

from __future__ import annotations

import faulthandler
import os

import click

from once.commands.opening import place
from once.errors import OnceError
from once.render import Answer

SECONDS = 2
"""A person waits. Hosts' names are looked up in C, where no signal handler runs: so a watchdog ends the process."""


@click.command("complete-tasks", hidden=True)
def complete_tasks() -> Answer:
    """Print the name of every task in the record that the settings name, as it is typed: without the scope."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=nowhere)
        names = _names()
        faulthandler.cancel_dump_traceback_later()
    return Answer(verb="complete-tasks", raw="".join(f"{name}\n" for name in names).encode())


def _names() -> list[str]:
    try:
        where = place(None)
        prefix = f"{where.settings.scope}/" if where.settings.scope else ""
        tasks = where.read().tasks()
    except OnceError:
        return []
    return [task.name.removeprefix(prefix) for task in tasks if task.name.startswith(prefix)]
