"""`once check`: for a monitor. One line, figures behind it, and the exit status of the monitoring-plugin convention."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import click

from once.commands.looking import many, waits
from once.commands.opening import place
from once.commands.options import DURATION, Number, as_json, database
from once.commands.watching import Checked, watched
from once.errors import OnceError, Unreachable
from once.journal import Journal
from once.render import Answer
from once.reports import health
from once.reports.health import Limits, State
from once.run import task_name
from once.voice import escaped

ANSWERS_WITHIN = timedelta(seconds=3)
CONNECTS_WITHIN = "2"
"""Seconds a server. A monitor waits for ten."""

TOLD_AT_MOST = 5
"""Findings on the line: it goes into a text message."""


@click.command(short_help="For a monitor: is every task all right?")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@click.option("--grace", type=DURATION, help="How late a start may be.  [default: half the interval, at most 5m]")
@click.option(
    "--failures",
    metavar="N",
    type=Number(min=1, max=500),
    default=1,
    help="Failures in a row that matter.  [default: 1]",
)
@click.option(
    "--unreachable",
    type=click.Choice(["critical", "unknown"]),
    default="critical",
    help="The state when the database is out of reach.  [default: critical]",
)
@database
@as_json
def check(
    *,
    tasks: tuple[str, ...],
    grace: timedelta | None,
    failures: int,
    unreachable: str,
    db: str | None,
    as_json: bool,
) -> Answer:
    """Say whether each TASK, or every task, is all right, as monitoring plugins do: 0 OK, 1 WARNING, 2 CRITICAL,
    3 UNKNOWN.

    \b
    Example:
      once check --failures 2 nightly
    """  # noqa: D205 — click shows the first sentence
    os.environ.setdefault("PGCONNECT_TIMEOUT", CONNECTS_WITHIN)
    try:
        where = place(db)
        waiting = Journal(where.journal).waiting()
        store = where.read() if where.is_missing else where.open(ANSWERS_WITHIN)
        names = [task_name(task, scope=where.settings.scope) for task in tasks]
        now = store.now()
        checked = list(watched(store, names, Limits(failures, grace), now=now))
    except Unreachable as error:
        return _not_known(State[unreachable.upper()], error, as_json=as_json)
    except OnceError as error:
        return _not_known(State.UNKNOWN, error, as_json=as_json)
    state = health.worst(one.state for one in checked) if checked else State.UNKNOWN
    figures = _figures(checked, waiting, ages=bool(names), now=now)
    return Answer(
        verb="check",
        items=[*map(_item, checked), *_journal_item(waiting)],
        lines=[f"ONCE {state.name} - {_summary(checked, waiting, store.name)} | {figures}"],
        as_json=as_json,
        status=int(state),
    )


def _not_known(state: State, error: OnceError, *, as_json: bool) -> Answer:
    what = str(error)
    return Answer(
        verb="check",
        items=[_item_of(None, state, [{"kind": "record", "state": state.name, "what": what}], None)],
        lines=[f"ONCE {state.name} - {_safe(what)}"],
        as_json=as_json,
        status=int(state),
    )


def _summary(checked: Sequence[Checked], waiting: int, record: str) -> str:
    troubled = sorted((one for one in checked if one.findings), key=lambda one: -one.state.gravity)
    told = [f"{one.name} {'; '.join(found.what for found in one.findings)}" for one in troubled]
    if not checked:
        text = f"no task has been recorded in {record} yet"
    elif not told:
        text = many(len(checked), "task")
    else:
        more = f"; and {len(told) - TOLD_AT_MOST} more" if len(told) > TOLD_AT_MOST else ""
        text = f"{len(told)} of {many(len(checked), 'task')}: {'; '.join(told[:TOLD_AT_MOST])}{more}"
    return _safe(f"{text}; {waits(waiting)}" if waiting else text)


def _figures(checked: Sequence[Checked], waiting: int, *, ages: bool, now: datetime) -> str:
    """Performance data: how many tasks are how, and of tasks that were named how long ago they succeeded."""
    states = [one.state for one in checked]
    counts = {"tasks": len(checked)} | {state.name.lower(): states.count(state) for state in State}
    figures = [f"{name}={count}" for name, count in counts.items()] + [f"waiting={waiting}"]
    if ages:
        named = ((_label(one.name), one.last_success) for one in checked)
        figures += [f"'{name} age'={round((now - last).total_seconds())}s" for name, last in named if last]
    return " ".join(figures)


def _label(name: str) -> str:
    """Neither a quote nor an equals sign may stand in a label."""
    return _safe(name).replace("'", "_").replace("=", "_")


def _safe(text: str) -> str:
    """What stands before the bar is for people; nothing recorded may look like the bar, or end the line."""
    return escaped(text.replace("|", "\N{BROKEN BAR}"))


def _journal_item(waiting: int) -> list[dict[str, Any]]:
    if not waiting:
        return []
    return [_item_of(None, State.OK, [{"kind": "journal", "state": State.OK.name, "what": waits(waiting)}], None)]


def _item(one: Checked) -> dict[str, Any]:
    found = [{"kind": str(each.kind), "state": each.state.name, "what": each.what} for each in one.findings]
    return _item_of(one.name, one.state, found, one.last_success)


def _item_of(
    task: str | None, state: State, found: list[dict[str, Any]], last_success: datetime | None
) -> dict[str, Any]:
    return {"task": task, "state": state.name, "last_success": last_success, "findings": found}
