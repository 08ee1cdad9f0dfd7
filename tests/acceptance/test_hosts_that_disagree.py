"""Hosts that disagree about the zone, its data, the schedule or the command: refused where it would run twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.acceptance.conftest import Host, Ran, until
from tests.acceptance.other_hosts import OtherHost, named
from tests.acceptance.test_bad_input import refused

BERLIN = "Europe/Berlin"


@pytest.fixture
def lone_fleet(fleet: Callable[[int], list[Host]]) -> list[Host]:
    """Two hosts with one record."""
    return fleet(2)


@pytest.fixture
def nine() -> str:
    """A daily schedule, the slot of which has just been in Berlin."""
    now = datetime.now(ZoneInfo(BERLIN))
    return f"{now.minute} {now.hour} * * *"


@pytest.fixture
def minutes() -> tuple[str, str]:
    """The last minute of two minutes a day, and the other: its slot has just been, and is not the first of its day."""
    now = until(lambda: (now := datetime.now(UTC)).hour + now.minute and now, every=0.5)
    earlier = f"{now.minute - 1},{now.minute} {now.hour}" if now.minute else f"{now.minute} {now.hour - 1},{now.hour}"
    return f"{earlier} * * *", f"{earlier} 1-31 * *"


def line(schedule: str, *options: str, command: tuple[str, ...] = ("touch", "ran")) -> list[str]:
    return ["run", "--task", "report", "--schedule", schedule, *options, "--", *command]


def has_run(host: OtherHost) -> bool:
    return (host.host.root / "ran").exists()


class TestZones:
    """No line has --tz."""

    @pytest.fixture
    def berlin(self, lone_fleet: list[Host]) -> OtherHost:
        return named("berlin", lone_fleet[0], zone=BERLIN)

    @pytest.fixture
    def utc(self, lone_fleet: list[Host]) -> OtherHost:
        return named("utc", lone_fleet[1])

    def test_the_second_of_two_hosts_in_different_zones_is_refused(
        self, berlin: OtherHost, utc: OtherHost, nine: str
    ) -> None:
        """Nine o'clock is two instants: both would run the job, each sure of its slot."""
        first = berlin.once(*line(nine), environ={"TZ": BERLIN})
        second = utc.once(*line(nine), environ={"TZ": "UTC"})

        assert first == Ran(0, b"", "")
        assert has_run(berlin)
        refused(second, 125, "implies UTC, but the task is known in Europe/Berlin", "write --tz on every line")
        assert not has_run(utc)

    def test_whoever_comes_first_is_right_until_a_line_says_better(
        self, berlin: OtherHost, utc: OtherHost, nine: str
    ) -> None:
        """In UTC it is another slot, which is not due: noted. With --tz on every line both agree."""
        first = utc.once(*line(nine), environ={"TZ": "UTC"})
        second = berlin.once(*line(nine), environ={"TZ": BERLIN})
        third = berlin.once(*line(nine, "--tz", BERLIN))
        fourth = utc.once(*line(nine, "--tz", BERLIN))

        assert (first.status, "this schedule is new here" in first.err) == (0, True)
        refused(second, 125, "implies Europe/Berlin, but the task is known in UTC", "write --tz on every line")
        assert (third, fourth) == (Ran(0, b"", ""), Ran(0, b"", ""))
        assert (has_run(berlin), has_run(utc)) == (True, False)

    def test_a_host_that_disagrees_with_itself_is_refused(self, utc: OtherHost, nine: str) -> None:
        """TZ in the environment says one thing, /etc/localtime another."""
        ran = utc.once(*line(nine), environ={"TZ": BERLIN})

        refused(ran, 125, "implies Europe/Berlin and UTC", "write --tz on every line")
        assert not has_run(utc)

    def test_a_setting_speaks_for_a_line_without_tz(self, utc: OtherHost, nine: str) -> None:
        """ONCE_TZ, or tz in /etc/once.toml."""
        assert utc.once(*line(nine), environ={"ONCE_TZ": BERLIN}) == Ran(0, b"", "")
        assert has_run(utc)


def test_a_host_with_other_zone_data_is_refused(lone_fleet: list[Host], nine: str, tmp_path: Path) -> None:
    """Its nine o'clock is an hour away from that of the host which has run: both instants are named."""
    athens = resources.files("tzdata") / "zoneinfo/Europe/Athens"
    stale = tmp_path / "stale/Europe/Berlin"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(athens.read_bytes())
    first = lone_fleet[0].once(*line(nine, "--tz", BERLIN))
    ours = lone_fleet[0].run("report")["slot"]
    second = lone_fleet[1].once(*line(nine, "--tz", BERLIN), environ={"PYTHONTZPATH": str(stale.parents[1])})

    assert first == Ran(0, b"", "")
    refused(second, 125, f"by this host's zone data, but {ours} by those of", "(run 1)", "tzdata")
    assert not (lone_fleet[1].root / "ran").exists()


def test_other_zone_data_are_no_matter_where_the_slots_are_the_same(lone_fleet: list[Host], tmp_path: Path) -> None:
    """Every minute is every minute: nobody is to be woken for that."""
    stale = tmp_path / "stale/Europe/Berlin"
    stale.parent.mkdir(parents=True)
    stale.write_bytes((resources.files("tzdata") / "zoneinfo/Europe/Athens").read_bytes())
    hour_ago = int(datetime.now(UTC).timestamp()) // 60 * 60 - 3600
    every_minute = ["run", "--task", "t", "--schedule", "* 0-23 * * *", "--tz", BERLIN]
    lone_fleet[0].once(*every_minute, "--slot", str(hour_ago + 3600), "--", "true")
    ran = lone_fleet[1].once(*every_minute, "--", "true", environ={"PYTHONTZPATH": str(stale.parents[1])})

    assert ran == Ran(0, b"", "")


class TestDrift:
    """Two hosts come for the same slot with lines that are not the same."""

    @pytest.fixture
    def a(self, lone_fleet: list[Host]) -> OtherHost:
        return named("a", lone_fleet[0])

    @pytest.fixture
    def b(self, lone_fleet: list[Host]) -> OtherHost:
        return named("b", lone_fleet[1])

    def test_a_loser_with_another_command_says_so_once(
        self, a: OtherHost, b: OtherHost, minutes: tuple[str, str]
    ) -> None:
        """On stderr, which cron mails; not again at each losing start, but whoever asks is told."""
        schedule, _ = minutes
        won = a.once(*line(schedule, "--tz", "UTC", command=("true",)))
        lost, again = (b.once(*line(schedule, "--tz", "UTC")) for _ in range(2))
        asked = b.once(*line(schedule, "--tz", "UTC", "-v"))
        alike = b.once(*line(schedule, "--tz", "UTC", command=("true",)))

        told = "once run: report: drift from run 1 on a: the command is another (once show report 1)"
        assert won == Ran(0, b"", "")
        assert lost == Ran(0, b"", f"{told}\n")
        assert again == Ran(0, b"", "")
        assert told in asked.err.splitlines()
        assert alike == Ran(0, b"", "")
        assert not has_run(b)

    def test_a_loser_with_another_schedule_says_so_once(
        self, a: OtherHost, b: OtherHost, minutes: tuple[str, str]
    ) -> None:
        """The slot is the same; the lines will part some day."""
        schedule, other = minutes
        a.once(*line(schedule, "--tz", "UTC"))
        lost, again = (b.once(*line(other, "--tz", "UTC")) for _ in range(2))

        told = f'drift from run 1 on a: the schedule here is "{other}" UTC, there "{schedule}" UTC'
        assert lost == Ran(0, b"", f"once run: report: {told}\n")
        assert again == Ran(0, b"", "")
