"""Which slot a start is for: the clock's, the one that an operator names, or the one in a Kubernetes Job's name."""

from __future__ import annotations

from datetime import datetime, timedelta

from once.errors import InstantInvalid, JobInFuture, JobNotOfSchedule, SlotInFuture, SlotUnclear
from once.instants import parse_instant, rfc3339
from once.noun import Noun
from once.run import Slot
from once.schedule import Schedule


class Aim(Noun):
    """What a start is for.

    `on_time` is how late a first start may be; None where the slot is certain, whatever the time. `unbroken_since` is
    the claim's. `note` is said before anything is run.
    """

    slot: Slot | None
    by_hand: bool = False
    on_time: timedelta | None = None
    unbroken_since: datetime | None = None
    note: str = ""


def by_clock(plan: Schedule, fired_at: datetime) -> Aim:
    """The slot that a start at this time belongs to."""
    slot = plan.slot_for(fired_at)
    on_time = plan.on_time(slot.at)
    since = plan.unbroken_since(slot.at, on_time=fired_at - slot.at <= on_time)
    return Aim(slot, on_time=on_time, unbroken_since=since)


def by_hand(plan: Schedule, given: str, fired_at: datetime) -> Aim:
    """The slot that an operator names. Raises SlotInvalid, SlotUnclear, SlotInFuture.

    A slot later than the one that a start now is for would be done before its time: its own start would be skipped.
    """
    if given == "last":
        last = fired_at if plan.slot_at(fired_at) else next(plan.before(fired_at))
        return Aim(plan.require(last), by_hand=True)
    slot = plan.require(_instant(plan, given, fired_at))
    if slot.at > plan.slot_for(fired_at).at:
        raise SlotInFuture(slot=rfc3339(slot.at))
    return Aim(slot, by_hand=True)


def _instant(plan: Schedule, given: str, fired_at: datetime) -> datetime:
    """What --slot says. A date or a time without an offset is refused: the schedule's zone may mean it, or UTC."""
    try:
        naive = datetime.fromisoformat(given.strip())
    except ValueError:
        naive = None
    if naive is not None and naive.tzinfo is None and not given.strip().isdecimal():
        in_zone = naive.replace(tzinfo=plan.local(fired_at).tzinfo).isoformat(timespec="seconds")
        spellings = f"{in_zone} ({plan.zone}) or {naive.isoformat(timespec='seconds')}Z (UTC)"
        raise SlotUnclear(text=given, why=" without an offset from UTC", spellings=spellings)
    try:
        return parse_instant(given, fired_at)
    except InstantInvalid:
        raise SlotUnclear(text=repr(given), why="", spellings="last, 2026-03-29T01:00:00Z, or Unix seconds") from None


def by_job(plan: Schedule, name: str, instant: datetime | None, fired_at: datetime, *, max_skew: timedelta) -> Aim:
    """The slot of the Job of this name, which is certain, however late its pod is.

    The controller's clock may be ahead of this host's by `max_skew`. Raises JobNotOfSchedule, JobInFuture.

    Without an instant in its name somebody made the Job (`kubectl create job --from`): a run by hand, without a slot.
    """
    if instant is None:
        return Aim(None, by_hand=True, note=f"no schedule made the Job {name}: this is a run by hand, without a slot")
    slot = plan.of_job(instant)
    if slot is None:
        before, after = (rfc3339(nearest) for nearest in plan.nearest(instant))
        raise JobNotOfSchedule(
            name=name, at=rfc3339(instant), expression=plan.expression, zone=plan.zone, before=before, after=after
        )
    if instant - fired_at > max_skew:
        raise JobInFuture(name=name, at=rfc3339(instant), host_time=rfc3339(fired_at.replace(microsecond=0)))
    return Aim(slot, unbroken_since=plan.unbroken_since(slot.at, on_time=True))
