"""`once check`, on a real SQLite file: the line, the figures, the statuses of the plugin convention, the JSON keys."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.entry import Entry
from once.journal import Journal
from once.run import Hold, Outcome
from once.schedule import Schedule
from once.store.base import Store
from tests.conformance.claims import claim, ending, held, holder
from tests.integration.conftest import Once


@pytest.fixture
def once(asked: Once, monkeypatch: pytest.MonkeyPatch) -> Once:
    """Runs `once check` with these arguments: its exit status, stdout and stderr."""
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    return partial(asked, "check")


def ran(store: Store, task: str, outcome: Outcome = Outcome.SUCCEEDED, **how: object) -> None:
    """The task has just ended so."""
    hold = held(store, claim(None, task=task, **how))
    store.finish(hold, ending(outcome))


def test_all_is_well(once: Once, store: Store) -> None:
    """One line, with the figures that a monitor draws."""
    ran(store, "a")
    ran(store, "b")
    store.claim(claim(None, task="c"))

    assert once() == (0, "ONCE OK - 3 tasks | tasks=3 ok=3 warning=0 critical=0 unknown=0 waiting=0\n", "")


def test_what_is_wrong_stands_first_the_gravest_before_all(once: Once, store: Store) -> None:
    """With the worst of the states."""
    ran(store, "a")
    ran(store, "b")
    ran(store, "b", by=holder("h9"), min_interval=timedelta())
    store.claim(claim(None, task="c").replaced(clock_offset=timedelta(seconds=9)))
    ran(store, "d", Outcome.FAILED)

    assert once() == (
        2,
        (
            "ONCE CRITICAL - 2 of 4 tasks: d failing: exit 1 (run 1 on a);"
            " c clock of a is 9s ahead of the database's"
            " | tasks=4 ok=2 warning=1 critical=1 unknown=0 waiting=0\n"
        ),
        "",
    )
    assert once("c")[0] == 1
    assert once("d", "--failures", "2")[0] == 0


def test_the_line_does_not_grow_with_the_trouble(once: Once, store: Store) -> None:
    """It goes into a text message."""
    for number in range(7):
        ran(store, f"t{number}", Outcome.FAILED)
    line = once()[1]

    assert line.startswith("ONCE CRITICAL - 7 of 7 tasks: t0 failing")
    assert "t4 failing" in line
    assert "; and 2 more | " in line
    assert "t5" not in line


def test_no_such_task_is_unknown(once: Once, store: Store) -> None:
    """The others are told all the same."""
    ran(store, "a")

    assert once("nobody") == (
        3,
        (
            "ONCE UNKNOWN - 1 of 1 task: nobody is not a known task"
            " | tasks=1 ok=0 warning=0 critical=0 unknown=1 waiting=0\n"
        ),
        "",
    )
    assert once("nobody", "a")[0] == 3


def test_no_record_and_no_task_are_unknown(once: Once, store: Store, tmp_path: Path) -> None:
    """A monitor that was set up before the first run, or with another address; looking makes no file."""
    assert once() == (
        3,
        f"ONCE UNKNOWN - There is no record yet in {tmp_path}/once.db. Try: once run --help: the first run makes it\n",
        "",
    )
    store.connect()

    assert once()[:2] == (
        3,
        (
            f"ONCE UNKNOWN - no task has been recorded in sqlite:{tmp_path}/once.db yet"
            " | tasks=0 ok=0 warning=0 critical=0 unknown=0 waiting=0\n"
        ),
    )


@pytest.mark.parametrize(("option", "status", "word"), [("critical", 2, "CRITICAL"), ("unknown", 3, "UNKNOWN")])
def test_a_database_out_of_reach_is_what_one_says(once: Once, option: str, status: int, word: str) -> None:
    """CRITICAL unless said otherwise: with it, nothing runs."""
    away = ("--db", "postgresql://ops@localhost:1/ops")
    told, out, err = once(*away, "--unreachable", option)

    assert (told, err) == (status, "")
    assert out.startswith(f"ONCE {word} - postgresql://ops@localhost:1/ops is out of reach: ")
    assert once(*away)[0] == 2


@pytest.mark.parametrize("arguments", [["--failures", "0"], ["--grace", "soon"], ["--nonsense"]])
def test_wrong_usage_is_unknown(once: Once, arguments: list[str]) -> None:
    """2 would wake somebody."""
    status, out, err = once(*arguments)

    assert (status, out) == (3, "")
    assert err.startswith("once check: ")


def test_a_slot_that_did_not_come_is_late(once: Once, store: Store, tmp_path: Path) -> None:
    """Since its schedule was seen; how late a start may be is said with --grace."""
    long_ago = SystemClock().now() - timedelta(days=2)
    plan = Schedule.parse("@every 6h", "UTC")
    slot = plan.slot_of(next(plan.before(long_ago)))
    store.finish(held(store, claim(slot, task="a", line=plan.line)), ending())
    with closing(sqlite3.connect(tmp_path / "once.db")) as connection, connection:
        connection.execute("UPDATE schedule SET first_seen = first_seen - ?", [2 * 86400 * 1_000_000])
    status, out, _ = once("a")

    assert status == 2
    assert out.startswith("ONCE CRITICAL - 1 of 1 task: a late to start: slot ")
    assert " slots in a row, last success 2d " in out
    assert once("a", "--grace", "3d")[0] == 0


def test_of_named_tasks_the_age_of_the_last_success_is_a_figure(once: Once, store: Store) -> None:
    """Under a label that holds no quote."""
    ran(store, "it's=1")

    assert " 'it_s_1 age'=0s\n" in once("it's=1")[1].replace("=1s", "=0s")


def test_a_name_cannot_look_like_figures(once: Once, store: Store) -> None:
    """What stands behind the bar is parsed."""
    ran(store, "a|tasks=0", Outcome.FAILED)
    line = once()[1]

    assert line.count("|") == 1
    assert "a¦tasks=0 failing: exit 1" in line


def test_outcomes_that_wait_on_this_host_are_mentioned(once: Once, store: Store, tmp_path: Path) -> None:
    """They change no state: the next start delivers them."""
    ran(store, "a")
    journal = Journal(str(tmp_path / "state" / "journal"))
    journal.keep(Entry(store.identity(), store.name, Hold("a", 1, "token"), ending()))
    status, out, _ = once()
    items = json.loads(once("--json")[1])["items"]

    assert status == 0
    assert out.startswith("ONCE OK - 1 task; 1 outcome waits on this host for the database | ")
    assert out.endswith(" waiting=1\n")
    assert items[-1] == {
        "task": None,
        "state": "OK",
        "last_success": None,
        "findings": [
            {"kind": "journal", "state": "OK", "what": "1 outcome waits on this host for the database"},
        ],
    }


def test_an_item_has_exactly_these_keys(once: Once, store: Store) -> None:
    """The contract for programs."""
    ran(store, "d", Outcome.FAILED)
    status, out, _ = once("--json")

    assert status == 2
    assert json.loads(out) == {
        "once": "check/1",
        "items": [
            {
                "task": "d",
                "state": "CRITICAL",
                "last_success": None,
                "findings": [{"kind": "failing", "state": "CRITICAL", "what": "failing: exit 1 (run 1 on a)"}],
            }
        ],
    }


def test_programs_too_hear_of_a_database_out_of_reach(once: Once) -> None:
    """As an item without a task."""
    items = json.loads(once("--json", "--db", "postgresql://ops@localhost:1/ops")[1])["items"]

    assert [(item["task"], item["state"], item["findings"][0]["kind"]) for item in items] == [
        (None, "CRITICAL", "record")
    ]
