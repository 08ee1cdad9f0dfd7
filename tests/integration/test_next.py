"""`once next`, on a real SQLite file where it needs one: exact text, exact JSON keys, and what is refused."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from once.clock import SystemClock
from once.run import Line
from once.store.base import Store
from tests.conformance.claims import claim
from tests.integration.conftest import Once

SPRING, AUTUMN = "2026-03-28T12:00:00Z", "2026-10-24T23:45:00Z"
"""Before the nights of the clock change in Berlin."""


@pytest.fixture
def once(asked: Once) -> Once:
    """Runs `once next` with these arguments: its exit status, stdout and stderr."""
    return partial(asked, "next")


def shown(once: Once, *arguments: str) -> list[str]:
    """The lines of an answer that was not refused."""
    status, out, err = once(*arguments)
    assert (status, err) == (0, "")
    return out.splitlines()


def items(once: Once, *arguments: str) -> list[dict[str, Any]]:
    """The items for programs."""
    answer: dict[str, Any] = json.loads("\n".join(shown(once, *arguments, "--json")))
    assert answer.keys() == {"once", "items"}
    assert answer["once"] == "next/1"
    return list(answer["items"])


def remember(store: Store, task: str, line: Line | None) -> None:
    """The task was seen with this line; None is what `once lock` leaves."""
    store.claim(claim(task=task).replaced(line=line))
    store.close()


def test_the_expression_in_words_and_the_slots_in_spring(once: Once) -> None:
    """What it means, when it runs by the zone's clocks and in UTC, and what the clock does to it."""
    lines = shown(once, "30 2 * * *", "--tz", "Europe/Berlin", "--at", SPRING, "--count", "2")

    assert lines == [
        '"30 2 * * *" means at 02:30 every day, Europe/Berlin time',
        "",
        "LOCAL TIME                   UTC                   NOTE",
        "Sun 2026-03-29 03:00 +02:00  2026-03-29T01:00:00Z  02:30 does not exist on 2026-03-29; runs at 03:00",
        "Mon 2026-03-30 02:30 +02:00  2026-03-30T00:30:00Z",
    ]


def test_a_note_on_many_slots_is_said_once(once: Once) -> None:
    """In autumn both passes of the hour are listed; their offsets tell them apart."""
    lines = shown(once, "*/30 * * * *", "--tz", "Europe/Berlin", "--at", AUTUMN, "--count", "5")

    assert lines[3:] == [
        "Sun 2026-10-25 02:00 +02:00  2026-10-25T00:00:00Z  02:00 and 02:30 come twice on 2026-10-25; runs both times",
        "Sun 2026-10-25 02:30 +02:00  2026-10-25T00:30:00Z",
        "Sun 2026-10-25 02:00 +01:00  2026-10-25T01:00:00Z",
        "Sun 2026-10-25 02:30 +01:00  2026-10-25T01:30:00Z",
        "Sun 2026-10-25 03:00 +01:00  2026-10-25T02:00:00Z",
    ]


def test_slots_that_are_left_out_are_told_at_the_slot_after_them(once: Once) -> None:
    """Where nothing runs there is no line to put a note on."""
    lines = shown(once, "*/20 2 * * *", "--tz", "Europe/Berlin", "--at", SPRING, "--count", "1")

    slot, note = lines[3].rsplit("  ", 1)

    assert slot == "Mon 2026-03-30 02:00 +02:00  2026-03-30T00:00:00Z"
    assert note == "02:00, 02:20 and 02:40 do not exist on 2026-03-29; nothing runs then"


def test_seconds_are_shown_where_there_are_any(once: Once) -> None:
    """An interval may be one of seconds."""
    lines = shown(once, "@every 90s", "--tz", "UTC", "--at", SPRING, "--count", "2")

    assert lines == [
        '"@every 90s" means every 1 minute and 30 seconds, counted from midnight UTC',
        "",
        "LOCAL TIME                      UTC                   NOTE",
        "Sat 2026-03-28 12:01:30 +00:00  2026-03-28T12:01:30Z",
        "Sat 2026-03-28 12:03 +00:00     2026-03-28T12:03:00Z",
    ]


def test_an_item_has_exactly_these_keys(once: Once) -> None:
    """The contract for programs: the second pass of the hour has fold 1, and every slot that a note is on has it."""
    found = items(once, "*/30 2 * * *", "--tz", "Europe/Berlin", "--at", "2026-10-25T00:30:00Z", "--count", "3")
    note = "02:00 and 02:30 come twice on 2026-10-25; runs both times"
    zone = "Europe/Berlin"

    assert found == [
        {"slot": "2026-10-25T01:00:00Z", "local": "2026-10-25T02:00", "zone": zone, "fold": 1, "note": note},
        {"slot": "2026-10-25T01:30:00Z", "local": "2026-10-25T02:30", "zone": zone, "fold": 1, "note": note},
        {"slot": "2026-10-26T01:00:00Z", "local": "2026-10-26T02:00", "zone": zone, "fold": 0, "note": None},
    ]


def test_five_slots_from_now_on_unless_said_otherwise(once: Once) -> None:
    """By default the question is what comes."""
    slots = [item["slot"] for item in items(once, "* * * * *", "--tz", "UTC")]

    assert len(slots) == 5
    assert slots == sorted(slots)
    assert slots[0] > SystemClock().now().isoformat()[:16]


def test_back_lists_the_slots_before_the_latest_first(once: Once) -> None:
    """The instant itself is in neither direction, so that a list can be continued from its last slot."""
    at = ("--tz", "UTC", "--at", "2026-11-27T17:00:00Z", "--count", "2")
    before = [item["slot"] for item in items(once, "0 17 * * 5", *at, "--back")]
    after = [item["slot"] for item in items(once, "0 17 * * 5", *at)]

    assert before == ["2026-11-20T17:00:00Z", "2026-11-13T17:00:00Z"]
    assert after == ["2026-12-04T17:00:00Z", "2026-12-11T17:00:00Z"]


@pytest.mark.parametrize(
    ("expression", "options", "slots"),
    [
        ("* * * * *", ["--at", "9999-12-31T23:59:59Z"], 0),
        ("* * * * *", ["--at", "0001-01-01", "--back"], 0),
        ("59 23 31 12 *", ["--at", "9995-01-01"], 2),
        ("@every 36500d", ["--count", "1000"], 80),
        ("@every 36500d", ["--count", "1000", "--back"], 20),
    ],
)
def test_the_end_of_the_calendar_is_said(once: Once, expression: str, options: list[str], slots: int) -> None:
    """Fewer slots than were asked for need a reason, not a traceback."""
    options = [*options, "--tz", "UTC"] + ([] if "--at" in options else ["--at", SPRING])
    lines = shown(once, expression, *options)

    assert lines[-1] == "There are no more: slots are looked for in the years 4 to 9996."
    assert sum("T" in line and "Z" in line for line in lines[3:]) == slots


def test_the_zone_is_the_one_that_a_run_would_take(once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """--tz, else the setting."""
    monkeypatch.setenv("ONCE_TZ", "Asia/Tokyo")
    by_setting = items(once, "0 9 * * *", "--at", SPRING, "--count", "1")
    by_flag = items(once, "0 9 * * *", "--at", SPRING, "--count", "1", "--tz", "UTC")

    assert [by_setting[0]["zone"], by_setting[0]["slot"]] == ["Asia/Tokyo", "2026-03-29T00:00:00Z"]
    assert [by_flag[0]["zone"], by_flag[0]["slot"]] == ["UTC", "2026-03-29T09:00:00Z"]


def test_a_host_in_two_zones_is_refused_as_for_a_run(once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown must not be what `once run` would refuse."""
    monkeypatch.setenv("CRON_TZ", "Asia/Tokyo")
    monkeypatch.setenv("TZ", "America/New_York")
    status, out, err = once("0 9 * * *")

    assert (status, out) == (2, "")
    assert err.startswith("once next: The time zone is in doubt: this host implies Asia/Tokyo and America/New_York")


def test_the_schedule_of_a_task_comes_from_the_record(once: Once, store: Store) -> None:
    """As it was last seen, zone included, whatever this host implies."""
    remember(store, "report", Line("0 17 * * 5", "Europe/Berlin"))
    lines = shown(once, "--task", "report", "--at", SPRING, "--count", "1")

    assert lines == [
        'report: "0 17 * * 5" means at 17:00 on Fridays, Europe/Berlin time',
        "",
        "LOCAL TIME                   UTC                   NOTE",
        "Fri 2026-04-03 17:00 +02:00  2026-04-03T15:00:00Z",
    ]


def test_a_task_that_kubernetes_fires_follows_its_rule(once: Once, store: Store) -> None:
    """Its controller runs nothing in the gap, where cron would run late."""
    remember(store, "report", Line("30 2 * * *", "Europe/Berlin", "kubernetes"))
    lines = shown(once, "--task", "report", "--at", SPRING, "--count", "1")

    assert lines[0].endswith("means at 02:30 every day, Europe/Berlin time, as Kubernetes fires it")
    assert lines[3:] == [
        "Mon 2026-03-30 02:30 +02:00  2026-03-30T00:30:00Z  02:30 does not exist on 2026-03-29; nothing runs then"
    ]


def test_the_scope_stands_before_the_task(once: Once, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does for every verb."""
    remember(store, "eu/report", Line("0 17 * * 5", "UTC"))
    monkeypatch.setenv("ONCE_SCOPE", "eu")

    assert shown(once, "--task", "report")[0].startswith('eu/report: "0 17 * * 5" means ')


def test_a_task_without_a_schedule_has_no_slots(once: Once, store: Store) -> None:
    """`once lock` knows none."""
    remember(store, "deploy", None)
    status, out, err = once("--task", "deploy")

    assert (status, out) == (2, "")
    assert err.startswith("once next: Task deploy has no schedule: ")


def test_a_task_that_nobody_knows_is_told(once: Once, store: Store) -> None:
    """Where there is a record, without it."""
    remember(store, "report", Line("0 17 * * 5", "UTC"))

    assert once("--task", "nobody") == (2, "", "once next: No such task: nobody. Try: once status lists them all\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "neither an expression nor --task is given"),
        (["0 9 * * *", "--task", "report"], "both an expression and --task are given"),
        (["--task", "report", "--tz", "UTC"], "the task's schedule has a zone of its own"),
        (["0", "9", "1", "*", "*"], "the expression came in 5 pieces, since it was not in quotes"),
        (["--task", "nobody"], "There is no record yet in "),
        (["--task", ""], "Task name '' is refused: it is empty"),
        ([""], "Schedule '' is refused: it is empty. Try: "),
        (["61 * * * *"], "minute: 61 is out of range 0-59"),
        (["0 0 30 2 *"], "there is no such date"),
        (["0 9 * * *", "--tz", "europe/berlin"], "upper and lower case matter. Try: Europe/Berlin"),
        (["0 9 * * *", "--at", "noon"], "'noon' is not an instant"),
        (["0 9 * * *", "--count", "0"], "0 is not in the range 1<=x<=10000"),
        (["0 9 * * *", "--count", "1000000000"], "not in the range 1<=x<=10000"),
        (["0 9 * * *", "--count", "some"], "'some' is not a valid number"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(once: Once, arguments: list[str], said: str) -> None:
    """Status 2, and nothing on stdout."""
    status, out, err = once(*arguments)

    assert (status, out) == (2, "")
    assert err.startswith("once next: ")
    assert err.count("\n") == 1
    assert said in err
