"""What a monitor reads of each task: the end of its history, its newest success, its hosts; three statements."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from once.reports.health import Recent, Sighting, Vitals
from once.reports.timeline import Strip
from once.run import Outcome
from once.store.session import Session


def vitals(session: Session, tasks: Collection[str] | None, *, newest: int) -> dict[str, Vitals]:
    """By task; every task is there."""
    asked: dict[str, object] = {"tasks": None if tasks is None else list(tasks)}
    recent: dict[str, list[Recent]] = {}
    for row in session.rows("recent_runs", {**asked, "newest": newest}):
        told = {**row, "outcome": Outcome(row["outcome"])}
        recent.setdefault(told.pop("task"), []).append(Recent(**told))
    sightings: dict[str, list[Sighting]] = {}
    for row in session.rows("sightings", asked):
        told = dict(row)
        sightings.setdefault(told.pop("task"), []).append(Sighting(**told))
    return {
        row["task"]: Vitals(tuple(recent.get(row["task"], ())), row["slot"], tuple(sightings.get(row["task"], ())))
        for row in session.rows("last_successes", asked)
    }


def strips(
    session: Session, tasks: Collection[str], *, since: datetime, now: datetime, length: timedelta
) -> list[Strip]:
    """For the timeline, counted in the database."""
    values = {"tasks": list(tasks), "since": since, "now": now, "seconds": length.total_seconds()}
    return [Strip(**row) for row in session.rows("strips", values)]
