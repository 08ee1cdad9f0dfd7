"""`once retire` on a real SQLite file: exact text, exact JSON keys, and what is left of the task."""

from __future__ import annotations

import json

import pytest

from once.verdict import Reason, Skip
from tests.integration.conftest import BY, DAY, Once, Record, StoppedClock, items

pytestmark = pytest.mark.usefixtures("at_noon")


def test_a_task_is_no_more(record: Record, once: Once) -> None:
    """The table of tasks says by whom and why, and no next slot."""
    record.run()
    told = once("retire", "report", "--reason", "moved")
    line = " ".join(once("status")[1].splitlines()[1].split())

    assert told == (0, "report: retired\n", "")
    assert line == f"report 0 12 * * * UTC 2026-11-27 12:00:00+00:00 succeeded 1m h1 - retired {BY}: moved"


def test_a_start_is_told_who_and_why(record: Record, once: Once) -> None:
    """A line that was left in some crontab runs nothing."""
    record.run(1)
    once("retire", "report", "--reason", "moved")

    assert record.store.claim(record.claim()).verdict == Skip(Reason.RETIRED, recorded=True, why=f"{BY}: moved")


def test_no_slot_is_due_any_more(record: Record, once: Once, at_noon: StoppedClock) -> None:
    """Until it is brought back; what was missed before stays missed."""
    record.run()
    once("retire", "report")
    at_noon.time += 3 * DAY
    while_retired = once("gaps")[0]
    once("resume", "report")
    at_noon.time += 2 * DAY

    assert while_retired == 0
    assert once("gaps", "--since", "2d")[0] == 1


def test_a_second_time_is_told_and_no_failure(record: Record, once: Once) -> None:
    """Each of the tasks has its line."""
    record.run()
    record.run(task="other")
    once("retire", "report")

    assert once("retire", "report", "other") == (0, "report: retired before\nother: retired\n", "")


def test_its_items_have_exactly_these_keys(record: Record, once: Once) -> None:
    """The contract for programs."""
    record.run()
    first = once("retire", "report", "--json")

    assert json.loads(first[1]) == {"once": "retire/1", "items": [{"task": "report", "retired": True}]}
    assert items(once("retire", "report", "--json")) == [{"task": "report", "retired": False}]


def test_a_resume_brings_it_back(record: Record, once: Once) -> None:
    """Its history was there all the time."""
    record.run()
    once("retire", "report")

    assert once("resume", "report") == (0, "report: resumed\n", "")
    assert record.store.task("report").retired_at is None
    assert len(list(record.store.runs("report"))) == 1


def test_it_is_told_with_the_runs(record: Record, once: Once) -> None:
    """Who, where, why."""
    record.run()
    once("retire", "report", "--reason", "moved")

    assert once("runs", "report")[1].splitlines()[-1] == f"  2026-11-27 12:10:00+00:00  retire {BY}: moved"


def test_with_one_task_unknown_nothing_is_done(record: Record, once: Once) -> None:
    """A slip of the pen retires nobody else."""
    record.run()
    said = "once retire: No such task: nobody. Try: once status lists them all\n"

    assert once("retire", "report", "nobody") == (2, "", said)
    assert record.store.task("report").retired_at is None


def test_without_a_name_it_is_refused(once: Once, record: Record) -> None:
    """There is no retiring of all."""
    record.run()

    assert once("retire")[0] == 2
    assert record.store.task("report").retired_at is None
