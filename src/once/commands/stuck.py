"""`once stuck`: runs that say running though their lease has ended, or that run far longer than their task used to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import click

from once.commands.looking import Look, first_of, look, many, tasks_argument
from once.commands.options import DURATION, Factor, as_json, database
from once.render import Answer, Cell, interval
from once.reports.stuck import MORE, TIMES, Sign, Stuck
from once.reports.stuck import stuck as stuck_of

TITLES = ("TASK", "RUN", "SINCE", "WHERE", "WHY", "COMMAND")


@click.command(short_help="Runs that no longer beat, or take far longer than usual.")
@tasks_argument
@click.option(
    "--times", type=Factor(min=1), default=TIMES, help="Too long is this many times the usual duration.  [default: 3]"
)
@click.option("--more", type=DURATION, default=MORE, help="… and longer by at least this much.  [default: 1m]")
@database
@as_json
def stuck(*, tasks: tuple[str, ...], times: float, more: timedelta, db: str | None, as_json: bool) -> Answer:
    """List the runs of each TASK, or of every task, whose lease has ended, and those that take far longer than usual.

    Usual is what 95 of the last 100 successes stayed within.

    \b
    Example:
      once stuck
    """
    asked = look(tasks, db)
    now = asked.store.now()
    any_found, found = first_of(_found(asked, now, times=times, more=more))
    return Answer(
        verb="stuck",
        items=map(_item, found) if as_json else (),
        titles=TITLES,
        gives_way=("COMMAND", "WHERE"),
        rows=() if as_json else (_row(one, now) for one in found),
        lines=[] if any_found else [f"Nothing is stuck in {many(len(asked.tasks), 'task')}."],
        as_json=as_json,
        status=1 if any_found else 0,
    )


def _found(asked: Look, now: datetime, *, times: float, more: timedelta) -> Iterator[Stuck]:
    runs = asked.store.running([task.name for task in asked.tasks] if asked.named else None)
    names = list(dict.fromkeys(run.task for run in runs))
    history = asked.store.durations(names) if names else {}
    return stuck_of(runs, history, now=now, times=times, more=more)


def _item(found: Stuck) -> dict[str, Any]:
    run = found.run
    return {
        "task": run.task,
        "number": run.number,
        "sign": str(found.sign),
        "slot": run.slot,
        "attempt": run.attempt,
        "host": run.host,
        "pid": run.pid,
        "user": run.user,
        "command": run.command,
        "claimed_at": run.claimed_at,
        "beat_at": run.beat_at,
        "lease_until": run.lease_until,
        "elapsed": found.elapsed,
        "usual": found.usual,
    }


def _row(found: Stuck, now: datetime) -> list[Cell]:
    run = found.run
    return [
        run.task,
        str(run.number),
        run.claimed_at,
        f"{run.host}, pid {run.pid}, {run.user}",
        _why(found, now),
        shlex.join(run.command),
    ]


def _why(found: Stuck, now: datetime) -> str:
    run = found.run
    if found.sign is Sign.TOO_LONG:
        return f"runs for {interval(found.elapsed)}, usually {interval(found.usual)} at most"
    beat, lease = (now - at if at is not None else None for at in (run.beat_at, run.lease_until))
    return f"no beat for {interval(beat)}, lease ended {interval(lease)} ago"
