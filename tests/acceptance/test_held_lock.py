"""A task whose row somebody else's transaction holds: its starts wait for as long as --db-wait says, no others do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.acceptance.conftest import Host, MinuteSlot, Ran, ended, until
from tests.acceptance.test_bad_input import refused
from tests.acceptance.test_one_slot import run_line
from tests.databases import POOL, Server

STARTS = POOL + 3
"""More than the pool has connections."""

HELD_UP = """
    SELECT count(*)
    FROM pg_stat_activity
    WHERE datname = current_database()
        AND wait_event_type = 'Lock'
"""

pytestmark = pytest.mark.parametrize("store_kind", ["postgres", "pgbouncer"], indirect=True)


@pytest.fixture
def lock(server: Server, database: str) -> Iterator[Callable[[str], psycopg.Connection]]:
    """Takes a task's row, in a transaction that stays open."""
    with server.connect(database) as connection:

        def take(task: str) -> psycopg.Connection:
            connection.execute("BEGIN")
            locked = connection.execute("SELECT FROM once.task WHERE name = %s FOR UPDATE", [task])
            assert locked.rowcount == 1
            return connection

        yield take


@pytest.fixture
def held_up(server: Server, database: str) -> Iterator[Callable[[], int]]:
    """How many wait for a lock."""
    with server.connect(database) as connection:

        def count() -> int:
            row = connection.execute(HELD_UP).fetchone()
            assert row
            number: int = row[0]
            return number

        yield count


def test_a_start_gives_up_after_db_wait(
    host: Host, this_minute: MinuteSlot, lock: Callable[[str], psycopg.Connection]
) -> None:
    """75: nothing was claimed, nothing was run, a later start may."""
    host.once("lock", "--task", "report", "--", "true")
    lock("report")
    ran = host.once(*run_line(this_minute, "--db-wait", "2s"), "--", "touch", "ran")

    refused(ran, 75, "another transaction holds")
    assert not (host.root / "ran").exists()
    assert len(host.runs("report")) == 1


def test_a_start_waits_for_the_lock_and_runs(
    host: Host,
    this_minute: MinuteSlot,
    lock: Callable[[str], psycopg.Connection],
    held_up: Callable[[], int],
) -> None:
    """Try after try, each with a connection of its own."""
    host.once("lock", "--task", "report", "--", "true")
    holding = lock("report")
    process = host.start(*run_line(this_minute, "--db-wait", "50s"), "--", "echo", "ran")
    for waits in (True, False, True):
        until(lambda waits=waits: bool(held_up()) is waits)
    holding.execute("ROLLBACK")

    assert ended(process) == Ran(0, b"ran\n", "")


def test_other_tasks_are_not_starved(
    fleet: Callable[[int], list[Host]],
    this_minute: MinuteSlot,
    lock: Callable[[str], psycopg.Connection],
    held_up: Callable[[], int],
) -> None:
    """More starts of the locked task than the pool has connections: another task's start comes through all the same.

    When the lock is gone, one of them runs.
    """
    *hosts, other = fleet(STARTS + 1)
    other.once("lock", "--task", "report", "--", "true")
    holding = lock("report")
    line = run_line(this_minute, "--db-wait", "50s")
    starts = [one.start(*line, "--", "echo", "ran") for one in hosts]
    until(lambda: held_up() >= POOL)
    runs = [other.once(*run_line(this_minute, task="other"), "--", "echo", "other") for _ in range(2)]
    still_waiting = [process.poll() for process in starts]
    holding.execute("ROLLBACK")
    ran = [ended(process) for process in starts]

    assert runs == [Ran(0, b"other\n", ""), Ran(0, b"", "")]
    assert other.run("other")["outcome"] == "succeeded"
    assert still_waiting == [None] * STARTS
    assert sorted((one.status, one.out) for one in ran) == [(0, b"")] * (STARTS - 1) + [(0, b"ran\n")]
    assert [run["outcome"] for run in other.runs("report")] == ["succeeded", "succeeded"]


def test_a_holder_beats_and_ends_behind_the_lock(
    host: Host,
    this_minute: MinuteSlot,
    lock: Callable[[str], psycopg.Connection],
) -> None:
    """Whoever holds the task's row, its run is not lost."""
    script = "until [ -e end ]; do sleep 0.05; done"
    process = host.start(*run_line(this_minute, "--lease", "5s"), "--", "sh", "-c", script)
    (first,) = until(lambda: [run for run in host.runs("report") if run["started_at"]])
    lock("report")
    until(lambda: host.run("report")["beat_at"] > first["lease_until"])
    (host.root / "end").touch()

    assert ended(process) == Ran(0, b"", "")
    assert host.run("report")["outcome"] == "succeeded"
