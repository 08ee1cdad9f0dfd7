"""`once excuse` on a real SQLite file: exact text, exact JSON keys, and which slots it is about."""

from __future__ import annotations

import json

import pytest

from once.run import Outcome
from once.verdict import Reason
from tests.integration.conftest import BY, Once, Record, StoppedClock, items

pytestmark = pytest.mark.usefixtures("at_noon")

NOTHING = "report: nothing to excuse: what there was has succeeded, or is excused\n"


@pytest.fixture
def gappy(record: Record) -> Record:
    """Run six days ago, failed five days ago, missed on four days, run at noon."""
    record.run(6)
    record.run(5, status=3)
    record.run(0)
    return record


def test_one_slot(gappy: Record, once: Once) -> None:
    """It is no gap any more, and no start runs it."""
    told = once("excuse", "report", "--slot", "2026-11-25T12:00:00Z", "--reason", "office closed")
    run = next(iter(gappy.store.runs("report", limit=1)))
    verdict = gappy.store.claim(gappy.claim(2)).verdict

    assert told == (0, "report: slot 2026-11-25T12:00:00Z is excused\n", "")
    assert (run.outcome, run.slot, run.reason) == (Outcome.EXCUSED, gappy.slot(2).at, f"{BY}: office closed")
    assert verdict.reason is Reason.EXCUSED


def test_the_latest_slot_by_its_name(gappy: Record, once: Once, at_noon: StoppedClock) -> None:
    """`last`, as for a rerun."""
    at_noon.time = gappy.slot(-1).at

    assert once("excuse", "report", "--slot", "last") == (0, "report: slot 2026-11-28T12:00:00Z is excused\n", "")


@pytest.mark.usefixtures("gappy")
def test_every_gap_since_then(once: Once) -> None:
    """Missed or failed, and none that has succeeded."""
    told = once("excuse", "report", "--since", "7d", "--reason", "the switch was down")

    assert told == (0, "report: 5 slots from 2026-11-22T12:00:00Z to 2026-11-26T12:00:00Z are excused\n", "")
    assert once("gaps")[0] == 0
    assert once("excuse", "report", "--since", "7d") == (0, NOTHING, "")


@pytest.mark.usefixtures("gappy")
def test_only_until_then(once: Once) -> None:
    """The end is not of it."""
    told = once("excuse", "report", "--since", "7d", "--until", "2026-11-24T12:00:00Z", "--json")

    assert [item["slot"][8:10] for item in items(told)] == ["22", "23"]


@pytest.mark.usefixtures("gappy")
def test_every_slot_that_is_to_come(once: Once) -> None:
    """Holidays, in advance; today's has been run."""
    told = once("excuse", "report", "--since", "1h", "--until", "2026-11-30T00:00:00Z")

    assert told == (0, "report: 2 slots from 2026-11-28T12:00:00Z to 2026-11-29T12:00:00Z are excused\n", "")


@pytest.mark.usefixtures("gappy")
def test_what_has_succeeded_is_left(once: Once) -> None:
    """It needs no excuse."""
    assert once("excuse", "report", "--slot", "2026-11-27T12:00:00Z") == (0, NOTHING, "")


def test_what_is_alive_is_left_and_said(record: Record, once: Once, at_noon: StoppedClock) -> None:
    """An operator has to end it first; exit status 1."""
    record.run(1)
    record.start(0)
    at_noon.time = record.clock.time
    told = once("excuse", "report", "--slot", "last")

    assert told == (1, "report: left 1 that run or wait to be retried; once cancel ends them\n", "")
    assert record.store.run("report", 2).outcome is Outcome.RUNNING


@pytest.mark.usefixtures("gappy")
def test_its_items_have_exactly_these_keys(once: Once) -> None:
    """The contract for programs."""
    told = once("excuse", "report", "--slot", "2026-11-25T12:00:00Z", "--json")

    assert told[0] == 0
    assert json.loads(told[1]) == {
        "once": "excuse/1",
        "items": [{"task": "report", "slot": "2026-11-25T12:00:00Z"}],
    }


@pytest.mark.usefixtures("gappy")
def test_it_is_told_with_the_runs_and_of_a_run(once: Once) -> None:
    """From which slot to which; of a run whose slot is among them."""
    once("excuse", "report", "--since", "7d", "--reason", "the switch was down")
    event = (
        "2026-11-27 12:10:00+00:00  excuse slots 2026-11-22 12:00:00+00:00 to 2026-11-26 12:00:00+00:00"
        f" {BY}: the switch was down"
    )

    assert once("runs", "report")[1].splitlines()[-1] == f"  {event}"
    assert f"by hand:     {event}\n" in once("show", "report", "5")[1]
    assert "by hand:" not in once("show", "report", "1")[1]


@pytest.mark.usefixtures("gappy")
def test_the_event_of_one_slot_names_it(once: Once) -> None:
    """Once."""
    once("excuse", "report", "--slot", "2026-11-25T12:00:00Z")
    told = once("runs", "report")[1].splitlines()[-1]

    assert told == f"  2026-11-27 12:10:00+00:00  excuse slot 2026-11-25 12:00:00+00:00 {BY}"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param(
            ("report",),
            "once excuse needs --slot or --since."
            " Try: once excuse TASK --slot WHEN, or once excuse TASK --since WHEN [--until WHEN]",
            id="neither slot nor time",
        ),
        pytest.param(
            ("report", "--slot", "last", "--since", "7d"),
            "once excuse needs --slot or --since."
            " Try: once excuse TASK --slot WHEN, or once excuse TASK --since WHEN [--until WHEN]",
            id="both",
        ),
        pytest.param(
            ("report", "--slot", "2026-11-25T12:30:00Z"),
            "2026-11-25T12:30:00Z is not a slot of '0 12 * * *' in UTC;"
            " the nearest are 2026-11-25T12:00:00Z and 2026-11-26T12:00:00Z",
            id="no slot",
        ),
        pytest.param(
            ("report", "--since", "2026-11-25T12:30:00Z", "--until", "2026-11-24T12:30:00Z"),
            "There is no time between 2026-11-25T12:30:00Z and 2026-11-24T12:30:00Z."
            " Try: --since 7d, with an --until after it, if any",
            id="an end before the beginning",
        ),
        pytest.param(
            ("report", "--since", "7d", "--until", "9026-12-24T00:00:00Z"),
            "--until 9026-12-24T00:00:00Z is more than a year ahead."
            " Try: an earlier one, or once retire report if the task is gone for good",
            id="a year that was mistyped",
        ),
        pytest.param(
            ("report", "--since", "monday"),
            "'monday' is not an instant. Try: 2026-03-29T01:00:00Z, Unix seconds, or a duration ago such as 2h",
            id="no instant",
        ),
        pytest.param(
            ("nobody", "--since", "7d"), "No such task: nobody. Try: once status lists them all", id="no such task"
        ),
        pytest.param(
            ("deploy", "--since", "7d"),
            "Task deploy has no schedule: it was only ever run by once lock."
            ' Try: once next "0 17 * * 5", with the expression that you want to know about',
            id="no schedule",
        ),
    ],
)
def test_what_is_refused(gappy: Record, once: Once, arguments: tuple[str, ...], error: str) -> None:
    """In one line, with status 2; nothing is excused."""
    gappy.run(None, task="deploy")

    assert once("excuse", *arguments) == (2, "", f"once excuse: {error}\n")
    assert gappy.store.events("report", since=gappy.slot(9).at) == []
