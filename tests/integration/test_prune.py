"""`once prune`, and the pruning after a success, on a real SQLite file: exact text, exact JSON keys."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.run import Outcome
from once.store.base import Store
from once.store.connect import open_store
from tests.conformance.claims import claim, ending, held, slot
from tests.integration.conftest import Once

DAY = timedelta(days=1)
LONG_AGO = -24 * 2000
"""Hours before the first slot of these tests: before any clock's last ninety days."""


class AtThatTime:
    """The clock of somebody who claimed a slot long ago."""

    def __init__(self, hours: float) -> None:
        self.hours = hours

    def now(self) -> object:
        return slot(LONG_AGO + self.hours).at

    def boottime(self) -> float:
        return SystemClock().boottime()

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "once.db"


@pytest.fixture
def once(asked: Once) -> Once:
    return asked


def remember(path: Path, task: str, *hours: float, outcome: Outcome = Outcome.SUCCEEDED) -> None:
    """The task ran in these hours, long ago."""
    for hour in hours:
        store = open_store(f"sqlite:{path}", clock=AtThatTime(hour), state_dir="/nowhere")
        store.finish(held(store, claim(slot(LONG_AGO + hour), task=task)), ending(outcome))
        store.close()


def reader(path: Path) -> Store:
    return open_store(f"sqlite:{path}", clock=SystemClock(), state_dir="/nowhere")


def test_a_line_a_task_that_something_was_forgotten_of(once: Once, path: Path) -> None:
    """How many, and through which slot nothing runs again."""
    remember(path, "report", 0, 1, 2)
    remember(path, "weekly", 0)
    remember(path, "backup", 0, 1)

    assert once("prune") == (
        0,
        (
            "backup: 1 run forgotten; no slot through 2021-06-06T12:00:00Z runs again\n"
            "report: 2 runs forgotten; no slot through 2021-06-06T13:00:00Z runs again\n"
        ),
        "",
    )
    assert once("prune")[1] == "Nothing to forget is older than 90d.\n"
    assert [run.number for run in reader(path).runs("report")] == [3]


def test_a_dry_run_changes_nothing(once: Once, path: Path) -> None:
    """It says the same in another mood."""
    remember(path, "report", 0, 1)

    assert once("prune", "report", "--keep", "1d", "--dry-run") == (
        0,
        "report: 1 run would be forgotten; no slot through 2021-06-06T12:00:00Z would run again\n",
        "",
    )
    assert reader(path).task("report").settled_through is None
    assert len(list(reader(path).runs("report"))) == 2


def test_an_item_has_exactly_these_keys(once: Once, path: Path) -> None:
    """The contract for programs."""
    remember(path, "report", 0, 1)
    status, out, _ = once("prune", "--json")

    assert status == 0
    assert json.loads(out) == {
        "once": "prune/1",
        "items": [{"task": "report", "runs": 1, "settled_through": "2021-06-06T12:00:00Z", "dry_run": False}],
    }


def test_other_tasks_are_left_alone(once: Once, path: Path) -> None:
    """The named ones only."""
    remember(path, "report", 0, 1)
    remember(path, "backup", 0, 1)
    once("prune", "backup")

    assert len(list(reader(path).runs("report"))) == 2


def test_zero_keeps_everything(once: Once, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an option and as a setting."""
    remember(path, "report", 0, 1)
    monkeypatch.setenv("ONCE_KEEP", "0")
    said = "Everything is kept: the time to keep is 0.\n"

    assert once("prune") == (0, said, "")
    assert once("prune", "--keep", "0") == (0, said, "")
    assert once("prune", "--keep", "90d")[1].startswith("report: 1 run forgotten")


def test_no_such_task_is_said(once: Once, path: Path) -> None:
    """Nothing of the others is forgotten."""
    remember(path, "report", 0, 1)
    status, out, err = once("prune", "report", "nobody")

    assert (status, out) == (2, "")
    assert err == "once prune: No such task: nobody. Try: once status lists them all\n"
    assert len(list(reader(path).runs("report"))) == 2


def test_an_operators_prune_is_noted_a_rehearsal_is_not(once: Once, path: Path) -> None:
    """Who forgot what."""
    remember(path, "report", 0, 1)
    once("prune", "--dry-run")
    once("prune")
    connection = sqlite3.connect(path)
    noted = connection.execute("SELECT what, task, why FROM event").fetchall()
    connection.close()

    assert noted == [("prune", "report", "runs: 1, settled through: 2021-06-06 12:00:00+00:00")]


@pytest.mark.parametrize(
    ("keep", "command", "left"),
    [
        pytest.param(None, "true", [4], id="after a success"),
        pytest.param(None, "false", [1, 2, 3, 4], id="not after a failure"),
        pytest.param("0", "true", [1, 2, 3, 4], id="nor where everything is kept"),
        pytest.param("36500d", "true", [1, 2, 3, 4], id="nor while it is young enough"),
    ],
)
def test_old_history_is_forgotten_after_a_success(
    once: Once, path: Path, monkeypatch: pytest.MonkeyPatch, keep: str | None, command: str, left: list[int]
) -> None:
    """By itself."""
    remember(path, "report", 0, 1, 2)
    if keep is not None:
        monkeypatch.setenv("ONCE_KEEP", keep)
    status, out, err = once("run", "--task", "report", "--schedule", "* * * * *", "--tz", "UTC", "--", command)

    assert (out, err) == ("", "")
    assert status == (0 if command == "true" else 1)
    assert sorted(run.number for run in reader(path).runs("report")) == left
