"""`once flush`: deliver what waits in the journal, or drop what can never be delivered."""

from __future__ import annotations

import shlex
from typing import Any

import click

from once import host
from once.clock import SystemClock
from once.commands.opening import Place, place
from once.commands.options import as_json, database
from once.entry import Entry, Unread
from once.errors import OnceError, OutcomeNotDropped
from once.journal import Delivery, Journal
from once.render import Answer
from once.store.connect import carries_password, display

KEYS = ("task", "number", "outcome", "exit_status", "finished_at", "store", "delivery", "file", "why")
"""What programs may rely on. Of a file that cannot be read only the last three are known."""


@click.command(short_help="Deliver outcomes that wait on this host for their database.")
@click.option("--drop", metavar="STORE", help="Discard what waits for this database, if that is gone for good.")
@database
@as_json
def flush(*, drop: str | None, db: str | None, as_json: bool) -> Answer:
    """Record the outcomes that wait in this host's journal. Every `once run` does it too; by hand it is seldom needed.

    \b
    Example:
      once flush
    """
    where = place(db)
    journal = Journal(where.journal)
    if drop is not None and carries_password(drop):  # as the settings have it; the journal knows it without
        drop = display(drop)
    delivery = _delivery(where, journal, gives_up=drop is not None) if journal.waiting() else Delivery()
    items = [_unread_item(unread, journal) for unread in journal.unread()]
    items += [_item(entry, "recorded") for entry in delivery.recorded]
    items += [_item(entry, "unknown") for entry in delivery.unknown]
    for entry in journal.entries():
        dropped = entry.store == drop
        if dropped:
            _drop(entry, journal)
        items.append(_item(entry, "dropped" if dropped else "elsewhere"))
    fine = {item["delivery"] for item in items} <= {"recorded", "dropped"}
    lines = [_line(item) for item in items]
    if drop is not None and not any(item["delivery"] == "dropped" for item in items):
        lines, fine = [*lines, f"Nothing waits for {drop}."], False
    if journal.is_closed():
        lines, fine = [*lines, f"What waits in {journal.directory} cannot be read by {host.user_name()}."], False
    if not lines:
        lines = [f"Nothing waits in {journal.directory}."]
    return Answer(verb="flush", items=items, lines=lines, as_json=as_json, status=0 if fine else 1)


def _delivery(where: Place, journal: Journal, *, gives_up: bool) -> Delivery:
    """What can be recorded is. A file that is gone is not made anew: its outcomes belong to the one that was there."""
    if where.is_missing:
        return Delivery()
    try:
        return journal.deliver(where.open(), clock=SystemClock())
    except OnceError:
        if gives_up:
            return Delivery()
        raise


def _drop(entry: Entry, journal: Journal) -> None:
    """Raises OutcomeNotDropped."""
    try:
        journal.drop(entry)
    except OSError as error:
        raise OutcomeNotDropped(directory=journal.directory, why=error.strerror) from error


def _item(entry: Entry, delivery: str) -> dict[str, Any]:
    known = {
        "task": entry.hold.task,
        "number": entry.hold.number if entry.claim is None else None,
        "outcome": str(entry.ending.outcome),
        "exit_status": entry.ending.exit_status,
        "finished_at": entry.ending.finished_at,
        "store": entry.store,
        "delivery": delivery,
    }
    return {key: known.get(key) for key in KEYS}


def _unread_item(unread: Unread, journal: Journal) -> dict[str, Any]:
    file = journal.set_aside(unread) if unread.broken else unread.path
    known = {"delivery": "broken" if unread.broken else "unread", "file": file, "why": unread.why}
    return {key: known.get(key) for key in KEYS}


def _line(item: dict[str, Any]) -> str:
    which = "unguarded" if item["number"] is None else f"run {item['number']}"
    run = f"{item['task']} {which}: {item['outcome']}"
    match item["delivery"]:
        case "recorded" | "dropped":
            return f"{run}, {item['delivery']}"
        case "unknown":
            why = "knows the task in another spelling" if item["number"] is None else "does not know the run"
            return f"{run}, set aside, since {item['store']} {why}"
        case "broken":
            return f"{item['file']}: {item['why']}; set aside under this name, remove it when you have seen it"
        case "unread":
            return f"{item['file']}: cannot be read, {item['why']}; it stays"
        case _:
            store = item["store"]
            return f"{run}, still waits for {store} (gone for good? once flush --drop {shlex.quote(store)})"
