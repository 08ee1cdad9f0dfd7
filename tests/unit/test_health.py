"""Health: what is wrong with a task, and what is none of a monitor's business."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from once.reports.due import Due, InForce, Quiet
from once.reports.health import Finding, Kind, Limits, Recent, Sighting, State, Vitals, findings, worst
from once.reports.stuck import Sign, Stuck
from once.run import Line, Outcome, Run, Task

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURLY = Line("0 * * * *", "UTC")
NOW = NOON + timedelta(minutes=20)


def due(since: datetime = NOON - 9 * DAY, line: Line = HOURLY, quiet: tuple[Quiet, ...] = (), **task: Any) -> Due:
    """The task has been seen with this line since then."""
    return Due.of(Task("report", **task), [InForce("report", line, since, NOW)], quiet)


def run(number: int, hours: float | None, outcome: Outcome = Outcome.SUCCEEDED, **how: Any) -> Recent:
    """A run of the slot so many hours after noon."""
    slot = None if hours is None else NOON + hours * HOUR
    told = {"reason": None, "host": "a", "exit_status": None, "signal": None, "clock_offset": None}
    return Recent(**{**told, "number": number, "outcome": outcome, "slot": slot, "claimed_at": slot or NOON, **how})


def vitals(*recent: Recent, sightings: tuple[Sighting, ...] = ()) -> Vitals:
    """What is known, newest first."""
    done = [one.slot for one in recent if one.outcome is Outcome.SUCCEEDED and one.slot]
    return Vitals(tuple(recent), max(done, default=None), sightings)


def seen(host: str, ago: timedelta, **how: Any) -> Sighting:
    """A host that has started the task for a month, and was seen last so long ago."""
    told = {"schedule": "0 * * * * UTC cron", "command_hash": "h", "once_version": "1", "first_seen": NOW - 30 * DAY}
    return Sighting(**{**told, "host": host, "last_seen": NOW - ago, **how})


def found(
    known: Vitals, *, of: Due | None = None, task: Task | None = None, stuck: tuple[Stuck, ...] = (), **how: Any
) -> list[Finding]:
    """What is wrong at twenty past noon."""
    limits = Limits(**how)
    task = task or Task("report", line=HOURLY)
    return findings(task, known, of or due(), stuck, alive=0, now=NOW, limits=limits)


def kinds(known: Vitals, **how: Any) -> list[str]:
    """As found, in short."""
    return [str(one.kind) for one in found(known, **how)]


def test_a_task_that_ran_its_last_slot_is_all_right() -> None:
    """Whatever was before."""
    assert found(vitals(run(2, 0), run(1, -1, Outcome.FAILED))) == []


def test_a_slot_that_nobody_started_is_late() -> None:
    """It is named, with how late it is."""
    assert found(vitals(run(1, -1))) == [
        Finding(Kind.LATE, State.CRITICAL, "late to start: slot 2026-03-02 12:00Z is 20m late, last success 1h 20m ago")
    ]


def test_of_several_late_slots_the_first_is_named() -> None:
    """Since when it has been so."""
    assert found(vitals(run(1, -3)))[0].what == (
        "late to start: slot 2026-03-02 10:00Z is 2h 20m late, 3 slots in a row, last success 3h 20m ago"
    )


def test_a_slot_is_not_late_before_its_grace_is_over() -> None:
    """A start may be as late as a first one, or as is said."""
    known = vitals(run(1, -1))

    assert kinds(known, grace=timedelta(minutes=21)) == []
    assert kinds(known, grace=timedelta(minutes=20)) == ["late to start"]


@pytest.mark.parametrize(
    ("of", "task"),
    [
        pytest.param(due(since=NOON + timedelta(minutes=1)), Task("report", line=HOURLY), id="before its schedule"),
        pytest.param(due(), Task("report", line=HOURLY, paused_at=NOON - DAY), id="paused"),
        pytest.param(
            due(), Task("report", line=HOURLY, paused_at=NOON - DAY, paused_until=NOW + HOUR), id="paused for a time"
        ),
        pytest.param(due(), Task("report", line=HOURLY, retired_at=NOON - DAY), id="retired"),
        pytest.param(Due(()), Task("report"), id="without a schedule"),
    ],
)
def test_where_nothing_is_due_nothing_is_late(of: Due, task: Task) -> None:
    """Nobody is woken for what was not to be."""
    assert kinds(vitals(), of=of, task=task) == []


def test_a_pause_that_has_ended_is_over() -> None:
    """What was due in it is not late, what is due after it is."""
    over = due(quiet=(Quiet("report", NOON - 5 * HOUR, NOON - 2 * HOUR),))

    assert found(vitals(run(1, -6)), of=over)[0].what == (
        "late to start: slot 2026-03-02 10:00Z is 2h 20m late, 3 slots in a row, last success 6h 20m ago"
    )


@pytest.mark.parametrize("outcome", [Outcome.RUNNING, Outcome.EXCUSED, Outcome.CANCELLED])
def test_a_slot_that_was_seen_to_is_not_late(outcome: Outcome) -> None:
    """It runs, was excused, or an operator has ended it."""
    assert kinds(vitals(run(2, 0, outcome), run(1, -1))) == []


@pytest.mark.parametrize(
    ("outcome", "how", "said"),
    [
        (Outcome.FAILED, {"exit_status": 3}, "failing: exit 3 (run 2 on a)"),
        (Outcome.FAILED, {"exit_status": 137, "signal": 9}, "failing: signal 9 (run 2 on a)"),
        (Outcome.TIMED_OUT, {}, "failing: timed out (run 2 on a)"),
        (Outcome.LOST, {}, "failing: lost (run 2 on a)"),
        (Outcome.STOPPED, {}, "failing: stopped (run 2 on a)"),
    ],
)
def test_a_run_that_failed_is_no_late_one(outcome: Outcome, how: dict[str, Any], said: str) -> None:
    """It began, and ended in this way."""
    assert found(vitals(run(2, 0, outcome, **how), run(1, -1))) == [Finding(Kind.FAILING, State.CRITICAL, said)]


def test_failures_matter_from_so_many_in_a_row() -> None:
    """Of slots: three attempts of one slot are one failure."""
    failed = [run(number, hours, Outcome.FAILED) for number, hours in ((5, 0), (4, 0), (3, 0), (2, -1))]
    known = vitals(*failed, run(1, -2))

    assert kinds(known, failures=3) == []
    assert found(known, failures=2)[0].what == "failing: 2 in a row, failed (run 5 on a)"


def test_what_runs_or_was_skipped_since_does_not_hide_a_failure() -> None:
    """The last that ended counts."""
    known = vitals(run(3, 0, Outcome.SKIPPED), run(2, -1, Outcome.FAILED), run(1, -2))

    assert "failing" in kinds(known)


def test_a_success_caught_up_ends_the_failures() -> None:
    """Also one of the very slot, recorded elsewhere."""
    assert kinds(vitals(run(3, 0), run(2, 0, Outcome.FAILED), run(1, -1))) == []


def test_a_skip_matters_when_the_slot_before_was_no_success_either() -> None:
    """A long run takes the next slot with it: that is what the policy is for."""
    skip = {"reason": "late"}

    assert kinds(vitals(run(2, 0, Outcome.SKIPPED, **skip), run(1, -1))) == []
    assert found(vitals(run(2, 0, Outcome.SKIPPED, **skip), run(1, -2))) == [
        Finding(Kind.SKIPPED, State.WARNING, "skipped: late, last success 2h 20m ago")
    ]


def test_stuck_and_too_long_are_different_findings() -> None:
    """The gravest first."""
    runs = [
        Run("report", number, Outcome.RUNNING, host="a", pid=42, claimed_at=NOON, lease_until=NOON) for number in (1, 2)
    ]
    slow = Stuck(runs[0], Sign.TOO_LONG, HOUR, timedelta(minutes=5))
    dead = Stuck(runs[1], Sign.NO_BEAT, HOUR)

    assert found(vitals(run(3, 0)), stuck=(slow, dead)) == [
        Finding(Kind.STUCK, State.CRITICAL, "stuck: lease ended 20m ago (run 2 on a, pid 42)"),
        Finding(Kind.TOO_LONG, State.WARNING, "running too long: 1h, usually 5m (run 1 on a, pid 42)"),
    ]


def test_two_trusted_runs_at_once_are_told() -> None:
    """Where the policy lets them."""
    told = findings(Task("report"), vitals(run(1, None)), Due(()), [], alive=2, now=NOW, limits=Limits())

    assert told == [Finding(Kind.OVERLAP, State.WARNING, "2 runs are at work at once")]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"schedule": "5 * * * * UTC cron"}, "schedule differs, 0 * * * * UTC cron on a; 5 * * * * UTC cron on b"),
        ({"command_hash": "i"}, "command differs, h on a; i on b"),
        ({"once_version": "2"}, "once differs, 1 on a; 2 on b"),
    ],
)
def test_hosts_that_disagree_are_told(other: dict[str, str], said: str) -> None:
    """Which says what."""
    hosts = (seen("a", HOUR), seen("b", HOUR, **other))

    assert found(vitals(run(1, 0), sightings=hosts)) == [Finding(Kind.DRIFT, State.WARNING, f"drift: {said}")]
    assert kinds(vitals(run(1, 0), sightings=hosts), task=Task("report")) == []


def test_a_host_that_used_to_start_it_is_missed() -> None:
    """A day and two slots after it was seen last, for a month; one that came by once is not."""
    lately = DAY + 2 * HOUR

    def missed(ago: timedelta, **how: Any) -> list[str]:
        hosts = (seen("a", HOUR), seen("b", ago, schedule="old", **how))
        return [one.what for one in found(vitals(run(1, 0), sightings=hosts)) if one.kind is Kind.HOST_GONE]

    assert missed(lately + HOUR) == ["host b has not started it since 2026-03-01 09:20Z"]
    assert missed(lately) == []
    assert missed(lately + 31 * DAY, first_seen=NOW - 90 * DAY) == []
    assert missed(lately + HOUR, first_seen=NOW - lately - 2 * HOUR) == []


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (timedelta(seconds=4.9), []),
        (timedelta(seconds=5), ["clock of a is 5s ahead of the database's"]),
        (timedelta(seconds=-7), ["clock of a is 7s behind the database's"]),
    ],
)
def test_a_clock_is_told_from_five_seconds_on(offset: timedelta, said: list[str]) -> None:
    """By the host's newest run; a day later it says nothing any more."""
    newest, before = run(2, 0, clock_offset=offset), run(1, -1, clock_offset=timedelta(seconds=40))
    old = run(2, 0, clock_offset=offset, claimed_at=NOW - 2 * DAY)

    assert [one.what for one in found(vitals(newest, before))] == said
    assert found(vitals(old)) == []


def test_what_is_wrong_outweighs_what_is_not_known() -> None:
    """And everything outweighs what is all right."""
    assert worst([State.OK, State.UNKNOWN]) is State.UNKNOWN
    assert worst([State.UNKNOWN, State.WARNING]) is State.WARNING
    assert worst([State.CRITICAL, State.UNKNOWN]) is State.CRITICAL
    assert worst([]) is State.OK
