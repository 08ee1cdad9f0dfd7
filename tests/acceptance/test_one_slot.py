"""One slot, one run: whoever starts, whenever, however often."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.conftest import ONCE, Host, MinuteSlot, Ran, ended, shifted, until

ON_TIME = timedelta(seconds=10)


def run_line(slot: MinuteSlot, *command: str, task: str = "report") -> list[str]:
    return ["run", "--task", task, "--schedule", slot.expression, "--tz", "UTC", *command]


def test_fifty_processes_released_at_once_run_it_once(
    fleet: Callable[[int], list[Host]], this_minute: MinuteSlot, tmp_path: Path
) -> None:
    """One command, one row, fifty exits of 0, and forty-nine that said nothing."""
    hosts = fleet(50)
    hosts[0].once("status")
    gate = tmp_path / "gate"
    ready = tmp_path / "ready"
    os.mkfifo(gate)
    opened = os.open(gate, os.O_RDWR)
    line = [str(ONCE), *run_line(this_minute), "--", "sh", "-c", f"echo ran; echo x >> {tmp_path}/ran"]
    starts = [
        subprocess.Popen(
            ["sh", "-c", 'echo x >> "$1"; read _ < "$0"; shift; exec "$@"', str(gate), str(ready), *line],
            env=host.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for host in hosts
    ]
    for host, process in zip(hosts, starts, strict=True):
        host.processes.append(process)
    until(lambda: ready.exists() and ready.read_text().count("x") == len(starts))
    os.write(opened, b"\n" * len(starts))
    ran = [ended(process) for process in starts]
    os.close(opened)

    assert [one.status for one in ran] == [0] * 50
    assert (tmp_path / "ran").read_text() == "x\n"
    assert sorted((one.out, one.err) for one in ran) == [(b"", "")] * 49 + [(b"ran\n", "")]
    assert hosts[0].run("report")["outcome"] == "succeeded"


def start_at(host: Host, moment: datetime, slot: MinuteSlot, *more: str) -> Ran:
    """A start while the host's clock says that moment."""
    shift = moment - datetime.now(UTC)
    return host.once(*run_line(slot, *more, "--max-skew", "30d"), "--", "true", environ=shifted(shift))


def test_a_start_just_before_the_slot_and_one_just_after_are_one_run(lone_host: Host) -> None:
    """Two hosts' clocks may differ by half a second."""
    slot = MinuteSlot.of(datetime.now(UTC) + timedelta(seconds=30))
    early = start_at(lone_host, slot.at - timedelta(seconds=0.3), slot)
    late = start_at(lone_host, slot.at + timedelta(seconds=0.2), slot)

    assert (early, late) == (Ran(0, b"", ""), Ran(0, b"", ""))
    assert lone_host.run("report")["slot"] == slot.at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("late", [timedelta(), timedelta(seconds=50)], ids=["at the instant", "50 s late"])
def test_a_start_at_the_slot_or_soon_after_is_its_own_slot(lone_host: Host, late: timedelta) -> None:
    """Not the day before, and not the next."""
    slot = MinuteSlot.of(datetime.now(UTC))
    ran = start_at(lone_host, slot.at + late, slot)

    assert ran == Ran(0, b"", "")
    assert lone_host.run("report")["slot"] == slot.at.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_host_whose_clock_is_off_by_61_seconds_runs_nothing(host: Host, this_minute: MinuteSlot) -> None:
    """Both times are named; the status asks for another try."""
    if (host.address or "").startswith("sqlite"):
        pytest.skip("an SQLite file has its host's clock")
    ran = host.once(*run_line(this_minute), "--", "touch", "ran", environ=shifted(timedelta(seconds=61)))

    assert ran.status == 75
    assert "This host's clock says" in ran.err
    assert "more than 1m" in ran.err
    assert not (host.root / "ran").exists()
    assert host.runs("report") == []


def test_a_new_weekly_schedule_pasted_on_another_day_runs_nothing(lone_host: Host) -> None:
    """Else pasting the line by hand on Monday sends Friday's report. One line says how to have that."""
    day = (datetime.now(UTC) + timedelta(days=3)).isoweekday() % 7
    line = ["run", "--task", "report", "--schedule", f"0 17 * * {day}", "--tz", "UTC"]
    first = lone_host.once(*line, "--", "touch", "ran")
    second = lone_host.once(*line, "--", "touch", "ran")

    assert first.status == 0
    assert "this schedule is new here: noted, nothing was run" in first.err
    assert "--slot last runs this one now" in first.err
    assert second == Ran(0, b"", "")
    assert not (lone_host.root / "ran").exists()
    assert lone_host.runs("report") == []


def test_slot_last_runs_what_first_sight_did_not(lone_host: Host) -> None:
    """What the line promises."""
    day = (datetime.now(UTC) + timedelta(days=3)).isoweekday() % 7
    line = ["run", "--task", "report", "--schedule", f"0 17 * * {day}", "--tz", "UTC"]
    lone_host.once(*line, "--", "true")
    ran = lone_host.once(*line, "--slot", "last", "--", "true")

    assert ran == Ran(0, b"", "")
    assert lone_host.run("report")["by_hand"] is True


def test_a_late_start_runs_and_says_so_beyond_half_the_distance(lone_host: Host) -> None:
    """A host that was off for a night runs its slot without a word, after 20 hours with one."""
    slot = MinuteSlot.of(datetime.now(UTC))
    on_time = start_at(lone_host, slot.at, slot)
    late, very_late = (start_at(lone_host, slot.at + timedelta(days=days, hours=10 * days), slot) for days in (1, 2))

    off = slot.at + timedelta(days=2)
    assert (on_time, late) == (Ran(0, b"", ""), Ran(0, b"", ""))
    assert very_late.status == 0
    assert very_late.err.startswith(
        f"once run: report: off schedule: runs slot {off:%Y-%m-%d %H:%M} UTC ({off:%Y-%m-%dT%H:%M}:00Z), 20h late"
    )
    assert [run["outcome"] for run in lone_host.runs("report")] == ["succeeded"] * 3


def test_an_edited_schedule_does_not_run_what_was_not_its_slot(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The new line's latest slot is from before the edit; the next one counts."""
    lone_host.once(*run_line(this_minute), "--", "true")
    edited = MinuteSlot.of(this_minute.at - timedelta(hours=3))
    ran = lone_host.once(*run_line(edited), "--", "touch", "ran")

    assert ran.status == 0
    assert "and this schedule is new here: noted, nothing was run; the next is" in ran.err
    assert not (lone_host.root / "ran").exists()
