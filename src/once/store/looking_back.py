"""What the reports read: many tasks at a time, each task's part found by index, the answers as nouns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from once.event import What
from once.reports.due import InForce, Quiet
from once.reports.gaps import Attempt, Page
from once.run import Line, Outcome, Run
from once.store import rows
from once.store.session import Row, Session


def newest(session: Session, tasks: Collection[str] | None) -> dict[str, Run]:
    """The newest started run of each task."""
    return {row["task"]: rows.run(row) for row in session.rows("newest_runs", _of(tasks))}


def running(session: Session, tasks: Collection[str] | None) -> list[Run]:
    """Every run that says running."""
    return [rows.run(row) for row in session.rows("running_runs", _of(tasks))]


def durations(session: Session, tasks: Collection[str], *, limit: int) -> Mapping[str, Sequence[timedelta]]:
    """How long the last successes took."""
    found: dict[str, list[timedelta]] = {}
    for row in session.rows("usual_durations", {**_of(tasks), "newest": limit}):
        found.setdefault(row["task"], []).append(row["duration"])
    return found


def in_force(session: Session, tasks: Collection[str] | None) -> list[InForce]:
    """The intervals of the tasks' lines."""
    return [
        InForce(row["task"], Line(row["expression"], row["zone"], row["engine"]), row["first_seen"], row["last_seen"])
        for row in session.rows("in_force", _of(tasks))
    ]


def pauses(session: Session) -> list[Quiet]:
    """When operators wanted no start. A pause has ended by its time, by a resume, or by the next one."""
    begun: dict[tuple[str | None, str, bool], Quiet] = {}
    ended: list[Quiet] = []
    for row in session.rows("pauses"):
        about = (row["task"], row["scope"] or "")
        ends = (False, True) if row["what"] == What.RESUME else (row["what"] == What.RETIRE,)
        ended += [_until(begun.pop(key), row["at"]) for retired in ends if (key := (*about, retired)) in begun]
        if row["what"] != What.RESUME:
            begun[(*about, row["what"] == What.RETIRE)] = Quiet(row["task"], row["at"], row["until"], about[1])
    return ended + [quiet for quiet in begun.values() if quiet.task is None]


def _until(quiet: Quiet, at: datetime) -> Quiet:
    return quiet.replaced(until=at if quiet.until is None else min(quiet.until, at))


def slots(session: Session, tasks: Collection[str], since: datetime, until: datetime) -> Iterator[Page]:
    """A page a task."""
    values = {**_of(tasks), "since": since, "until": until}
    done = {row["task"]: row["slots"] for row in session.rows("done_slots", values)}
    undone: dict[str, list[Attempt]] = {}
    for row in session.rows("undone_slots", values):
        undone.setdefault(row["task"], []).append(_attempt(row))
    for task in tasks:
        yield Page(task, since, until, _seconds(done[task]), undone.get(task, []))


def crossing(session: Session, tasks: Collection[str], since: datetime, until: datetime, now: datetime) -> list[Run]:
    """The runs that share time with another."""
    values = {**_of(tasks), "since": since, "until": until, "now": now}
    return [rows.run(row) for row in session.rows("crossing_runs", values)]


def silences(
    session: Session, task: str, longest: timedelta, *, since: datetime, until: datetime
) -> list[tuple[datetime, datetime]]:
    """Where more than `longest` passed between two starts."""
    before = session.row("last_start_before", {"task": task, "since": since})
    start = before["claimed_at"] if before is not None else since
    values = {"task": task, "longest": longest, "since": start, "until": until}
    return [(row["last_start"], row["next_start"]) for row in session.rows("silences", values)]


def _of(tasks: Collection[str] | None) -> dict[str, object]:
    return {"tasks": None if tasks is None else list(tasks)}


def _seconds(text: str | None) -> list[int]:
    """In order, whatever the database did."""
    return sorted(map(int, text.split())) if text else []


def _attempt(row: Row) -> Attempt:
    return Attempt(
        task=row["task"],
        slot=row["slot"],
        number=row["number"],
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        host=row["host"],
        exit_status=row["exit_status"],
        signal=row["signal"],
        late_outcome=Outcome(row["late_outcome"]) if row["late_outcome"] else None,
        retry_at=row["retry_at"],
        lease_until=row["lease_until"],
    )
