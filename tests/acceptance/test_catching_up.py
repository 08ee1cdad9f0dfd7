"""`--catch-up`: slots that nobody ran are run before the start's own, each once, however many hosts catch up."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.acceptance.conftest import Host, MinuteSlot, ended, until
from tests.acceptance.own_server import OwnServer
from tests.acceptance.test_one_slot import run_line

HOUR, MICROSECOND = timedelta(hours=1), timedelta(microseconds=1)
CHANGED = ("number", "token", "host", "slot", "slot_local", "claimed_at")


@pytest.fixture
def hourly() -> tuple[str, ...]:
    """A line whose slots are this very minute of each hour: a start is on time, also when the minute is over."""
    return ("run", "--task", "report", "--schedule", f"{datetime.now(UTC).minute} * * * *", "--tz", "UTC")


def first_seen_earlier(host: Host, hourly: tuple[str, ...], by: timedelta) -> None:
    """The schedule was in force for so long before its first start."""
    assert host.once(*hourly, "--", "true").status == 0
    assert host.address is not None
    if host.address.startswith("sqlite:"):
        connection = sqlite3.connect(host.address.removeprefix("sqlite:"))
        connection.execute("UPDATE schedule SET first_seen = first_seen - ?", (by // timedelta(microseconds=1),))
        connection.commit()
        connection.close()
    else:
        with psycopg.connect(host.address, autocommit=True) as server:
            server.execute("UPDATE once.schedule SET first_seen = first_seen - %s", (by,))


def slots(host: Host, **those: object) -> list[str]:
    """The slots of the runs that are so, oldest run first."""
    return [run["slot"] for run in host.runs("report") if all(run[key] == value for key, value in those.items())]


def test_every_slot_that_nobody_ran_is_run_oldest_first(host: Host, hourly: tuple[str, ...]) -> None:
    """Each with its own claim, its slot in its environment, and its record."""
    first_seen_earlier(host, hourly, 5 * HOUR)
    missed = [item["first"] for item in host.json("gaps", "--each")]
    ran = host.once(*hourly, "--catch-up", "all", "--", "sh", "-c", "echo $ONCE_SLOT")
    told = ran.out.decode().split()

    assert ran.status == 0
    assert len(missed) >= 4
    assert told[: len(missed)] == missed
    assert slots(host, caught_up=True) == missed
    assert host.once("gaps").status == 0


def test_only_the_last_of_them(host: Host, hourly: tuple[str, ...]) -> None:
    """`last` is enough for a job that brings something up to date."""
    first_seen_earlier(host, hourly, 5 * HOUR)
    missed = [item["first"] for item in host.json("gaps", "--each")]
    host.once(*hourly, "--catch-up", "last", "--", "true")

    assert slots(host, caught_up=True) == missed[-1:]


def test_nothing_beyond_the_window(lone_host: Host, hourly: tuple[str, ...]) -> None:
    """What is too old is nobody's any more."""
    first_seen_earlier(lone_host, hourly, 9 * HOUR)
    missed = [item["first"] for item in lone_host.json("gaps", "--each")]
    lone_host.once(*hourly, "--catch-up", "all", "--catch-up-window", "5h", "--", "true")
    caught_up = slots(lone_host, caught_up=True)

    assert 3 <= len(caught_up) <= 6
    assert caught_up == missed[-len(caught_up) :]


def test_a_slot_that_another_host_ran_by_other_zone_data_is_not_run_again(
    lone_host: Host, this_minute: MinuteSlot
) -> None:
    """The same local time at another instant: refused as the start's own slot would be."""
    daily = run_line(this_minute)
    first_seen_earlier(lone_host, daily, timedelta(hours=36))
    yesterday = this_minute.at - timedelta(days=1)
    connection = sqlite3.connect(str(lone_host.address).removeprefix("sqlite:"))
    columns = ", ".join(name for _, name, *_ in connection.execute("PRAGMA table_info (run)") if name not in CHANGED)
    connection.execute(
        f"INSERT INTO run (number, token, host, slot, slot_local, claimed_at, {columns})"
        f" SELECT 0, 'theirs', 'other', slot - ?, ?, claimed_at - ?, {columns} FROM run",
        (25 * HOUR // MICROSECOND, f"{yesterday:%Y-%m-%dT%H:%M}", 24 * HOUR // MICROSECOND),
    )
    connection.commit()
    connection.close()
    ran = lone_host.once(*daily, "--catch-up", "all", "--", "echo", "again")

    assert (ran.status, ran.out) == (125, b"")
    assert "catching up ends: Slot " in ran.err
    assert f"is {yesterday:%Y-%m-%dT%H:%M:00Z} by this host's zone data, but" in ran.err


def test_what_was_excused_or_paused_is_left(lone_host: Host, hourly: tuple[str, ...]) -> None:
    """An operator has seen it."""
    first_seen_earlier(lone_host, hourly, 5 * HOUR)
    missed = [item["first"] for item in lone_host.json("gaps", "--each")]
    lone_host.once("excuse", "report", "--slot", missed[1], "--reason", "known")
    lone_host.once(*hourly, "--catch-up", "all", "--", "true")

    assert slots(lone_host, caught_up=True) == [missed[0], *missed[2:]]


def test_a_paused_task_catches_up_nothing_and_loses_nothing(lone_host: Host, hourly: tuple[str, ...]) -> None:
    """No skip is recorded for what was missed before the pause."""
    first_seen_earlier(lone_host, hourly, 4 * HOUR)
    missed = {item["first"] for item in lone_host.json("gaps", "--each")}
    lone_host.once("pause", "report")
    lone_host.once(*hourly, "--catch-up", "all", "--", "true")

    assert missed.isdisjoint(slots(lone_host))


def test_hosts_that_catch_up_at_once_share_the_slots(
    fleet: Callable[[int], list[Host]], hourly: tuple[str, ...]
) -> None:
    """Ten hosts, twenty slots: each is run once, and none is lost because another was at work."""
    hosts = fleet(10)
    first_seen_earlier(hosts[0], hourly, 21 * HOUR)
    missed = [item["first"] for item in hosts[0].json("gaps", "--each")]
    line = (*hourly, "--catch-up", "all", "--", "sh", "-c", "echo $ONCE_SLOT")
    ran = [ended(process) for process in [host.start(*line) for host in hosts]]
    told = Counter(b"".join(one.out for one in ran).decode().split())

    assert [(one.status, one.err) for one in ran] == [(0, "")] * 10
    assert len(missed) >= 20
    assert {slot: told[slot] for slot in missed} == dict.fromkeys(missed, 1)
    assert slots(hosts[0], outcome="skipped") == []
    assert hosts[0].once("overlaps").status == 0


def test_a_signal_ends_it_between_two_slots(host: Host, hourly: tuple[str, ...]) -> None:
    """The run that it reaches is stopped, the later ones are left for the next start."""
    first_seen_earlier(host, hourly, 5 * HOUR)
    missed = [item["first"] for item in host.json("gaps", "--each")]
    script = f'[ "$ONCE_SLOT" = {missed[1]} ] || exit 0; trap "exit 0" TERM; echo up; while :; do sleep 0.1; done'
    process = host.start(*hourly, "--catch-up", "all", "--", "sh", "-c", script)
    assert process.stdout and process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    status = ended(process).status

    assert status == 0
    assert slots(host, caught_up=True) == missed[:2]


def test_a_failure_does_not_hold_the_later_slots_up(lone_host: Host, hourly: tuple[str, ...]) -> None:
    """Its status is told in the end."""
    first_seen_earlier(lone_host, hourly, 4 * HOUR)
    missed = [item["first"] for item in lone_host.json("gaps", "--each")]
    ran = lone_host.once(*hourly, "--catch-up", "all", "--", "sh", "-c", f'[ "$ONCE_SLOT" != {missed[0]} ]')

    assert ran.status == 1
    assert slots(lone_host, caught_up=True, outcome="failed") == missed[:1]
    assert slots(lone_host, caught_up=True, outcome="succeeded") == missed[1:]


def test_another_slot_waits_for_a_run_that_catches_up(host: Host, hourly: tuple[str, ...]) -> None:
    """It is not lost to an overlap, though its line says skip."""
    first_seen_earlier(host, hourly, 5 * HOUR)
    missed = [item["first"] for item in host.json("gaps", "--each")]
    line = (*hourly, "--catch-up", "all", "--", "sh", "-c", 'echo "$ONCE_SLOT"; read _')
    catching = host.start(*line, stdin=subprocess.PIPE)
    assert catching.stdout and catching.stdout.readline() and catching.stdin
    other = host.start(*hourly, "--slot", missed[-1], "-v", "--", "echo", "the other")
    assert other.stderr
    until(lambda: b"waiting for run" in other.stderr.readline())
    catching.stdin.close()
    catching.stdin = None
    statuses = [ended(other).status, ended(catching).status]

    assert statuses == [0, 1]
    assert slots(host, outcome="skipped") == []


def test_what_ends_the_catching_up_does_not_keep_the_starts_own_slot(lone_host: Host, hourly: tuple[str, ...]) -> None:
    """A command that is not there fails once for what was missed, and once for now; both are on record."""
    first_seen_earlier(lone_host, hourly, 5 * HOUR)
    assert lone_host.address is not None
    with sqlite3.connect(lone_host.address.removeprefix("sqlite:")) as connection:
        connection.execute("DELETE FROM run")
    connection.close()
    ran = lone_host.once(*hourly, "--catch-up", "all", "--", "./nothing-here")

    assert ran.status == 127
    assert len(slots(lone_host, caught_up=True, outcome="failed")) == 1
    assert len(slots(lone_host, caught_up=False, outcome="failed")) == 1


def test_a_database_that_goes_away_meanwhile_does_not_keep_the_starts_own_slot(
    own_host: Host, own_server: OwnServer, hourly: tuple[str, ...]
) -> None:
    """What is left of the missed slots is for the next start; this one's runs unguarded, as its line says."""
    first_seen_earlier(own_host, hourly, 3 * HOUR)
    own_server.ask("delete from once.run returning 1")
    more = ("--catch-up", "all", "--db-down", "run", "--db-wait", "1s", "--lease", "1h")
    process = own_host.start(*hourly, *more, "--", "sh", "-c", 'echo "run $ONCE_RUN"; read _', stdin=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() != b"run 0\n" and process.stdin
    own_server.stop()
    process.stdin.close()
    process.stdin = None
    ran = ended(process)

    assert ran.out == b"run 0\n"
    assert "UNGUARDED" in ran.err


@pytest.mark.parametrize("other", [("--slot", "last"), ("--job-name", "report-29400000")])
def test_catching_up_goes_by_the_clock(lone_host: Host, other: tuple[str, str]) -> None:
    """A start for a slot that is named is for that slot."""
    line = ("run", "--task", "report", "--schedule", "* * * * *", "--tz", "UTC", "--catch-up", "all")
    ran = lone_host.once(*line, *other, "--", "touch", "ran")

    assert (ran.status, (lone_host.root / "ran").exists()) == (125, False)
    assert "once rerun TASK --missed" in ran.err
