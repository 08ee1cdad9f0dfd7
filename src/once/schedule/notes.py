"""What a change of the clock does to a slot, in words: `02:30 does not exist on 2026-03-29; runs at 03:00`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from once.schedule.pattern import ONE_DAY, Pattern
from once.schedule.schedule import Schedule
from once.schedule.slots import BEGINNING, WallClock
from once.schedule.stretches import Change, changes_of
from once.schedule.words import listed

TIMES_TO_LIST = 6
"""More times than this are told as the first and the last of them."""


def clock_note(schedule: Schedule, slot: datetime) -> str | None:
    """What the clock's changes do to this slot, or did to those that are left out before it; None for nothing."""
    timetable = schedule.timetable
    if not isinstance(timetable, WallClock):
        return None
    notes = (_note(timetable.pattern, change) for change in _changes_at(timetable, slot))
    return "; ".join(note for note in notes if note) or None


def _changes_at(timetable: WallClock, slot: datetime) -> Iterator[Change]:
    """The gaps since the slot before, this slot's own instant included, and the repeated hour that it lies in."""
    previous = next(timetable.descending(BEGINNING, slot), slot)
    first, last = min(previous, slot - ONE_DAY), slot + ONE_DAY
    for year in filter(timetable.has_days, range(first.year, last.year + 1)):
        for change in changes_of(timetable.zone, year):
            repeated = change.before - change.after
            if previous < change.at <= slot if change.skips else -repeated <= slot - change.at < repeated:
                yield change


def _note(pattern: Pattern, change: Change) -> str | None:
    first, last = sorted((change.clock_stopped_at, change.clock_went_on_at))
    touched = list(_named(pattern, first, last))
    if not touched:
        return None
    times, many = listed([f"{local:%H:%M}" for local in touched[:TIMES_TO_LIST]]), len(touched) > 1
    if len(touched) > TIMES_TO_LIST:
        times = f"{touched[0]:%H:%M} to {touched[-1]:%H:%M}"
    date = touched[0].date()
    if change.skips:
        day = "" if last.date() == date else f" on {last.date()}"
        is_moved = pattern.runs_late and not pattern.follows_real_time
        outcome = f"runs at {last:%H:%M}{day}" if is_moved else "nothing runs then"
        return f"{times} {'do' if many else 'does'} not exist on {date}; {outcome}"
    outcome = "runs both times" if pattern.follows_real_time else "runs the first time only"
    return f"{times} {'come' if many else 'comes'} twice on {date}; {outcome}"


def _named(pattern: Pattern, first: datetime, last: datetime) -> Iterator[datetime]:
    for midnight in pattern.midnights(first, last):
        yield from (local for time in pattern.times if first <= (local := midnight + time) < last)
