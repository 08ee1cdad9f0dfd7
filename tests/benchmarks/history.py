"""A made-up history of any size whose gaps, overlaps and stuck runs are known beforehand.

One task is due every minute, the others every so often; the rows come in the order in which they would have been
written. What goes wrong depends on the number of the task and of the slot alone, so the answers are arithmetic, and
share no code with the reports.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import psycopg

COLUMNS = (
    "task", "number", "token", "slot", "attempt", "outcome", "reason", "attempts", "host", "pid", "login", "command",
    "command_hash", "fired_at", "claimed_at", "started_at", "beat_at", "lease_until", "finished_at", "duration",
    "exit_status", "once_version",
)  # fmt: skip
INSTANTS = frozenset(("slot", "fired_at", "claimed_at", "started_at", "beat_at", "lease_until", "finished_at"))

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
MINUTE = 60 * SECOND
TOOK, LEASE, CLAIMED_AFTER, LAST_BEAT_AFTER = 20 * SECOND, 300 * SECOND, SECOND // 5, 15 * SECOND
TRIED_AGAIN_AFTER = 25 * SECOND
DAY = 24 * 3600 * SECOND

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much history: the tasks, from when to when, in microseconds since 1970, and how often all but one are due.

    `until` must not be a slot of theirs, and some minutes after one, so that the newest runs are over.
    """

    tasks: int
    start: int
    until: int
    every: int

    @classmethod
    def of(cls, *, tasks: int, days: float, every: timedelta, until: datetime) -> Plan:
        """The last so many days before about `until`."""
        distance = every // timedelta(microseconds=1)
        end = (until - EPOCH) // timedelta(microseconds=1) // distance * distance + min(distance // 2, 15 * MINUTE)
        return cls(tasks, (end - round(days * DAY)) // distance * distance, end, distance)

    def distance(self, task: int) -> int:
        """From slot to slot."""
        return self.every if task else MINUTE

    def expression(self, task: int) -> str:
        """The schedule that says so."""
        return f"@every {self.every // MINUTE}m" if task else "* * * * *"

    def newest(self, task: int) -> int:
        """The number of the newest slot, counted from 0."""
        return (self.until - self.start - 1) // self.distance(task)


def name(task: int) -> str:
    """Padded, so that names sort as numbers."""
    return f"task-{task:04}"


def fate(plan: Plan, task: int, slot: int) -> str:
    """What becomes of a slot. The minutely task has a bit of everything."""
    if slot == plan.newest(task):
        return {6: "stuck", 7: "slow"}.get(task % 10, "ok")
    if slot > plan.newest(task) - 10:
        return "ok"
    if task == 0:
        return {5_000: "missed", 7_001: "missed", 7_002: "missed", 9_000: "failed", 11_000: "long"}.get(
            slot % 20_000, "ok"
        )
    place = slot % 50
    match task % 10:
        case 1 if place == 25 or 30 <= place < 35:
            return "missed"
        case 2 if place in (25, 26):
            return "failed"
        case 3 if place == 25:
            return "lost"
        case 4 if place == 25:
            return "long"
        case 5 if place == 25:
            return "retried"
        case 8 if place == 25:
            return "skipped"
    return "ok"


def rows(plan: Plan) -> Iterator[Row]:
    """Every row, in the order of time."""
    numbers = [0] * plan.tasks
    for at in range(plan.start, plan.until, MINUTE):
        due = range(plan.tasks) if (at - plan.start) % plan.every == 0 else range(1)
        for task in due:
            slot = (at - plan.start) // plan.distance(task)
            for row in _of_slot(plan, task, at, fate(plan, task, slot)):
                numbers[task] += 1
                yield (name(task), numbers[task], *row)


def _of_slot(plan: Plan, task: int, at: int, what: str) -> Iterator[Row]:
    match what:
        case "missed":
            return
        case "skipped":
            yield _row(task, at, "skipped", reason="overlap: run 1 on h1 is alive")
        case "failed":
            yield _row(task, at, "failed", took=TOOK, status=1)
        case "lost":
            yield _row(task, at, "lost", reason="its lease had ended, found by h1 (pid 7)")
        case "stuck":
            yield _row(task, at, "running")
        case "slow":
            yield _row(task, at, "running", lease_until=plan.until + 365 * DAY)
        case "retried":
            yield _row(task, at, "failed", took=TOOK, status=1)
            yield _row(task, at, "succeeded", took=TOOK, status=0, after=TRIED_AGAIN_AFTER, attempt=2)
        case "long":
            yield _row(task, at, "succeeded", took=2 * plan.distance(task) + 10 * SECOND, status=0)
        case _:
            yield _row(task, at, "succeeded", took=TOOK, status=0)


def _row(
    task: int,
    at: int,
    outcome: str,
    *,
    reason: str | None = None,
    took: int | None = None,
    status: int | None = None,
    after: int = 0,
    attempt: int = 1,
    lease_until: int | None = None,
) -> Row:
    claimed = at + CLAIMED_AFTER + after
    started = None if outcome == "skipped" else claimed
    beat = None if outcome == "skipped" else claimed + LAST_BEAT_AFTER
    lease = None if beat is None else lease_until or beat + LEASE
    return (
        "0123456789abcdef", at, attempt, outcome, reason, 2, f"h{task % 7}", 4711, "ops", '["/opt/app/job"]', "c0ffee",
        at, claimed, started, beat, lease, None if took is None else claimed + took, took, status, "0.1.0",
    )  # fmt: skip


def gaps(plan: Plan, since: int) -> list[tuple[str, str, int, int, int]]:
    """Task, kind, first and last slot, and how many, of every gap in since ≤ slot < until, by task and time."""
    kinds = {"missed": "missed", "failed": "failed", "lost": "lost", "stuck": "lost"}
    found: list[tuple[str, str, int, int, int]] = []
    for task in range(plan.tasks):
        distance = plan.distance(task)
        in_row: list[int] = []
        before = None
        for slot in range(max(0, -((plan.start - since) // distance)), plan.newest(task) + 1):
            kind = kinds.get(fate(plan, task, slot))
            if in_row and kind != before:
                found.append((name(task), str(before), in_row[0], in_row[-1], len(in_row)))
            in_row = [] if kind is None else [*(in_row if kind == before else ()), plan.start + slot * distance]
            before = kind
        if in_row:
            found.append((name(task), str(before), in_row[0], in_row[-1], len(in_row)))
    return found


def overlaps(plan: Plan, since: int) -> list[tuple[str, int, int]]:
    """Task, since when and for how long of every two runs that share time after `since`, by task and time."""
    found = []
    for task in range(plan.tasks):
        distance = plan.distance(task)
        for slot in range(max(0, (since - plan.start) // distance - 2), plan.newest(task) + 1):
            if fate(plan, task, slot) == "long":
                claimed = plan.start + slot * distance + CLAIMED_AFTER
                end = claimed + 2 * distance + 10 * SECOND
                for later in (claimed + distance, claimed + 2 * distance):
                    shared_until = min(end, later + TOOK)
                    if shared_until > since:
                        found.append((name(task), later, shared_until - later))
    return found


def stuck(plan: Plan) -> list[tuple[str, str]]:
    """Task and sign of every stuck run, by task."""
    signs = {"stuck": "no beat", "slow": "too long"}
    what = [(name(task), fate(plan, task, plan.newest(task))) for task in range(plan.tasks)]
    return [(task, signs[told]) for task, told in what if told in signs]


def fill_sqlite(connection: sqlite3.Connection, plan: Plan) -> int:
    """Write it all; the number of runs."""
    counted = _Counted(rows(plan))
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN")
    tasks = [(name(task), name(task)) for task in range(plan.tasks)]
    connection.executemany("INSERT INTO task (name, folded) VALUES (?, ?)", tasks)
    connection.executemany(
        "INSERT INTO schedule (task, first_seen, expression, zone, engine, last_seen)"
        " VALUES (?, ?, ?, 'UTC', 'cron', ?)",
        [(name(task), plan.start, plan.expression(task), plan.until) for task in range(plan.tasks)],
    )
    marks = ", ".join("?" * len(COLUMNS))
    connection.executemany(f"INSERT INTO run ({', '.join(COLUMNS)}) VALUES ({marks})", counted)
    connection.execute("UPDATE task SET last_number = (SELECT max(number) FROM run WHERE run.task = task.name)")
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
    return counted.count


def fill_postgres(connection: psycopg.Connection, plan: Plan) -> int:
    """Write it all; the number of runs. Indexes that are no constraint are made afterwards."""
    found = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'once' AND tablename = 'run'"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    ).fetchall()
    for index, _ in found:
        connection.execute(f"DROP INDEX once.{index}")
    with connection.cursor() as cursor:
        with cursor.copy("COPY once.task (name, folded) FROM STDIN") as copy:
            for task in range(plan.tasks):
                copy.write_row((name(task), name(task)))
        with cursor.copy(
            "COPY once.schedule (task, first_seen, expression, zone, engine, last_seen) FROM STDIN"
        ) as copy:
            for task in range(plan.tasks):
                told = (_stamp(plan.start), plan.expression(task), "UTC", "cron", _stamp(plan.until))
                copy.write_row((name(task), *told))
        counted = _Counted(rows(plan))
        with cursor.copy(f"COPY once.run ({', '.join(COLUMNS)}) FROM STDIN") as copy:
            for row in counted:
                copy.write(_line(row))
    for _, definition in found:
        connection.execute(definition)
    connection.execute("UPDATE once.task SET last_number = (SELECT max(number) FROM once.run WHERE run.task = name)")
    connection.execute("VACUUM (ANALYZE) once.run")
    connection.execute("VACUUM (ANALYZE) once.task, once.schedule")
    return counted.count


class _Counted:
    """Rows that count themselves as they pass."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


_IS_INSTANT = tuple(column in INSTANTS for column in COLUMNS)
_DURATION = COLUMNS.index("duration")


def _line(row: Row) -> str:
    """As COPY reads it."""
    told = [
        r"\N" if value is None else _stamp(value) if is_instant else str(value)
        for value, is_instant in zip(row, _IS_INSTANT, strict=True)
    ]
    if row[_DURATION] is not None:
        told[_DURATION] = f"{row[_DURATION]} microseconds"
    return "\t".join(told) + "\n"


@lru_cache(maxsize=10_000)
def _stamp(microseconds: int) -> str:
    return (EPOCH + timedelta(microseconds=microseconds)).isoformat()
