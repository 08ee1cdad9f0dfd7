"""Overlaps: two runs of one task whose times really intersect.

A run takes up the time from its claim, which is by the store's clock, for as long as the command took, which is by
CLOCK_BOOTTIME of its host: so hosts whose clocks differ never seem to overlap, and the moment between claim and start
is the price. A running one lasts until now while its lease is good. One that was lost lasted until its last beat, as
far as anybody knows; that is marked as assumed. Its late end, if it came, is by its host's clock, which the claim
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from once.noun import Noun
from once.run import Outcome, Run

AT_ONCE = timedelta()


class Spell(Noun):
    """The time that a run took up, start ≤ time < end. `is_assumed`: its end is not known."""

    run: Run
    start: datetime
    end: datetime
    is_assumed: bool = False


class Overlap(Noun):
    """Two runs, the earlier first, and the time that they share."""

    earlier: Spell
    later: Spell

    @property
    def task(self) -> str:
        """Whose runs they are."""
        return self.earlier.run.task

    @property
    def start(self) -> datetime:
        """From when on both were at work."""
        return self.later.start

    @property
    def end(self) -> datetime:
        """Until when they were."""
        return min(self.earlier.end, self.later.end)

    @property
    def shared(self) -> timedelta:
        """For how long."""
        return self.end - self.start

    @property
    def is_assumed(self) -> bool:
        """Whether the end is only assumed: a run that was lost may have ended before it, or worked on beyond it."""
        first_to_end = self.earlier if self.earlier.end <= self.later.end else self.later
        return first_to_end.is_assumed


def spell(run: Run, now: datetime) -> Spell | None:
    """The time that a run took up; None if it never had a command."""
    if run.claimed_at is None or not run.outcome.was_started:
        return None
    if run.late_at is not None:
        return Spell(run, run.claimed_at, run.late_at - (run.clock_offset or AT_ONCE))
    if run.duration is not None:
        return Spell(run, run.claimed_at, run.claimed_at + run.duration)
    if run.outcome is Outcome.RUNNING and run.lease_until is not None and run.lease_until > now:
        return Spell(run, run.claimed_at, now)
    return Spell(run, run.claimed_at, run.beat_at or run.claimed_at, is_assumed=True)


def overlaps(runs: Iterable[Run], *, since: datetime, until: datetime, now: datetime) -> Iterator[Overlap]:
    """Every pair that shares time between `since` and `until`.

    The runs come in the order of task and claim. Those of a task that are at work at one time are held in memory.
    """
    at_work: list[Spell] = []
    for run in runs:
        now_working = spell(run, now)
        if now_working is None:
            continue
        task, start = run.task, now_working.start
        at_work = [other for other in at_work if other.run.task == task and other.end > start]
        for other in at_work:
            found = Overlap(other, now_working)
            if found.shared > AT_ONCE and found.end > since and found.start < until:
                yield found
        at_work.append(now_working)
