"""Made-up histories: the runs that a store finds to share time are enough to tell every overlap that there is."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from once.reports.overlaps import overlaps
from once.run import Run
from once.store.base import Store
from tests.conformance.claims import NOON
from tests.conformance.conftest import Bench

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOW = NOON + 5 * DAY
TASKS = ("a", "b")
RUNS = 40

Row = dict[str, object]


def made_up(dice: random.Random, task: str, number: int) -> Row:
    """Most last some hours; some for days, some were lost with or without a late end, some are at work."""
    claimed = NOON + dice.randrange(4 * 24) * HOUR
    row: Row = {"task": task, "number": number, "outcome": "succeeded", "claimed_at": claimed}
    beat = claimed + dice.randrange(30) * HOUR
    match dice.choice(["short"] * 6 + ["long", "lost", "late", "running", "stuck", "skipped"]):
        case "short":
            return row | {"duration": dice.choice([0, 1, 2, 6]) * HOUR}
        case "long":
            return row | {"duration": dice.randrange(25, 60) * HOUR}
        case "lost":
            return row | {"outcome": "lost", "beat_at": beat, "lease_until": beat}
        case "late":
            late = {"late_at": beat + HOUR, "late_outcome": "succeeded", "clock_offset": dice.choice([None, HOUR])}
            return row | {"outcome": "lost", "beat_at": beat, "lease_until": beat, **late}
        case "running":
            return row | {"outcome": "running", "beat_at": NOW, "lease_until": NOW + HOUR}
        case "stuck":
            return row | {"outcome": "running", "beat_at": beat, "lease_until": min(beat, NOW)}
    return row | {"outcome": "skipped"}


def insert(bench: Bench, row: Row) -> None:
    """Write it past the store."""
    fixed = {"token": "t", "attempt": 1, "attempts": 1, "host": "h", "pid": 1, "login": "ops", "command": "[]"}
    whole = fixed | {"command_hash": "c", "once_version": "0"} | row
    values = ", ".join(literal(bench, value) for value in whole.values())
    bench.meddle(f"INSERT INTO once.run ({', '.join(whole)}) VALUES ({values})")


def literal(bench: Bench, value: object) -> str:
    """As this store's SQL writes it."""
    in_sqlite = bench.kind == "sqlite"
    match value:
        case None:
            return "NULL"
        case datetime():
            return str(int(value.timestamp()) * 1_000_000) if in_sqlite else f"timestamptz '{value.isoformat()}'"
        case timedelta():
            microseconds = value // timedelta(microseconds=1)
            return str(microseconds) if in_sqlite else f"interval '{microseconds} microseconds'"
    return repr(value)


def in_order(run: Run) -> tuple[str, datetime | None, int]:
    """As the store tells them."""
    return run.task, run.claimed_at, run.number


def told(runs: list[Run], since: datetime, until: datetime) -> list[tuple[str, int, int, timedelta]]:
    """The overlaps that the report makes of these runs."""
    found = overlaps(runs, since=since, until=until, now=NOW)
    return sorted((one.task, one.earlier.run.number, one.later.run.number, one.shared) for one in found)


@pytest.mark.parametrize("seed", range(3))
def test_no_overlap_is_overlooked(bench: Bench, store: Store, seed: int) -> None:
    """What the report makes of the runs that the store picked is what it makes of all of them."""
    dice = random.Random(seed)
    for task in TASKS:
        bench.meddle(f"INSERT INTO once.task (name, folded) VALUES ('{task}', '{task}')")
        for number in range(1, RUNS + 1):
            insert(bench, made_up(dice, task, number))
    every = [run for task in TASKS for run in store.runs(task)]
    started = sorted((run for run in every if run.outcome.was_started), key=in_order)
    for since, until in ((NOON, NOW), (NOON + DAY, NOON + 2 * DAY), (NOON + 3 * DAY, NOW)):
        picked = store.crossing(TASKS, since=since, until=until, now=NOW)

        assert told(picked, since, until) == told(started, since, until)
