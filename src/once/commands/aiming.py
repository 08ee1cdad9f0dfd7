"""Which slot a start is for: the clock's, the one that an operator names, or the one in a Kubernetes Job's name."""

from __future__ import annotations

from datetime import datetime, timedelta

from once.errors import JobNotOfSchedule
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
    """The slot that an operator names. Raises SlotInvalid, InstantInvalid."""
    if given == "last":
        last = fired_at if plan.slot_at(fired_at) else next(plan.before(fired_at))
        return Aim(plan.require(last), by_hand=True)
    return Aim(plan.require(parse_instant(given, fired_at)), by_hand=True)


def by_job(plan: Schedule, name: str, instant: datetime | None) -> Aim:
    """The slot of the Job of this name, which is certain, however late its pod is. Raises JobNotOfSchedule.

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
    return Aim(slot, unbroken_since=plan.unbroken_since(slot.at, on_time=True))
