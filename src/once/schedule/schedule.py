"""A schedule: an expression in a zone, and its slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from once import errors
from once.instants import INSTANT, rfc3339
from once.noun import Noun
from once.run import Line, Slot
from once.schedule import dialect, zone_names
from once.schedule.slots import BEGINNING, END, Interval, Timetable, WallClock

EARLY_AT_MOST = timedelta(seconds=5)
"""How long before a slot a start may come and still be for it: timers and stepped clocks fire early."""

EARLY_SHARE = 4
"""… and never more than this part of the distance to the slot before."""

ON_TIME = timedelta(minutes=5)
ON_TIME_ALWAYS = timedelta(minutes=1)

EARLIEST_SIGHTING = timedelta(minutes=1)
"""How far a host's clock may be ahead of the store's: the default of the clock guard."""


class Schedule(Noun):
    """Which slots there are. All instants are aware and in UTC.

    `expression` is as written but for blanks; `engine` is who fires it: `cron`, or `kubernetes` for the CronJob
    controller. That one steps in real time until the wall clock matches (SpecSchedule.Next in spec.go of robfig/cron
    v3), so it makes no Job in the spring gap and two for a fixed time in the repeated hour. The two are one slot, as
    under cron: see `of_job`.
    """

    expression: str
    zone: str
    engine: str
    timetable: Timetable

    @classmethod
    def parse(cls, expression: str, zone: str, *, engine: str = "cron") -> Schedule:
        """Read an expression and check its zone. Raises ScheduleInvalid and ZoneInvalid."""
        zone_names.check(zone)
        text = dialect.normalised(expression)
        read = dialect.read(text, engine)
        timetable = Interval(read) if isinstance(read, timedelta) else WallClock(read, zone)
        return cls(text, zone, engine, timetable=timetable)

    @classmethod
    def of(cls, line: Line) -> Schedule:
        """The schedule of a stored line. Raises as parse does: another host may know more zones."""
        return cls.parse(line.expression, line.zone, engine=line.engine)

    @property
    def line(self) -> Line:
        """The schedule as it is stored."""
        return Line(self.expression, self.zone, self.engine)

    def after(self, at: datetime) -> Iterator[datetime]:
        """The slots after this instant, earliest first, lazily."""
        return self.timetable.ascending(min(_utc(at), END) + INSTANT, END)

    def before(self, at: datetime) -> Iterator[datetime]:
        """The slots before this instant, latest first, lazily."""
        return self.timetable.descending(BEGINNING, _utc(at))

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The slots with start ≤ slot < end, earliest first, lazily."""
        return self.timetable.ascending(_utc(start), _utc(end))

    def seconds(self, start: datetime, end: datetime) -> Iterator[Sequence[int]]:
        """The same in whole seconds since the Unix epoch, a day or so together."""
        return self.timetable.seconds(_utc(start), _utc(end))

    def nearest(self, at: datetime) -> tuple[datetime, datetime]:
        """The latest slot at or before this instant, and the earliest after it.

        Raises InstantInvalid for instants at the ends of what datetime can hold.
        """
        latest = next(self.before(_utc(at) + INSTANT), None)
        coming = next(self.after(at), None)
        if latest is None or coming is None:
            raise errors.InstantInvalid(text=rfc3339(at), why="")
        return latest, coming

    def slot_for(self, at: datetime) -> Slot:
        """The slot that a start at this instant is for.

        The latest one, P, or the coming one, S, if the start comes early: within min(5 s, (S - P)/4) of S.
        """
        latest, coming = self.nearest(at)
        is_early = coming - _utc(at) <= min(EARLY_AT_MOST, (coming - latest) / EARLY_SHARE)
        return self.slot_of(coming if is_early else latest)

    def slot_at(self, at: datetime) -> Slot | None:
        """The slot at exactly this instant, if there is one."""
        found = next(self.between(at, _utc(at) + INSTANT), None)
        return None if found is None else self.slot_of(found)

    def of_job(self, at: datetime) -> Slot | None:
        """The slot of the Job that the controller made for this instant, if the schedule has one.

        The second Job for a fixed time in the repeated hour meets the slot of the first.
        """
        local = self.local(at)
        return self.slot_at(at) or (self.slot_at(local.replace(fold=0)) if local.fold else None)

    def require(self, at: datetime) -> Slot:
        """The slot at exactly this instant, given by an operator or by the name of a Job. Raises SlotInvalid."""
        if slot := self.slot_at(at):
            return slot
        before, after = (rfc3339(slot) for slot in self.nearest(at))
        raise errors.SlotInvalid(
            slot=rfc3339(at), expression=self.expression, zone=self.zone, before=before, after=after
        )

    def on_time(self, slot: datetime) -> timedelta:
        """How late a first start may be: 5 min, or half the distance to the next slot if less, but a minute always."""
        coming = next(self.after(slot), None)
        half = ON_TIME if coming is None else (coming - _utc(slot)) / 2
        return max(min(ON_TIME, half), ON_TIME_ALWAYS)

    def unbroken_since(self, slot: datetime, *, on_time: bool) -> datetime:
        """A sighting of this schedule from here on leaves no slot out between itself and a start for `slot`.

        It is that of the slot before: a start that is `on_time` speaks for its own slot; another needs one of the very
        slot. Hosts' clocks and the store's differ, so it may be half the distance early, a minute at most.
        """
        before = next(self.before(slot), slot)
        early = min((_utc(slot) - before) / 2, EARLIEST_SIGHTING)
        return (before if on_time else _utc(slot)) - early

    def local(self, at: datetime) -> datetime:
        """The same instant by the clocks of the schedule's zone, for people: arithmetic stays in UTC."""
        return at.astimezone(ZoneInfo(self.zone))

    def slot_of(self, at: datetime) -> Slot:
        """The slot of an instant that is known to be one."""
        local = self.local(at)
        precision = "seconds" if local.second else "minutes"
        return Slot(at, local.replace(tzinfo=None).isoformat(timespec=precision), local.fold)


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
