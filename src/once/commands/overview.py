"""`once` alone: where the record is, what needs a look, and how to go on."""

from __future__ import annotations

from once.commands import telling
from once.commands.opening import place
from once.errors import OnceError
from once.render import Answer
from once.run import Outcome

HOW = 'Wrap a job:  once run --task NAME --schedule "0 17 * * 5" -- COMMAND [ARG]...    Look:  once status, once --help'
NEEDS_A_LOOK = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST)


def overview() -> Answer:
    """The three lines."""
    return Answer(verb="overview", lines=[*_record(), HOW])


def _record() -> list[str]:
    try:
        store = place(None).read()
        now = store.now()
        tasks = store.tasks()
        last = store.newest().values()
    except OnceError as error:
        return [str(error), "Tasks:       unknown"]
    worrying = [run.task for run in last if telling.state(run, now) == "stuck" or run.outcome in NEEDS_A_LOOK]
    look = f"; these need a look: {', '.join(worrying)}" if worrying else "; none needs a look" if tasks else ""
    return [f"The record:  {store.name}", f"Tasks:       {len(tasks)}{look}"]
