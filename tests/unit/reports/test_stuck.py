"""Stuck: what no longer beats, and what takes far longer than usual."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from once.reports.stuck import stuck, usual
from once.run import Outcome, Run

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def signs(elapsed: timedelta, *durations: timedelta, lease: timedelta = MINUTE, **options: object) -> list[str]:
    """What a run that was claimed so long ago looks like, whose lease ends so long from now."""
    run = Run("report", 1, Outcome.RUNNING, claimed_at=NOON - elapsed, lease_until=NOON + lease)
    return [str(one.sign) for one in stuck([run], {"report": durations}, now=NOON, **options)]


def test_a_lease_that_has_ended_is_no_beat() -> None:
    """To the instant."""
    assert signs(MINUTE, lease=timedelta()) == ["no beat"]
    assert signs(MINUTE, lease=timedelta.resolution) == []


def test_too_long_is_three_times_the_usual_and_a_minute_more() -> None:
    """The larger of both counts, and both can be set."""
    assert signs(61 * SECOND, *[SECOND] * 5) == []
    assert signs(61 * SECOND + timedelta.resolution, *[SECOND] * 5) == ["too long"]
    assert signs(180 * MINUTE, *[60 * MINUTE] * 5) == []
    assert signs(180 * MINUTE + SECOND, *[60 * MINUTE] * 5) == ["too long"]
    assert signs(121 * MINUTE, *[60 * MINUTE] * 5, times=2.0) == ["too long"]
    assert signs(61 * SECOND, *[SECOND] * 5, more=30 * SECOND) == ["too long"]


def test_of_few_successes_nothing_is_said() -> None:
    """Four are no history."""
    assert signs(60 * MINUTE, *[SECOND] * 4) == []


@pytest.mark.parametrize(("many", "rank"), [(5, 5), (19, 19), (20, 19), (21, 20), (100, 95)])
def test_the_usual_is_the_95th_percentile_by_nearest_rank(many: int, rank: int) -> None:
    """One slow run in twenty does not count."""
    durations = [number * SECOND for number in range(many, 0, -1)]

    assert usual(durations) == rank * SECOND
