"""Overlaps: which time a run takes up, and which two share some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from once.reports.overlaps import overlaps, spell
from once.run import Outcome, Run

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def run(number: int, start: float, length: float | None = None, **more: Any) -> Run:
    """A run, claimed so many minutes after noon; a success if its length is known."""
    known = {"outcome": Outcome.SUCCEEDED, "duration": length * MINUTE} if length is not None else {}
    return Run(**{"task": "report", "number": number, "claimed_at": NOON + start * MINUTE, **known, **more})


def pairs(*runs: Run, since: float = -60, until: float = 600, now: float = 600) -> list[tuple[int, int, float]]:
    """The numbers of every two that share time, and the minutes that they share."""
    found = overlaps(runs, since=NOON + since * MINUTE, until=NOON + until * MINUTE, now=NOON + now * MINUTE)
    return [(one.earlier.run.number, one.later.run.number, one.shared / MINUTE) for one in found]


def test_a_long_run_that_covers_ten_short_ones_makes_ten() -> None:
    """Not only neighbours."""
    short = [run(number, number * 2, 1) for number in range(1, 11)]

    assert pairs(run(0, 0, 60), *short) == [(0, number, 1) for number in range(1, 11)]


def test_runs_that_touch_share_nothing() -> None:
    """One ends as the next begins; and runs of two tasks never overlap."""
    assert pairs(run(1, 0, 5), run(2, 5, 5)) == []
    assert pairs(run(1, 0, 5), run(1, 1, 5, task="second")) == []


def test_hosts_whose_clocks_differ_make_up_no_overlap() -> None:
    """The host's own times are a minute ahead: they do not count."""
    ahead = run(1, 0, 5, started_at=NOON + MINUTE, finished_at=NOON + 6 * MINUTE, clock_offset=MINUTE)

    assert pairs(ahead, run(2, 5, 5)) == []


def test_a_running_one_lasts_until_now_while_its_lease_is_good() -> None:
    """Then until its last beat, which is assumed."""
    held = run(1, 0, outcome=Outcome.RUNNING, beat_at=NOON + 2 * MINUTE, lease_until=NOON + 7 * MINUTE)

    assert pairs(held, run(2, 1, 3), now=6) == [(1, 2, 3)]
    assert pairs(held, run(2, 1, 3), now=7) == [(1, 2, 1)]
    assert spell(held, NOON + 6 * MINUTE).is_assumed is False
    assert spell(held, NOON + 7 * MINUTE).is_assumed is True


def test_a_lost_run_lasts_until_its_last_beat_or_its_late_end() -> None:
    """A late end is by the host's clock, and counts in full."""
    lost = run(1, 0, outcome=Outcome.LOST, beat_at=NOON + 2 * MINUTE, clock_offset=MINUTE)
    late = lost.replaced(late_at=NOON + 9 * MINUTE, late_outcome=Outcome.SUCCEEDED)
    others = run(2, 1, 3), run(3, 6, 5)

    assert pairs(lost, *others) == [(1, 2, 1)]
    assert pairs(late, *others) == [(1, 2, 3), (1, 3, 2)]
    assert spell(late, NOON).is_assumed is False


def test_what_only_a_run_after_the_assumed_end_would_share_is_not_assumed() -> None:
    """The pair's end is assumed only if it is the lost run's."""
    lost = run(1, 0, outcome=Outcome.LOST, beat_at=NOON + 5 * MINUTE)
    period = {"since": NOON, "until": NOON + 60 * MINUTE, "now": NOON + 60 * MINUTE}
    found = list(overlaps([lost, run(2, 1, 2), run(3, 4, 9)], **period))

    assert [one.is_assumed for one in found] == [False, True]


def test_only_time_shared_within_the_period_counts() -> None:
    """A pair that went apart before it, or met after it, is none of it."""
    two = run(1, 0, 10), run(2, 5, 10)

    assert pairs(*two, since=9) == [(1, 2, 5)]
    assert pairs(*two, since=10) == []
    assert pairs(*two, until=5) == []


def test_a_skip_takes_up_no_time() -> None:
    """Nothing was started."""
    skip = run(2, 1, outcome=Outcome.SKIPPED)

    assert pairs(run(1, 0, 10), skip) == []
