"""`once timeline`, on a real SQLite file: the picture to the character, and the JSON keys."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.reports.timeline import Grid, Strip, marks
from once.run import Outcome
from once.store.base import Store
from tests.conformance.claims import claim, ending, held, holder
from tests.integration.conftest import Once

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def once(asked: Once, monkeypatch: pytest.MonkeyPatch) -> Once:
    """Runs `once timeline` with these arguments: its exit status, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "40")
    return partial(asked, "timeline")


def drawn(*strips: Strip, missed: tuple[datetime, ...] = ()) -> str:
    """Twelve cells of an hour, until noon."""
    row = Grid(NOON - 12 * HOUR, NOON, 12).row("t", None, strips, missed)
    return "".join(mark for mark, _ in marks(row.states(), fine=False))


def strip(state: str, first: int, last: int, shared_last: int | None = None) -> Strip:
    """One run."""
    return Strip("t", "a", state, first, last, shared_last, 1)


@pytest.mark.parametrize(
    ("picture", "strips"),
    [
        ("............", []),
        ("##..........", [strip("succeeded", -3, 1)]),
        ("..........>>", [strip("running", 10, 12)]),
        (".###........", [strip("succeeded", 1, 3)]),
        (".#x#........", [strip("succeeded", 1, 3), strip("failed", 2, 2)]),
        (".##==##.....", [strip("succeeded", 1, 4), strip("succeeded", 3, 6, shared_last=4)]),
        ("...!?x/-....", [strip(*one) for one in (
            ("stuck", 3, 3), ("lost", 4, 4), ("timed_out", 5, 5), ("cancelled", 6, 6), ("skipped", 7, 7),
        )]),
    ],
)  # fmt: skip
def test_a_cell_shows_the_worst_of_it(picture: str, strips: list[Strip]) -> None:
    """Also of what began before, and of what goes on."""
    assert drawn(*strips) == picture


def test_a_missed_slot_is_a_hole() -> None:
    """Also beside a success in the same cell."""
    missed = (NOON - 12 * HOUR, NOON - 2 * HOUR, NOON)

    assert drawn(strip("succeeded", 0, 9), missed=missed) == "o#########oo"


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader's zone."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_utc")
def test_the_axis_ends_now() -> None:
    """Round local times above their cells."""
    assert Grid(NOON - 6 * HOUR, NOON, 36).axis() == "06:00       08:00       10:00    now"
    assert Grid(NOON - 24 * HOUR, NOON, 32).axis() == "12:00   18:00   Mon 02       now"


@pytest.mark.usefixtures("in_utc")
def test_the_axis_of_a_long_time_tells_months_and_years() -> None:
    """A weekday and a day of the month stand for many days there."""
    assert Grid(NOON - 80 * DAY, NOON, 60).axis() == "          Dec 26    Jan 09     Jan 23    Feb 06          now"
    assert Grid(NOON - 2000 * DAY, NOON, 60).axis() == "          2021-09    2022-09    2023-09    2024-09       now"
    assert Grid(NOON - 40_000 * DAY, NOON, 60).axis() == "        1931-08 1946-07 1961-07 1976-06 1991-05          now"


def test_the_picture_fits_and_is_legible_without_colour(once: Once, store: Store) -> None:
    """A row a task, now at the right edge, and below it what the marks mean."""
    store.finish(held(store, claim(None, task="[bold]x[/bold]")), ending())
    store.finish(held(store, claim(None, task="🚀")), ending(Outcome.FAILED))
    status, out, err = once()
    lines = out.splitlines()

    assert (status, err) == (0, "")
    assert lines[0].endswith(" a mark")
    assert lines[1].endswith("now")
    assert lines[2] == "[bold]x[/bold]  " + "·" * 23 + "■"
    assert lines[3] == "🚀" + " " * 14 + "·" * 23 + "x"
    assert lines[4:] == ["", "x failed   ■ succeeded   · idle"]


def test_of_one_task_each_host_has_a_row(once: Once, store: Store) -> None:
    """Below the task's own."""
    for host in ("web2", "web1"):
        store.finish(held(store, claim(None, task="t", by=holder(host))), ending())
    rows = once("t")[1].splitlines()[2:5]

    assert [row.split()[0] for row in rows] == ["t", "web1", "web2"]
    assert all(row.endswith("·■") for row in rows)


def test_a_hole_is_drawn_where_nobody_started(once: Once, store: Store, tmp_path: Path) -> None:
    """Since the schedule was seen first."""
    long_ago = SystemClock().now() - timedelta(hours=20)
    store.claim(claim(task="t").replaced(slot=None))
    with closing(sqlite3.connect(tmp_path / "once.db")) as connection, connection:
        values = {"at": int(long_ago.timestamp()) * 1_000_000}
        connection.execute("DELETE FROM run")
        connection.execute("INSERT OR REPLACE INTO schedule VALUES ('t', :at, '0 * * * *', 'UTC', 'cron', :at)", values)
        connection.execute("DELETE FROM schedule WHERE first_seen <> :at", values)
    row = once("t")[1].splitlines()[2]

    assert row.count("○") >= 15
    assert row.split()[1].startswith("··")


def test_an_item_has_exactly_these_keys(once: Once, store: Store) -> None:
    """The contract for programs: the marks in which something happened."""
    store.finish(held(store, claim(None, task="t")), ending())
    answer = json.loads(once("--json")[1])

    assert answer["once"] == "timeline/1"
    assert [item.keys() for item in answer["items"]] == [{"task", "host", "from", "until", "marks"}]
    assert (answer["items"][0]["task"], answer["items"][0]["host"]) == ("t", None)
    assert answer["items"][0]["marks"] == {"succeeded": 1}


def test_no_such_task_is_said(once: Once, store: Store) -> None:
    """And an empty record is no picture."""
    store.connect()

    assert once() == (0, "No task has been recorded yet.\n", "")
    assert once("nobody")[:2] == (2, "")
