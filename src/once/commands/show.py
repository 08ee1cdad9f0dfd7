"""`once show`: one run whole, with the end of its output."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta

import click

from once.commands import acting, telling
from once.commands.opening import place
from once.commands.options import Number, as_json, database
from once.errors import NoSuchRun, NoSuchTask
from once.event import Event, What
from once.instants import in_words, rfc3339
from once.render import Answer, interval, moment
from once.run import Outcome, Run, task_name
from once.store.base import Store


@click.command(short_help="One run in full, with the end of its output.")
@click.argument("task")
@click.argument("number", type=Number(min=1), required=False)
@click.option("--output", is_flag=True, help="Print only the kept end of the output, byte for byte.")
@database
@as_json
def show(*, task: str, number: int | None, output: bool, db: str | None, as_json: bool) -> Answer:
    """Show run NUMBER of TASK; without a number the newest.

    \b
    Example:
      once show weekly-report 17 --output | less
    """
    where = place(db)
    store = where.read()
    name = task_name(task, scope=where.settings.scope)
    run = store.run(name, number) if (number or 0) <= telling.HIGHEST else None
    if run is None:
        if store.task(name) is None:
            raise NoSuchTask(task=name)
        raise NoSuchRun(task=name, number=number or "yet")
    events = _events(store, run)
    if output:
        return Answer(verb="show", raw=run.tail)
    if as_json:
        tail = run.tail.decode("utf-8", errors="replace")
        item = telling.item(run, store.now()) | {"tail": tail, "tail_dropped": run.tail_dropped}
        item["events"] = [acting.event_item(event) for event in events]
        return Answer(verb="show", items=[item], as_json=True)
    return Answer(verb="show", lines=_lines(run, store.now(), events))


def _events(store: Store, run: Run) -> list[Event]:
    """What was done by hand to this run, or to its slot."""
    if run.claimed_at is None:
        return []
    return [
        event
        for event in store.events(run.task, since=run.claimed_at)
        if event.run == run.number or (event.what is What.EXCUSE and _covers(event, run.slot))
    ]


def _covers(event: Event, slot: datetime | None) -> bool:
    return slot is not None and event.slot is not None and event.slot <= slot <= (event.until or event.slot)


def _lines(run: Run, now: datetime, events: Sequence[Event]) -> list[str]:
    facts = {
        "task": run.task,
        "run": f"{run.number}, attempt {run.attempt}" + (f" of {run.attempts}" if run.attempts else ""),
        "slot": f"{run.slot_local} local, {rfc3339(run.slot)}" if run.slot else "none",
        "outcome": _outcome(run, now),
        "result": telling.result(run),
        "took": interval(run.duration),
        "fired": moment(run.fired_at),
        "claimed": moment(run.claimed_at),
        "started": moment(run.started_at),
        "last beat": moment(run.beat_at),
        "lease until": moment(run.lease_until),
        "finished": moment(run.finished_at),
        "where": f"{run.host}, pid {run.pid}, user {run.user}",
        "command": shlex.join(run.command),
        "clock": f"{_signed(run)} against the database's"
        if run.clock_offset and abs(run.clock_offset) >= timedelta(milliseconds=1)
        else "-",
        "once": run.once_version,
    }
    if run.late_outcome is not None:
        facts["late end"] = f"{run.late_outcome}, status {run.late_status}, {moment(run.late_at)}"
    if run.stop_asked is not None and run.outcome is Outcome.RUNNING:
        facts["asked"] = f"to stop: {run.stop_asked}"
    lines = [f"{name + ':':<13}{value}" for name, value in facts.items() if value != "-"]
    lines += [f"{'by hand:':<13}{acting.event_line(event)}" for event in events]
    return lines + _output(run)


def _outcome(run: Run, now: datetime) -> str:
    """With the reason, which may begin with the same word: `cancelled by alice on web1`."""
    state, reason = telling.state(run, now), run.reason or ""
    return reason if reason.startswith(f"{state} ") else f"{state} ({reason})" if reason else state


def _signed(run: Run) -> str:
    assert run.clock_offset is not None
    sign = "-" if run.clock_offset.total_seconds() < 0 else "+"
    return sign + in_words(abs(run.clock_offset))


def _output(run: Run) -> list[str]:
    if not run.tail:
        return ["output:      none kept"]
    dropped = f", {run.tail_dropped} bytes before it dropped" if run.tail_dropped else ""
    text = run.tail.decode("utf-8", errors="replace").rstrip("\n").split("\n")
    return [f"output:      {len(run.tail)} bytes{dropped}", *(f"  {line}" for line in text)]
