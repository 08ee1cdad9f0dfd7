"""Which slots of a task nobody ran, or nobody ran with success: what catching up, reruns and excuses are about.

They are the slots that `once gaps` lists, of one task, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from once.instants import INSTANT
from once.reports.due import Due
from once.reports.gaps import Gap, gaps
from once.run import Task
from once.store.base import Store

SPAN = timedelta(days=7)
"""What is held in memory together."""


def missing(store: Store, task: Task, *, since: datetime, until: datetime) -> Iterator[Gap]:
    """The gaps with since ≤ slot < until, slot by slot, earliest first, lazily.

    Raises ScheduleInvalid or ZoneInvalid for a line that this host cannot read, and what the store raises.
    """
    now = store.now()
    due = Due.of(task, store.in_force([task.name]), store.pauses())
    while since < until:
        end = min(since + SPAN, until)
        (page,) = store.slots([task.name], since=since, until=end)
        yield from gaps(page, due, now=now, each=True)
        since = end


def is_known(store: Store, task: Task, at: datetime) -> bool:
    """Whether this instant was a slot of the task: a run says so, or a line that was in force then."""
    (page,) = store.slots([task.name], since=at, until=at + INSTANT)
    due = Due.of(task, store.in_force([task.name]))
    return bool(page.done or page.undone) or any(True for _ in due.between(at, at + INSTANT, now=store.now()))
