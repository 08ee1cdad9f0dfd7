"""`once status` on a real SQLite file: what stands in the last column, the names, and what it is written into."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from once.entry import Entry
from once.event import Operator
from once.journal import Journal
from once.run import Hold, Outcome
from once.store.base import Store
from tests.conformance.claims import claim, ending, held
from tests.integration.conftest import Once

BY = Operator("ops", "desk")
STRANGE = ["[bold]x[/bold]", "a[/b]", "🚀", "x" * 200]


@pytest.fixture
def once(asked: Once) -> Once:
    return asked


def ran(store: Store, task: str, outcome: Outcome = Outcome.SUCCEEDED, **how: object) -> None:
    """The task has just ended so."""
    store.finish(held(store, claim(None, task=task)), ending(outcome, duration=timedelta(seconds=2), **how))


def notes(once: Once) -> dict[str, str]:
    """What stands in the last column, by task."""
    titles, *lines = once("status")[1].splitlines()
    return {line.split()[0]: line[titles.index("NOTE") :] for line in lines}


def test_the_last_column_says_what_is_to_be_known(once: Once, store: Store) -> None:
    """How it failed, what an operator wanted; nothing where all is well. A pause does not hide a failure."""
    ran(store, "fine")
    ran(store, "failing", Outcome.FAILED, exit_status=3)
    for task in ("paused", "retired", "both"):
        ran(store, task, Outcome.FAILED if task == "both" else Outcome.SUCCEEDED, exit_status=3 * (task == "both"))
    store.pause("paused", by=BY)
    store.pause("both", by=BY, length=timedelta(days=2))
    store.retire("retired", by=BY)
    found = notes(once)

    assert (found["fine"], found["failing"]) == ("", "exit 3")
    assert found["paused"] == "paused by ops on desk"
    assert found["both"] == "paused for another 2d by ops on desk; exit 3"
    assert found["retired"] == "retired by ops on desk"


def test_a_pause_that_is_over_is_not_told(once: Once, store: Store) -> None:
    """The next start runs."""
    ran(store, "a")
    store.pause("a", by=BY, length=timedelta(milliseconds=1))
    while store.now() <= store.tasks()[0].paused_until:
        pass

    assert notes(once)["a"] == ""


def test_outcomes_that_wait_on_this_host_are_mentioned(once: Once, store: Store, tmp_path: Path) -> None:
    """Below the table, one as one."""
    ran(store, "a")
    journal = Journal(str(tmp_path / "state" / "journal"))
    said = []
    for token in ("one", "two"):
        journal.keep(Entry(store.identity(), store.name, Hold("a", 1, token), ending()))
        said.append(once("status")[1].splitlines()[-1])

    assert said == [
        "1 outcome waits on this host for the database; once flush delivers it.",
        "2 outcomes wait on this host for the database; once flush delivers them.",
    ]


@pytest.mark.parametrize("task", STRANGE, ids=["markup", "half of it", "emoji", "long"])
def test_strange_names_are_printed_literally(once: Once, store: Store, task: str) -> None:
    """By every verb that names tasks: a name is data, and never markup."""
    ran(store, task)
    named = {verb: once(verb)[1] for verb in ("status", "timeline", "metrics")}
    named |= {verb: once(verb, task)[1] for verb in ("show", "timeline")}

    assert [verb for verb, out in named.items() if task not in out] == []
    assert json.loads(once("status", "--json")[1])["items"][0]["task"] == task
    assert once("runs", task)[1].splitlines()[1].split()[:1] == ["1"]


def test_a_file_gets_all_of_it(once: Once, store: Store, tmp_path: Path) -> None:
    """Whole lines, as many as there are, and nothing for a terminal among them."""
    for number in range(60):
        ran(store, f"task-{number:02}")
    path = tmp_path / "out"
    with path.open("wb") as file:
        done = subprocess.run([sys.executable, "-m", "once", "status"], stdout=file, check=True)
    text = path.read_text()

    assert done.returncode == 0
    assert [line.split()[0] for line in text.splitlines()] == ["TASK", *(f"task-{number:02}" for number in range(60))]
    assert text == once("status")[1]
    assert "\x1b" not in text
