"""The story of a prune: settle first, then forget, a page of history at a time.

A row is a promise: its slot has been seen to, and will not run again. So before any row of a slot goes, the task's
`settled_through` moves to that slot, in the same transaction and under the task's lock, and from then on no start for
it, or for one before it, is more than a skip. Deleting first let a slot run again.

What goes is older than `keep` in both its times, when it was claimed and its slot: a slot that an operator ran ahead
of its time would otherwise settle every slot up to it, and an old one that was run by hand today is today's history.
What stays, however old:

*   what runs, or waits to retry; and `settled_through` stops before its slot, or its holder's next attempt would find
    the slot settled;
*   the newest start, by which `--min-interval` and the fence go, and the newest success, by number and by slot, by
    which people and ONCE_PREVIOUS_SUCCESS go;
*   a lost run whose end may still wait in the journal of a host that is down: thirty days;
*   a row that a transaction holds: a job that outlived its run, behind its fence. It goes the next time.

History is read by number, so the end of what is old is found without reading what is not.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from once.event import Operator, What
from once.run import Outcome
from once.store import migrations
from once.store.base import Pruned
from once.store.by_hand import note
from once.store.session import Row, Session

END_MAY_COME_WITHIN = timedelta(days=30)
"""How long the end of a lost run is waited for, whatever `keep` says."""


COUNTED_AT_ONCE = 5_000


def oldest(session: Session, task: str) -> tuple[int, timedelta] | None:
    """The first row of the task's history: its number and how old it is. One look by the key, no lock."""
    row = session.row("oldest_run", {"task": task})
    return (row["number"], row["now"] - row["claimed_at"]) if row is not None else None


def look(session: Session, task: str, *, now: datetime, keep: timedelta, beyond: int, page: int) -> Pruned:
    """What a prune of this page would forget. Nothing is written, nothing is locked."""
    rows, old = _old(session, task, now=now, keep=keep, beyond=beyond, page=page)
    going, settled = _going(session, task, old)
    return Pruned(runs=len(going), settled_through=settled, next=_next(rows, old, page))


def rehearse(session: Session, task: str, *, now: datetime, keep: timedelta, beyond: int) -> Pruned:
    """What a prune of the whole history would forget, counted by the database, so many numbers at a time.

    Of more at once PostgreSQL believes that reading the whole table is cheaper, and waits ten times as long.
    """
    kept, known = session.row("kept_runs", {"task": task}), session.row("tasks", {"task": task})
    assert kept is not None
    assert known is not None
    until = now - keep
    opened = session.row("open_slot", {"task": task, "slot": until})
    values = {
        "task": task,
        "until": until,
        "until_lost": now - max(keep, END_MAY_COME_WITHIN),
        "opened": opened["slot"] if opened is not None else None,
        "kept": [number for number in kept.values() if number is not None],
    }
    runs, through = 0, None
    for first in range(beyond, known["last_number"], COUNTED_AT_ONCE):
        row = session.row("foreseen", {**values, "beyond": first, "upto": first + COUNTED_AT_ONCE})
        assert row is not None
        runs += row["runs"]
        through = max(filter(None, (through, row["slot"])), default=None)
    return Pruned(runs=runs, settled_through=through)


def prune(
    session: Session,
    task: str,
    *,
    now: datetime,
    keep: timedelta,
    beyond: int,
    page: int,
    by: Operator | None,
    store: str,
) -> Pruned:
    """Settle and forget. To be called inside a transaction. Raises SchemaTooNew, and what the session raises."""
    locked = session.row("lock_task_if_free", {"task": task})
    if locked is None:
        return Pruned(busy=True, next=beyond)
    migrations.check(protocol=locked["protocol"], store=store)
    rows, old = _old(session, task, now=now, keep=keep, beyond=beyond, page=page)
    going, settled = _going(session, task, old)
    if not going:
        return Pruned(next=_next(rows, old, page), settled_through=locked["settled_through"])
    if settled is not None:
        session.write("settle", {"task": task, "slot": settled})
    gone = session.write("delete_runs", {"task": task, "numbers": [row["number"] for row in going]})
    if by is not None:
        note(session, What.PRUNE, by.replaced(why=f"runs: {gone}, settled through: {settled}"), task=task)
    through = max(filter(None, (settled, locked["settled_through"])), default=None)
    return Pruned(runs=gone, settled_through=through, next=_next(rows, old, page))


def _old(
    session: Session, task: str, *, now: datetime, keep: timedelta, beyond: int, page: int
) -> tuple[list[Row], list[Row]]:
    """A page of history, and what of it is of an age to go."""
    rows = session.rows("history_page", {"task": task, "beyond": beyond, "page": page})
    until, until_lost = now - keep, now - max(keep, END_MAY_COME_WITHIN)
    return rows, [
        row
        for row in rows
        if row["claimed_at"] < (until_lost if row["end_may_come"] else until)
        and (row["slot"] is None or row["slot"] < until)
        and row["outcome"] != Outcome.RUNNING
        and not row["retries"]
    ]


def _going(session: Session, task: str, old: list[Row]) -> tuple[list[Row], datetime | None]:
    """What may go now, and through which slot everything has to be settled before it does."""
    if not old:
        return [], None
    kept = session.row("kept_runs", {"task": task})
    assert kept is not None
    going = [row for row in old if row["number"] not in kept.values()]
    last = max((row["slot"] for row in going if row["slot"] is not None), default=None)
    opened = session.row("open_slot", {"task": task, "slot": last}) if last is not None else None
    if opened is not None:
        going = [row for row in going if row["slot"] is None or row["slot"] < opened["slot"]]
    return going, max((row["slot"] for row in going if row["slot"] is not None), default=None)


def _next(rows: list[Row], old: list[Row], page: int) -> int | None:
    """Where the next page begins; None when this one holds nothing old, or is the last."""
    return rows[-1]["number"] if old and len(rows) == page else None
