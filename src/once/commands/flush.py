"""`once flush`: deliver what waits in the journal."""

from __future__ import annotations

from typing import Any

import click

from once.clock import SystemClock
from once.commands.opening import place
from once.commands.options import as_json, database
from once.journal import Entry, Journal
from once.render import Answer


@click.command(short_help="Deliver outcomes that wait on this host for their database.")
@database
@as_json
def flush(*, db: str | None, as_json: bool) -> Answer:
    """Record the outcomes that wait in this host's journal. Every `once run` does it too; by hand it is seldom needed.

    \b
    Example:
      once flush
    """
    where = place(db)
    journal = Journal(where.journal)
    if not journal.waiting():
        return Answer(verb="flush", lines=[f"Nothing waits in {journal.directory}."], as_json=as_json)
    store = where.open()
    delivery = journal.deliver(store, clock=SystemClock())
    items = [_item(entry, "recorded") for entry in delivery.recorded]
    items += [_item(entry, "unknown") for entry in delivery.unknown]
    items += [_item(entry, "elsewhere") for entry in journal.entries()]
    lines = [f"{item['task']} run {item['number']}: {item['outcome']}, {_said(item, store.name)}" for item in items]
    left = bool(delivery.unknown) or bool(journal.waiting())
    return Answer(verb="flush", items=items, lines=lines, as_json=as_json, status=1 if left else 0)


def _item(entry: Entry, delivery: str) -> dict[str, Any]:
    return {
        "task": entry.hold.task,
        "number": entry.hold.number,
        "outcome": str(entry.ending.outcome),
        "exit_status": entry.ending.exit_status,
        "finished_at": entry.ending.finished_at,
        "store": entry.store,
        "delivery": delivery,
    }


def _said(item: dict[str, Any], store: str) -> str:
    match item["delivery"]:
        case "recorded":
            return "recorded"
        case "unknown":
            return f"set aside, since {store} does not know the run"
        case _:
            return f"still waits for {item['store']}"
