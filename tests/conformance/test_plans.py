"""No report reads the whole history: the plans of the statements, as the store sends them, over forty thousand runs."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from once.store.base import Store
from once.store.postgres import PostgresSession
from once.store.postgres_connection import ADAPTERS
from once.store.queries import SQL, statements
from once.store.sqlite import EPOCH, MICROSECOND, SqliteSession
from tests.benchmarks import history
from tests.databases import Server

PLAN = history.Plan.of(tasks=60, days=14, every=timedelta(hours=1), until=datetime.now(UTC) - timedelta(hours=1))
NAMES = [history.name(task) for task in range(PLAN.tasks)]
WEEK = timedelta(days=7)

AS_SMALL_AS_ITS_ANSWER = "run_running"
"""The index that may be read from end to end: it holds the running ones alone."""

ASKED_BY_REPORTS = ("report.sql", "health.sql", "timeline.sql")

Sent = dict[str, Mapping[str, object]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The statements that are sent, by name, with the values of the last time."""
    seen: Sent = {}
    for session in (SqliteSession, PostgresSession):
        for verb in ("rows", "row", "write"):
            real = getattr(session, verb)

            def noted(self: Any, name: str, values: Any = None, real: Any = real) -> Any:
                seen[name] = values or {}
                return real(self, name, values)

            monkeypatch.setattr(session, verb, noted)
    return seen


def look_back(store: Store) -> None:
    """Everything that the reports ask: of all tasks, of many, and of one over all its time."""
    now = history.EPOCH + timedelta(microseconds=PLAN.until)
    begin = history.EPOCH + timedelta(microseconds=PLAN.start)
    store.newest()
    store.running()
    store.durations(NAMES)
    store.in_force()
    store.pauses()
    for tasks, since in ((NAMES[:1], begin), (NAMES[:50], now - WEEK)):
        list(store.slots(tasks, since=since, until=now))
        store.crossing(tasks, since=since, until=now, now=now)
        store.strips(tasks, since=since, now=now, length=timedelta(minutes=20))
    store.silences(NAMES[0], timedelta(minutes=2), since=now - WEEK, until=now)
    store.vitals()
    store.prune(NAMES[0], timedelta(days=1), rehearse=True)
    list(store.runs(NAMES[0], limit=20))


def test_no_report_reads_the_whole_history(
    store: Store, address: str, sent: Sent, request: pytest.FixtureRequest
) -> None:
    """Each row of `run` is found by an index, with a condition on it: a table ten times as long costs the same."""
    store.now()
    if address.startswith("sqlite:"):
        with closing(sqlite3.connect(address.removeprefix("sqlite:"), isolation_level=None)) as file:
            history.fill_sqlite(file, PLAN)
            sent.clear()
            look_back(store)
            scans = {name: list(scans_in_sqlite(file, name, values)) for name, values in sent.items()}
        asked = names_in("sqlite")
    else:
        server: Server = request.getfixturevalue("server")
        with psycopg.connect(server.address(address.rpartition("/")[2]), autocommit=True, context=ADAPTERS) as base:
            history.fill_postgres(base, PLAN)
            sent.clear()
            look_back(store)
            scans = {name: list(scans_in_postgres(base, name, values)) for name, values in sent.items()}
        asked = names_in("postgres")

    assert {name: found for name, found in scans.items() if found} == {}
    assert asked <= sent.keys()


def names_in(dialect: str) -> set[str]:
    """The statements of the reports; a new one has to be asked above."""
    texts = [(Path(SQL) / dialect / file).read_text() for file in ASKED_BY_REPORTS]
    return {name for text in texts for name in re.findall(r"^-- name: (\w+)$", text, re.MULTILINE)}


def scans_in_postgres(connection: psycopg.Connection, name: str, values: Mapping[str, object]) -> Iterator[str]:
    """The nodes that read all of `run`, or all of one of its indexes."""
    row = connection.execute(f"EXPLAIN (FORMAT JSON) {statements('postgres')[name]}", values).fetchone()
    assert row is not None
    waiting = [row[0][0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", ())
        reads_run = node.get("Relation Name") == "run" and node.get("Index Name") != AS_SMALL_AS_ITS_ANSWER
        if reads_run and not ({"Index Cond", "Recheck Cond"} & node.keys()):
            yield f"{node['Node Type']} {node.get('Index Name', '')}"


def scans_in_sqlite(connection: sqlite3.Connection, name: str, values: Mapping[str, object]) -> Iterator[str]:
    """The steps that read all of `run`, under whatever name, or of one of its indexes, also for a Bloom filter."""
    sql = statements("sqlite")[name].rstrip(";")
    for clock in ("once_now", "once_boottime"):
        connection.create_function(clock, 0, lambda: PLAN.until)
    called = {alias or "run" for alias in re.findall(r"\b(?:FROM|JOIN) run\b(?: AS (\w+))?", sql)}
    for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", {key: plain(each) for key, each in values.items()}):
        words = step.split()
        reads = words[0] == "SCAN" and words[1] in called
        if (reads and AS_SMALL_AS_ITS_ANSWER not in words) or ("BLOOM" in words and called & set(words)):
            yield step


def plain(value: object) -> object:
    """As the statements of SQLite take it."""
    match value:
        case datetime():
            return (value - EPOCH) // MICROSECOND
        case timedelta():
            return value // MICROSECOND
        case list():
            return json.dumps(value)
    return value
