"""Gaps and what was due: edits, clock changes, pauses, grace, retries; time and nouns are all they see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from once.instants import unix_seconds
from once.reports.due import Due, InForce, Quiet
from once.reports.gaps import Attempt, Gap, Page, gaps, joined, silence
from once.run import Line, Outcome, Task

NOW = datetime(2026, 11, 27, 12, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURLY = Line("0 * * * *", "UTC")


def at(hours: float) -> datetime:
    """So many hours before or after noon."""
    return datetime(2026, 11, 27, 12, tzinfo=UTC) + hours * HOUR


YESTERDAY, NOON = at(-24), at(0)


def in_force(line: Line = HOURLY, *, since: datetime = YESTERDAY, last: datetime = NOON) -> InForce:
    return InForce("report", line, since, last)


def due(*intervals: InForce, quiet: tuple[Quiet, ...] = (), **task: Any) -> Due:
    return Due.of(Task("report", **task), intervals or (in_force(),), quiet)


def slots(found: Due, start: datetime, end: datetime, *, now: datetime = NOW) -> list[datetime]:
    return list(found.between(start, end, now=now))


def attempt(hours: float, outcome: Outcome, **more: Any) -> Attempt:
    return Attempt("report", at(hours), 7, outcome, host="h1", **more)


def told(
    *undone: Attempt, done: tuple[float, ...] = (), found: Due | None = None, since: float = -3, until: float = 0.5,
    **how: bool,
) -> list[tuple[str, datetime, datetime, int, str]]:  # fmt: skip
    page = Page("report", at(since), at(until), [unix_seconds(at(hours)) for hours in done], list(undone))
    answer = gaps(page, found or due(), now=NOW, **how)
    return [(str(gap.kind), gap.first, gap.last, gap.count, gap.reason) for gap in answer]


def test_slots_in_a_row_are_one_gap() -> None:
    """A success between two of them makes two gaps; each by itself if asked for."""
    assert told(done=(-1,)) == [
        ("missed", at(-3), at(-2), 2, "no start"),
        ("missed", at(0), at(0), 1, "no start"),
    ]
    assert [first for _, first, _, _, _ in told(done=(-1,), each=True)] == [at(-3), at(-2), at(0)]
    assert told(done=(-3, -2, -1, 0)) == []


@pytest.mark.parametrize(
    ("outcome", "more", "kind", "reason"),
    [
        (Outcome.FAILED, {"exit_status": 3}, "failed", "exit 3"),
        (Outcome.FAILED, {"exit_status": 137, "signal": 9}, "failed", "signal 9"),
        (Outcome.TIMED_OUT, {"exit_status": 143}, "failed", "timed out"),
        (Outcome.STOPPED, {}, "failed", "stopped"),
        (Outcome.CANCELLED, {}, "failed", "cancelled"),
        (Outcome.LOST, {"reason": "its lease had ended, found by h2 (pid 9)"}, "lost", "its lease had ended"),
        (Outcome.RUNNING, {"lease_until": NOW}, "lost", "its lease ended"),
    ],
)
def test_what_the_newest_attempt_came_to(outcome: Outcome, more: dict[str, Any], kind: str, reason: str) -> None:
    """Whatever is no success is a gap, and says why."""
    assert told(attempt(-2, outcome, **more), done=(-3, -1, 0)) == [(kind, at(-2), at(-2), 1, reason)]


@pytest.mark.parametrize(
    "undone",
    [
        attempt(-2, Outcome.RUNNING, lease_until=NOW + HOUR),
        attempt(-2, Outcome.FAILED, retry_at=NOW + HOUR),
        attempt(-2, Outcome.EXCUSED),
        attempt(-2, Outcome.SKIPPED, reason="overlap: run 6 on h2 is alive"),
        attempt(-2, Outcome.LOST, late_outcome=Outcome.SUCCEEDED),
    ],
)
def test_what_is_no_gap_yet_or_never(undone: Attempt) -> None:
    """Running, to be tried again, excused, skipped by a policy, or a success that came late."""
    assert told(undone, done=(-3, -1, 0)) == []


def test_a_failed_attempt_before_the_success_is_no_gap() -> None:
    """A slot is done if any attempt succeeded."""
    assert told(attempt(-2, Outcome.FAILED, exit_status=1), done=(-3, -2, -1, 0)) == []


def test_skips_are_told_when_asked_for_but_a_pause_is_none() -> None:
    """What an operator wanted is no policy."""
    overlap = attempt(-2, Outcome.SKIPPED, reason="overlap: run 6 on h2 is alive")
    paused = attempt(-1, Outcome.SKIPPED, reason="paused")

    assert told(overlap, paused, done=(-3, 0), skipped=True) == [("skipped", at(-2), at(-2), 1, "overlap")]


def test_a_failed_slot_that_was_not_due_is_told() -> None:
    """The first start of all is for a slot from before the first sight."""
    found = due(in_force(since=at(-1.5)))

    assert told(attempt(-2, Outcome.FAILED, exit_status=1), done=(-1, 0), found=found) == [
        ("failed", at(-2), at(-2), 1, "exit 1")
    ]


def test_a_slot_younger_than_its_grace_is_pending() -> None:
    """Five minutes, or half the distance if that is less, a minute always."""
    minutely = due(in_force(Line("* * * * *", "UTC")))

    assert slots(due(), at(0), at(1), now=at(0) + timedelta(minutes=5) - DAY.resolution) == []
    assert slots(due(), at(0), at(1), now=at(0) + timedelta(minutes=5)) == [at(0)]
    assert slots(minutely, at(0), at(1), now=at(0) + timedelta(seconds=119)) == [at(0)]


def test_nothing_was_due_before_the_first_sight_nor_before_what_was_pruned() -> None:
    """What nobody can know is no gap."""
    assert slots(due(in_force(since=at(-1.5))), at(-5), at(1)) == [at(-1), at(0)]
    assert slots(due(settled_through=at(-2)), at(-5), at(1)) == [at(-1), at(0)]


def test_an_edit_makes_up_no_slots() -> None:
    """The old line counts until it was last seen, the new one from when it was first seen."""
    old = in_force(Line("30 11 * * 5", "UTC"), since=at(-15 * 24), last=at(-7 * 24 - 0.5))
    new = in_force(Line("0 11 * * 5", "UTC"), since=at(-12), last=at(-1))

    assert slots(due(old, new), at(-30 * 24), NOW) == [at(-14 * 24 - 0.5), at(-7 * 24 - 0.5), at(-1)]


def test_a_line_that_was_rolled_back_has_two_intervals() -> None:
    """Between them the other line counts, and the old one's slots do not."""
    minutes = Line("*/30 * * * *", "UTC")
    intervals = (
        in_force(since=at(-6), last=at(-5)),
        in_force(minutes, since=at(-4.2), last=at(-3)),
        in_force(since=at(-2), last=at(0)),
    )

    assert slots(due(*intervals), at(-9), NOW) == [at(hours) for hours in (-6, -5, -4, -3.5, -3, -2, -1, 0)]


def test_the_slots_of_two_lines_in_use_at_once_are_both_due_once_each() -> None:
    """Half the fleet still has the old line; what both name is one slot."""
    halves = in_force(Line("*/30 * * * *", "UTC"), since=at(-2), last=at(-1))

    assert slots(due(halves, in_force()), at(-2), NOW) == [at(hours) for hours in (-2, -1.5, -1, 0)]


def test_pauses_and_retirement_are_quiet() -> None:
    """Past pauses of the task or of all, the one that goes on, and the end of the task."""
    over = (Quiet("report", at(-5.5), at(-4.5)), Quiet(None, at(-3.5), at(-2.5)), Quiet("other", at(-9), at(9)))

    assert slots(due(quiet=over), at(-6), NOW) == [at(hours) for hours in (-6, -4, -2, -1, 0)]
    assert slots(due(paused_at=at(-3), paused_until=at(-1)), at(-5), NOW) == [at(hours) for hours in (-5, -4, -1, 0)]
    assert slots(due(paused_at=at(-3)), at(-5), NOW) == [at(-5), at(-4)]
    assert slots(due(retired_at=at(-3)), at(-5), NOW) == [at(-5), at(-4)]


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [("cron", ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
     ("kubernetes", ["2026-03-28T01:30", "2026-03-30T00:30"])],
)  # fmt: skip
def test_a_clock_change_makes_up_no_gap(engine: str, wanted: list[str]) -> None:
    """What cron runs at the end of the gap, the CronJob controller does not run at all."""
    start = datetime(2026, 3, 28, tzinfo=UTC)
    found = due(in_force(Line("30 2 * * *", "Europe/Berlin", engine), since=start))

    assert [f"{slot:%Y-%m-%dT%H:%M}" for slot in slots(found, start, start + 3 * DAY)] == wanted


def test_the_hour_that_comes_twice_is_due_once() -> None:
    """A fixed time at its first pass; a schedule that follows real time at both."""
    night = datetime(2026, 10, 25, tzinfo=UTC)
    fixed, hourly = (in_force(Line(text, "Europe/Berlin"), since=night) for text in ("30 2 * * *", "30 * * * *"))

    assert slots(due(fixed), night, night + 3 * HOUR) == [night + HOUR / 2]
    assert slots(due(hourly), night, night + 3 * HOUR) == [night + (hour + 0.5) * HOUR for hour in range(3)]


def test_a_year_of_misses_is_one_gap() -> None:
    """However many pages of slots are looked at."""
    start = NOW - 365 * DAY
    minutely = due(in_force(Line("* * * * *", "UTC"), since=start))
    (found,) = gaps(Page("report", start, NOW, [], []), minutely, now=NOW)

    assert (found.count, found.first, found.last) == (365 * 24 * 60, start, NOW - timedelta(minutes=1))


def test_two_pages_may_tell_one_gap() -> None:
    """If no due slot lies between what they told, and both went wrong alike."""
    earlier, later = (Gap("report", "missed", at(hours), at(hours), 1, "no start") for hours in (-3, -2))
    whole = joined(earlier, later, due(), now=NOW)

    assert whole is not None
    assert (whole.first, whole.last, whole.count) == (at(-3), at(-2), 2)
    assert joined(earlier, later.replaced(first=at(-1), last=at(-1)), due(), now=NOW) is None
    assert joined(earlier, later.replaced(reason="exit 1"), due(), now=NOW) is None


@pytest.mark.parametrize(("next_start", "count", "last"), [(3.5, 3, 3), (3, 2, 2), (1.9, 1, 1)])
def test_a_silence_counts_the_starts_that_were_due(next_start: float, count: int, last: float) -> None:
    """Every hour: from one start on, until the next came."""
    found = silence("lock", at(0), at(next_start), HOUR)

    assert (found.first, found.last, found.count) == (at(1), at(last), count)
