"""`once pause` and `once resume` on a real SQLite file: exact text, exact JSON keys, whom they are about."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest

from once.store.base import Store
from once.verdict import Reason, Skip
from tests.integration.conftest import BY, NOON, Once, Record, StoppedClock, items

pytestmark = pytest.mark.usefixtures("at_noon")

HOUR = timedelta(hours=1)
NOBODY = "No such task: nobody. Try: once status lists them all\n"


def paused(store: Store) -> dict[str, str | None]:
    """The tasks that are paused, and what is said of that."""
    return {task.name: task.pause_note for task in store.tasks() if task.paused_at is not None}


def notes(once: Once) -> dict[str, str]:
    """The last column of `once status`."""
    lines = once("status")[1].splitlines()
    return {line.split()[0]: line[lines[0].index("NOTE") :] for line in lines[1:]}


def test_a_pause_until_it_is_resumed(record: Record, once: Once) -> None:
    """Who and why stands in the table of tasks."""
    record.run()

    assert once("pause", "report", "--reason", "wrong numbers") == (0, "report: paused until it is resumed\n", "")
    assert notes(once) == {"report": f"paused {BY}: wrong numbers"}


def test_a_pause_for_a_time(record: Record, once: Once) -> None:
    """By the clock of the record; when that is over nothing is said of it any more."""
    record.run()
    told = once("pause", "report", "--for", "2h")

    assert told == (0, "report: paused for 2h, until 2026-11-27 14:10:00+00:00\n", "")
    assert notes(once) == {"report": f"paused for another 2h {BY}"}


def test_a_pause_that_is_over_is_not_told(record: Record, once: Once, at_noon: StoppedClock) -> None:
    """The row still has it."""
    record.run()
    once("pause", "report", "--for", "2h")
    at_noon.time += 2 * HOUR

    assert notes(once) == {"report": ""}


def test_a_pause_of_no_time_is_one_without_end(record: Record, once: Once) -> None:
    """As everywhere, 0 is no limit."""
    record.run()

    assert once("pause", "report", "--for", "0") == (0, "report: paused until it is resumed\n", "")


def test_a_start_is_told_who_and_why(record: Record, once: Once) -> None:
    """Its skip is recorded with that."""
    record.run(1)
    once("pause", "--all", "--reason", "upgrade")
    verdict = record.store.claim(record.claim()).verdict

    assert verdict == Skip(Reason.PAUSED, recorded=True, why=f"{BY}: upgrade")
    assert [run.reason for run in record.store.runs("report", limit=1)] == [f"paused: {BY}: upgrade"]


def test_what_runs_is_named_and_goes_on(record: Record, once: Once) -> None:
    """Of the tasks that were paused, and of no other."""
    record.start(task="report")
    record.start(task="other")

    assert once("pause", "report")[1].splitlines() == [
        "report: paused until it is resumed",
        "report: run 1 on h1 goes on; once cancel stops it",
    ]
    assert record.store.run("report", 1).stop_asked is None


def test_all_is_also_what_nobody_has_started_yet(record: Record, once: Once) -> None:
    """A new task is not let through by a maintenance window."""
    record.run()
    told = once("pause", "--all")
    verdict = record.store.claim(record.claim(task="new")).verdict

    assert told == (0, "every task: paused until it is resumed\n", "")
    assert verdict.reason is Reason.PAUSED


def test_all_is_all_of_the_scope(record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another scope's tasks are left alone, and their runs are not named."""
    record.run(task="eu/report")
    record.start(task="us/report")
    monkeypatch.setenv("ONCE_SCOPE", "eu")
    told = once("pause", "--all")

    assert told == (0, "every task of eu/: paused until it is resumed\n", "")
    assert paused(record.store) == {"eu/report": BY}
    assert once("resume", "--all") == (0, "every task of eu/: resumed\n", "")
    assert paused(record.store) == {}


def test_the_items_of_a_pause_have_exactly_these_keys(record: Record, once: Once) -> None:
    """The contract for programs."""
    record.run()
    one = once("pause", "report", "--for", "2h", "--json")

    assert json.loads(one[1]) == {
        "once": "pause/1",
        "items": [{"task": "report", "scope": None, "paused_until": "2026-11-27T14:10:00Z"}],
    }
    assert items(once("pause", "--all", "--json")) == [{"task": None, "scope": "", "paused_until": None}]


def test_the_items_of_a_resume_have_exactly_these_keys(record: Record, once: Once) -> None:
    """The contract for programs."""
    record.run()
    once("pause", "report")
    one = once("resume", "report", "--json")

    assert json.loads(one[1]) == {
        "once": "resume/1",
        "items": [{"task": "report", "scope": None, "resumed": True}],
    }
    assert items(once("resume", "--all", "--json")) == [{"task": None, "scope": "", "resumed": False}]


def test_a_resume_ends_it(record: Record, once: Once) -> None:
    """Once; a second finds nothing to end."""
    record.run()
    once("pause", "report")

    assert once("resume", "report") == (0, "report: resumed\n", "")
    assert once("resume", "report") == (0, "report: there was no such pause\n", "")
    assert notes(once) == {"report": ""}


def test_a_task_in_a_pause_of_all_is_not_resumed_by_its_name(record: Record, once: Once) -> None:
    """Whoever resumes it must hear that it stays paused, by whom and why."""
    record.run()
    once("pause", "--all", "--for", "2h", "--reason", "upgrade")

    assert once("resume", "report") == (
        1,
        f"report: there was no such pause\nreport: still paused for another 2h {BY}: upgrade\n",
        "",
    )


def test_the_end_of_a_pause_of_all_leaves_what_was_paused_by_name(record: Record, once: Once) -> None:
    """That had a reason of its own, and is said."""
    record.run()
    record.run(task="other")
    once("pause", "report", "--reason", "wrong numbers")
    once("pause", "--all")

    assert once("resume", "--all") == (0, f"every task: resumed\nreport: still paused {BY}: wrong numbers\n", "")
    assert paused(record.store) == {"report": f"{BY}: wrong numbers"}


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param((), "once {0} needs the names of tasks, or --all.", id="none"),
        pytest.param(("report", "--all"), "once {0} needs the names of tasks, or --all.", id="both"),
    ],
)
def test_the_names_or_all(record: Record, once: Once, verb: str, arguments: tuple[str, ...], error: str) -> None:
    """Neither is a slip of the pen, both would be a guess."""
    record.run()
    status, out, err = once(verb, *arguments)

    assert (status, out) == (2, "")
    assert err == f"once {verb}: {error.format(verb)} Try: once {verb} TASK, or once {verb} --all\n"


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_with_one_task_unknown_nothing_is_done(record: Record, once: Once, verb: str) -> None:
    """Half of a maintenance window would be taken for the whole."""
    record.run()
    before = len(record.store.events("report", since=NOON))

    assert once(verb, "report", "nobody") == (2, "", f"once {verb}: {NOBODY}")
    assert len(record.store.events("report", since=NOON)) == before == 0


def test_what_is_no_duration_is_refused(record: Record, once: Once) -> None:
    """In one line."""
    record.run()

    assert once("pause", "report", "--for", "soon") == (
        2,
        "",
        "once pause: 'soon' is not a duration. Try: 90, 90s, 5m, 1h30m or 2d\n",
    )


def test_both_are_told_with_the_runs(record: Record, once: Once) -> None:
    """Newest first, also what was done to all."""
    record.run()
    once("pause", "report", "--for", "2h", "--reason", "wrong numbers")
    once("pause", "--all")
    once("resume", "report", "--reason", "mended")

    assert once("runs", "report")[1].splitlines()[2:] == [
        "",
        "By hand, newest first:",
        f"  2026-11-27 12:10:00+00:00  resume {BY}: mended",
        f"  2026-11-27 12:10:00+00:00  pause every task {BY}",
        f"  2026-11-27 12:10:00+00:00  pause until 2026-11-27 14:10:00+00:00 {BY}: wrong numbers",
    ]


def test_an_event_has_exactly_these_keys(record: Record, once: Once) -> None:
    """The contract for programs."""
    record.run()
    once("pause", "report", "--for", "2h", "--reason", "wrong numbers")
    (event,) = json.loads(once("runs", "report", "--json")[1])["events"]
    login, host = BY.removeprefix("by ").split(" on ")

    assert event == {
        "at": "2026-11-27T12:10:00Z",
        "what": "pause",
        "login": login,
        "host": host,
        "task": "report",
        "scope": None,
        "run": None,
        "slot": None,
        "until": "2026-11-27T14:10:00Z",
        "why": "wrong numbers",
    }


def test_a_reason_is_one_line_wherever_it_is_told(record: Record, once: Once) -> None:
    """And drives nobody's terminal, on stdout or stderr."""
    record.run()
    once("pause", "report", "--reason", "so\033[31m\nwhat")
    line = ("--schedule", "1 12 * * *", "--tz", "UTC", "--slot", "last", "--max-skew", "36500d")
    said = once("run", "--task", "report", *line, "--dry-run", "--", "true")[2]

    assert notes(once) == {"report": f"paused {BY}: so\\x1b[31m\\nwhat"}
    assert once("runs", "report")[1].splitlines()[-1].endswith(f"{BY}: so\\x1b[31m\\nwhat")
    assert said.endswith(f"the task is paused {BY}: so\\x1b[31m what\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's word is taken for who stands behind sudo")
def test_the_login_is_the_one_behind_sudo(record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root is nobody in particular."""
    record.run()
    monkeypatch.setenv("SUDO_USER", "ann")
    once("pause", "report")

    assert paused(record.store) == {"report": f"by ann on {os.uname().nodename}"}
    assert [event.login for event in record.store.events("report", since=NOON)] == ["ann"]
