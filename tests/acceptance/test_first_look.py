"""The first things that somebody types: they answer, and they leave nothing behind."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.conftest import Host


@pytest.mark.parametrize(
    "args",
    [
        ["status"],
        ["runs", "t"],
        ["show", "t"],
        ["next", "--task", "t"],
        ["timeline"],
        ["check"],
        ["metrics"],
        ["prune"],
        [],
    ],
)
def test_looking_makes_no_record(lone_host: Host, args: list[str]) -> None:
    """Else the first run would not say that it keeps one; and a typing error would leave a file."""
    path = (lone_host.address or "").removeprefix("sqlite:")
    ran = lone_host.once(*args)

    assert f"no record yet in {path}" in ran.out.decode() + ran.err
    assert list(lone_host.root.parent.glob("*.db")) == []
    assert not (lone_host.root / "state").exists()


@pytest.mark.parametrize("args", [["--dry-run"], ["--show-sql"]])
def test_once_init_makes_no_file_when_it_is_only_asked(lone_host: Host, args: list[str]) -> None:
    """It says that nothing is there, to psql and its like as a comment."""
    path = (lone_host.address or "").removeprefix("sqlite:")
    ran = lone_host.once("init", *args)

    assert ran.status == 0
    assert f"sqlite:{path} is not there yet, and the first run makes it" in ran.out.decode()
    assert ran.out.startswith(b"-- ") == ("--show-sql" in args)
    assert list(lone_host.root.parent.glob("*.db")) == []


def test_status_of_no_record_is_fine_and_empty_to_programs(lone_host: Host) -> None:
    """A monitor that is set up before the first run need not fail."""
    ran = lone_host.once("status", "--json")

    assert ran.status == 0
    assert json.loads(ran.out) == {"once": "status/1", "items": []}


def test_once_alone_says_where_how_many_and_how(lone_host: Host) -> None:
    """Three lines."""
    lone_host.once("lock", "--task", "fine", "--", "true")
    lone_host.once("lock", "--task", "broken", "--", "false")
    lines = lone_host.once().out.decode().splitlines()

    assert lines[0] == f"The record:  {lone_host.address}"
    assert lines[1] == "Tasks:       2; these need a look: broken"
    assert lines[2].startswith("Wrap a job:  once run --task NAME --schedule")


def test_a_dry_run_says_what_would_happen_and_does_nothing(lone_host: Host) -> None:
    """Before and after the slot was run."""
    line = ["run", "--task", "t", "--schedule", "* * * * *", "--tz", "UTC", "--slot", "last"]
    before = lone_host.once(*line, "--dry-run", "--", "touch", "ran")
    lone_host.once(*line, "--", "true")
    after = lone_host.once(*line, "--dry-run", "--", "touch", "ran")

    assert (before.status, after.status) == (0, 0)
    assert "would run slot " in before.err
    assert "would not run: slot " in after.err
    assert not (lone_host.root / "ran").exists()


def test_a_closed_stdout_is_nobodys_failure(lone_host: Host) -> None:
    """The command finds it closed, as without `once`; the record is kept."""
    wrapped = 'once lock --task t -- sh -c "echo hi; echo kept >&2" >&-'
    ran = lone_host.start_shell(wrapped)

    assert "kept" in ran.err
    assert lone_host.run("t")["outcome"] in ("succeeded", "failed")
    assert lone_host.start_shell("once status >&-").status == 0


def test_help_and_version_need_no_database(lone_host: Host) -> None:
    """Also where none may be used."""
    environ = {"ONCE_DB": "nonsense"}

    assert lone_host.once("--version", environ=environ).out.startswith(b"once 0.")
    assert b"--task weekly-report" in lone_host.once("run", "--help", environ=environ).out


def test_a_reader_that_has_seen_enough_is_no_failure(lone_host: Host) -> None:
    """`| head -1` gets its line, and nobody complains."""
    for _ in range(3):
        lone_host.once("lock", "--task", "t", "--", "true")
    ran = lone_host.start_shell("once runs t | head -1")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(b"RUN")


def test_a_full_disk_behind_a_report_is_told(lone_host: Host) -> None:
    """A report that was cut must not look complete."""
    lone_host.once("lock", "--task", "t", "--", "true")
    ran = lone_host.start_shell("once runs t > /dev/full")

    assert ran.status not in (0, 1)
    assert "No space left" in ran.err
