"""`once metrics`, on a real SQLite file: what Prometheus reads, and a file that is whole or not there."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from once.run import Outcome
from once.store.base import Store
from tests.conformance.claims import claim, ending, held
from tests.integration.conftest import Once

NAMES = {
    "once_info",
    "once_journal_waiting",
    "once_seen_timestamp_seconds",
    "once_task_failures",
    "once_task_finding",
    "once_task_last_duration_seconds",
    "once_task_last_start_timestamp_seconds",
    "once_task_last_success_timestamp_seconds",
    "once_task_next_slot_timestamp_seconds",
    "once_task_paused",
    "once_task_running",
    "once_task_state",
    "once_task_stuck",
}


@pytest.fixture
def once(asked: Once) -> Once:
    """Runs `once metrics` with these arguments: its exit status, stdout and stderr."""
    return partial(asked, "metrics")


def values(text: str, task: str) -> dict[str, float]:
    """The samples of a task, as Prometheus' own parser reads them."""
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("task") == task
    }


def test_prometheus_reads_what_is_known_of_each_task(once: Once, store: Store) -> None:
    """Success, failure and a name with everything that has to be escaped."""
    store.finish(held(store, claim(None, task="fine")), ending())
    store.finish(held(store, claim(None, task='a"b\\c')), ending(Outcome.FAILED))
    status, out, err = once()
    fine, broken = values(out, "fine"), values(out, 'a"b\\c')

    assert (status, err) == (0, "")
    assert {family.name for family in text_string_to_metric_families(out)} == NAMES
    assert fine["once_task_state"] == fine["once_task_failures"] == fine["once_task_running"] == 0
    assert fine["once_task_last_success_timestamp_seconds"] == fine["once_task_last_start_timestamp_seconds"]
    assert (broken["once_task_state"], broken["once_task_failures"], broken["once_task_finding"]) == (2, 1, 1)
    assert 'once_task_finding{kind="failing",task="a\\"b\\\\c"} 1.0' in out.replace(
        'task="a\\"b\\\\c",kind="failing"', 'kind="failing",task="a\\"b\\\\c"'
    )
    assert "once_task_last_success_timestamp_seconds" not in broken


def test_named_tasks_alone_are_told(once: Once, store: Store) -> None:
    """And one that is none is refused, with nothing printed."""
    for task in ("a", "b"):
        store.finish(held(store, claim(None, task=task)), ending())

    assert values(once("a")[1], "a")
    assert values(once("a")[1], "b") == {}
    assert once("nobody")[:2] == (2, "")


def test_a_file_is_written_whole_and_for_everybody(once: Once, store: Store, tmp_path: Path) -> None:
    """In place of the one that was there, whatever the umask; nothing else is left."""
    store.finish(held(store, claim(None, task="a")), ending())
    directory = tmp_path / "collector"
    directory.mkdir()
    path = directory / "once.prom"
    path.write_text("old")
    before = os.umask(0o077)
    try:
        told = once("--write", str(path))
    finally:
        os.umask(before)

    assert told == (0, "", "")
    assert path.stat().st_mode & 0o777 == 0o644
    assert re.search(r"^once_task_state\{task=\"a\"\} 0.0$", path.read_text(), re.MULTILINE)
    assert list(directory.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told(once: Once, store: Store, tmp_path: Path) -> None:
    """One line, and no draft."""
    store.connect()
    status, out, err = once("--write", f"{tmp_path}/nowhere/once.prom")

    assert (status, out) == (2, "")
    assert err == f"once metrics: {tmp_path}/nowhere/once.prom could not be written: No such file or directory\n"


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_no_file_is_not_replaced_by_one(kind: str, once: Once, store: Store, tmp_path: Path) -> None:
    """Root's rename would put a file in the place of /dev/stdout, for every process of the host."""
    store.connect()
    path = tmp_path / "collector"
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    before = path.lstat()
    status, out, err = once("--write", str(path))

    assert (status, out, err) == (2, "", f"once metrics: {path} could not be written: it is not a regular file\n")
    assert path.lstat() == before


def test_a_link_is_written_through(once: Once, store: Store, tmp_path: Path) -> None:
    """It stays a link, and the draft lies beside the file: on its file system."""
    store.connect()
    elsewhere, link = tmp_path / "elsewhere.prom", tmp_path / "once.prom"
    elsewhere.write_text("old")
    link.symlink_to(elsewhere)

    assert once("--write", str(link)) == (0, "", "")
    assert link.is_symlink()
    assert "once_info" in elsewhere.read_text()


def test_a_database_out_of_reach_leaves_the_file_as_it_was(once: Once, tmp_path: Path) -> None:
    """Its age tells."""
    path = tmp_path / "once.prom"
    path.write_text("old")
    status, _, err = once("--db", "postgresql://ops@localhost:1/ops", "--write", str(path))

    assert status == 75
    assert err.startswith("once metrics: postgresql://ops@localhost:1/ops is out of reach")
    assert path.read_text() == "old"


def test_without_the_package_one_line_says_what_to_install(once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of once does without it."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    assert once() == (
        2,
        "",
        "once metrics: The package prometheus-client is not installed. Try: pip install 'once-run[metrics]'\n",
    )
