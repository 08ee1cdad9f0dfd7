"""`once cancel` on a real SQLite file: exact text, exact JSON keys, and which runs it is about."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from once.run import Ending, Outcome
from tests.integration.conftest import BY, MINUTE, NOON, Once, Record, StoppedClock, items

ASKED = "report: run 1 on h1 (pid 42) is asked to stop; its next beat, within 1m, tells it\n"
NONE = "report: no run to cancel: none is alive, stuck or to be retried\n"


@pytest.fixture(autouse=True)
def shortly(at_noon: StoppedClock) -> StoppedClock:
    """A minute past the newest slot: what has begun then is alive."""
    at_noon.time = NOON + MINUTE
    return at_noon


def test_a_run_that_is_alive_is_asked_to_stop(record: Record, once: Once) -> None:
    """How soon its holder hears of it is a fifth of its lease."""
    record.start()
    told = once("cancel", "report", "--reason", "wrong input")

    assert told == (0, ASKED, "")
    assert record.store.run("report", 1).stop_asked == f"cancelled {BY}: wrong input"


def test_the_history_says_so_until_it_has_ended(record: Record, once: Once) -> None:
    """In the table, and of the run."""
    record.start()
    once("cancel", "report", "--reason", "wrong input")
    table, shown = once("runs", "report")[1], once("show", "report")[1]

    assert table.splitlines()[1].endswith(f"asked to stop: cancelled {BY}: wrong input")
    assert table.splitlines()[-1] == f"  2026-11-27 12:01:00+00:00  cancel run 1 {BY}: wrong input"
    assert f"asked:       to stop: cancelled {BY}: wrong input\n" in shown
    assert f"by hand:     2026-11-27 12:01:00+00:00  cancel run 1 {BY}: wrong input\n" in shown


def test_what_came_of_it_is_told_in_one_word(record: Record, once: Once) -> None:
    """Not `cancelled (cancelled by …)`."""
    hold = record.start()
    once("cancel", "report")
    ending = Ending(Outcome.CANCELLED, NOON + MINUTE, f"cancelled {BY}", exit_status=143, signal=15)
    record.store.finish(hold, ending)

    assert f"\noutcome:     cancelled {BY}\nresult:      signal 15\n" in once("show", "report")[1]


def test_a_run_whose_lease_has_ended_is_cancelled_at_once(record: Record, once: Once, shortly: StoppedClock) -> None:
    """There is nobody left to be asked."""
    record.start()
    shortly.time += timedelta(hours=1)

    assert once("cancel", "report") == (0, "report: run 1 is cancelled\n", "")
    assert record.store.run("report", 1).outcome is Outcome.CANCELLED


def test_a_run_that_waits_to_retry_is_cancelled_at_once(record: Record, once: Once) -> None:
    """Its holder finds that when it comes back for the next attempt."""
    hold = record.start()
    retry_at = NOON + 2 * MINUTE
    record.store.finish(hold, Ending(Outcome.FAILED, NOON, exit_status=1, retry_at=retry_at))

    assert once("cancel", "report") == (0, "report: run 1 is cancelled\n", "")


def test_a_number_is_one_run(record: Record, once: Once) -> None:
    """Where several are alive, which an overlap policy may allow."""
    record.start()
    record.start(None, task="other")
    there_is_none = "report: no run 2 to cancel: none is alive, stuck or to be retried\n"

    assert once("cancel", "report", "2") == (1, there_is_none, "")
    assert once("cancel", "report", "9" * 20) == (1, there_is_none.replace(" 2 ", f" {'9' * 20} "), "")
    assert record.store.run("report", 1).stop_asked is None
    assert once("cancel", "report", "1") == (0, ASKED, "")
    assert record.store.run("other", 1).stop_asked is None


def test_where_nothing_runs_it_finds_nothing(record: Record, once: Once) -> None:
    """Exit status 1, and no event."""
    record.run()

    assert once("cancel", "report") == (1, NONE, "")
    assert record.store.events("report", since=NOON) == []


def test_its_items_have_exactly_these_keys(record: Record, once: Once, shortly: StoppedClock) -> None:
    """The contract for programs."""
    record.start()
    asked = once("cancel", "report", "--json")
    shortly.time += timedelta(hours=1)
    ended = once("cancel", "report", "--json")
    none = once("cancel", "report", "--json")

    assert json.loads(asked[1]) == {
        "once": "cancel/1",
        "items": [{"task": "report", "number": 1, "asked": True}],
    }
    assert items(ended) == [{"task": "report", "number": 1, "asked": False}]
    assert (none[0], items(none)) == (1, [])


def test_the_item_of_the_run_says_so(record: Record, once: Once) -> None:
    """`stop_asked` is there for every run, and null but here."""
    record.run(1)
    record.start()
    once("cancel", "report")
    asked = [run["stop_asked"] for run in items(once("runs", "report", "--json"))]
    (shown,) = items(once("show", "report", "--json"))

    assert asked == [f"cancelled {BY}", None]
    assert [(event["what"], event["run"]) for event in shown["events"]] == [("cancel", 2)]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("nobody",), "No such task: nobody. Try: once status lists them all"),
        (("report", "0"), "Invalid value for '[NUMBER]': 0 is not in the range x>=1. Try: once cancel --help"),
        ((), "Missing argument 'TASK'. Try: once cancel --help"),
    ],
    ids=["an unknown task", "no number", "no task"],
)
def test_what_is_refused(record: Record, once: Once, arguments: tuple[str, ...], error: str) -> None:
    """In one line, with status 2; nothing is asked to stop."""
    record.start()

    assert once("cancel", *arguments) == (2, "", f"once cancel: {error}\n")
    assert record.store.run("report", 1).stop_asked is None


def test_a_scope_stands_before_the_name(record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every other verb."""
    record.start(task="eu/report")
    monkeypatch.setenv("ONCE_SCOPE", "eu")

    assert once("cancel", "report")[1] == f"eu/{ASKED}"
