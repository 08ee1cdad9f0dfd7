"""The reports over a made-up history of some twenty thousand runs, on every store: exactly the known answers."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from once.instants import rfc3339
from once.store.base import Store
from tests.benchmarks import history
from tests.databases import Server

Told = Callable[..., list[dict[str, Any]]]

PLAN = history.Plan.of(tasks=50, days=10, every=timedelta(hours=2), until=datetime.now(UTC) - timedelta(hours=1))


def moment(microseconds: int) -> str:
    """As JSON has it."""
    return rfc3339(history.EPOCH + timedelta(microseconds=microseconds))


@pytest.fixture
def told(store: Store, address: str, tmp_path: Path, request: pytest.FixtureRequest) -> Told:
    """Runs a verb over the history: what it tells programs. It found something exactly if its status is 1."""
    store.now()
    fill(address, request)
    environ = {**os.environ, "ONCE_DB": address, "ONCE_STATE_DIR": str(tmp_path)}

    def run(*arguments: str) -> list[dict[str, Any]]:
        call = [sys.executable, "-m", "once", *arguments, "--json"]
        done = subprocess.run(call, env=environ, capture_output=True, text=True, check=False)
        items: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        assert (done.returncode, done.stderr) == (int(bool(items)), "")
        return items

    return run


def fill(address: str, request: pytest.FixtureRequest) -> None:
    """Write the history past the store, as no verb could."""
    if address.startswith("sqlite:"):
        connection = sqlite3.connect(address.removeprefix("sqlite:"), isolation_level=None)
        history.fill_sqlite(connection, PLAN)
        connection.close()
        return
    server: Server = request.getfixturevalue("server")
    with server.connect(address.rpartition("/")[2]) as postgres:
        history.fill_postgres(postgres, PLAN)


def test_the_known_answers_come_back(told: Told) -> None:
    """Over the whole history, in several steps of a week; and from a moment in the midst of gaps and overlaps."""
    in_the_midst = PLAN.start + 64 * PLAN.every + history.MINUTE
    for since in (PLAN.start, in_the_midst):
        period = ("--since", moment(since), "--until", moment(PLAN.until))
        gaps = [
            (item["task"], item["kind"], item["first"], item["last"], item["count"]) for item in told("gaps", *period)
        ]
        overlaps = [(item["task"], item["start"], item["shared"]) for item in told("overlaps", *period)]

        assert gaps == [
            (task, kind, moment(first), moment(last), count)
            for task, kind, first, last, count in history.gaps(PLAN, since)
        ]
        assert overlaps == [
            (task, moment(start), shared / history.SECOND) for task, start, shared in history.overlaps(PLAN, since)
        ]


def test_the_known_stuck_runs_come_back(told: Told) -> None:
    """Those without a beat, and those that take far longer than their task used to."""
    assert [(item["task"], item["sign"]) for item in told("stuck")] == history.stuck(PLAN)
