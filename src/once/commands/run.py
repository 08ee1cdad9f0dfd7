"""`once run`: the slot's job, once."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

import click

from once import clock
from once.clock import SystemClock
from once.commands import aiming, wrapping
from once.commands.aiming import Aim
from once.commands.options import DURATION, Number
from once.commands.wrapping import Asked
from once.errors import CatchUpUnclear, ScheduleMissing, SlotNamedTwice, ZoneDataDiffer
from once.instants import rfc3339
from once.noun import Noun
from once.run import Slot
from once.schedule import Schedule, zones
from once.signals import Arrivals
from once.start import CatchUp
from once.verdict import Facts, Overlap, Wish

WAITS = (Overlap.WAIT, Overlap.REPLACE)
LONGEST_DB_WAIT = timedelta(hours=1)
MOST_ATTEMPTS = 1_000_000
CATCH_UP = {"none": 0, "last": 1, "all": 1_000_000}
"""How many slots each of them is about."""


class Policies(Noun):
    """What a line says about other runs, late starts and failures, as it was typed."""

    start_within: timedelta | None
    overlap: str
    standby: bool
    wait: timedelta | None
    no_wait: bool
    attempts: int | None
    retry_delay: timedelta
    catch_up: str
    catch_up_window: timedelta


@click.command(short_help="The slot's job, once on any number of hosts.")
@wrapping.task
@click.option("--schedule", metavar="EXPR", help="Five cron fields, a macro such as @daily, or @every 15m.")
@click.option("--tz", metavar="ZONE", help="The schedule's time zone; default: ONCE_TZ, then the host's.")
@click.option("--slot", metavar="WHEN", help="This slot instead of the current one: an instant, or `last`.")
@click.option(
    "--job-name", metavar="NAME", help="Take the slot from the name of this pod's Job, made by a Kubernetes CronJob."
)
@click.option("--start-within", type=DURATION, help="Skip the slot when this start comes later than that after it.")
@click.option(
    "--overlap",
    type=click.Choice([choice.value for choice in Overlap]),
    default=Overlap.SKIP.value,
    help="What to do while a run of another slot is alive.  [default: skip]",
)
@click.option("--standby", is_flag=True, help="While another start holds the slot: wait, and exit with its status.")
@wrapping.waiting
@click.option("--attempts", type=Number(1, MOST_ATTEMPTS), help="Attempts per slot, over all hosts.  [default: 1]")
@click.option(
    "--retry-delay", type=DURATION, default=timedelta(seconds=10), help="Pause before the next attempt.  [default: 10s]"
)
@click.option(
    "--catch-up",
    type=click.Choice(list(CATCH_UP)),
    default="none",
    help="First run the slots that nobody ran, oldest first.  [default: none]",
)
@click.option(
    "--catch-up-window", type=DURATION, default=timedelta(days=7), help="How far back --catch-up looks.  [default: 7d]"
)
@wrapping.distances
@wrapping.limits
@wrapping.skip_code
@wrapping.database_options
@wrapping.db_down
@wrapping.talk
@wrapping.argv
@click.pass_obj
def run(
    arrivals: Arrivals,
    /,
    *,
    schedule: str | None,
    tz: str | None,
    slot: str | None,
    job_name: str | None,
    **given: Any,
) -> int:
    """Run COMMAND once for the current slot of a schedule, on any number of hosts.

    \b
    Example, the same line in every host's crontab:
      0 17 * * 5  once run --task weekly-report --schedule "0 17 * * 5" --tz Europe/Berlin -- /opt/app/report --email
    """
    fired = clock.fired(SystemClock())
    found = wrapping.resolved()
    policies = Policies(**{name: given.pop(name) for name in Policies.__match_args__})
    typed = wrapping.options(given, found)
    if schedule is None:
        raise ScheduleMissing(task=typed.task)
    wrapping.require_command(typed, "run")
    job = _job(job_name, slot)
    at = job.instant if job and job.instant else fired.at
    zone = zones.resolve(tz, found.tz, os.environ, expression=schedule, at=at)
    plan = Schedule.parse(schedule, zone, engine="kubernetes" if job else "cron")
    skew = wrapping.first_given(typed.max_skew, found.max_skew, wrapping.MAX_SKEW)
    aim = _aim(plan, job, slot, fired.at, max_skew=skew)
    asked = Asked(
        verb="run",
        fired=fired,
        slot=aim.slot,
        line=plan.line,
        wish=_wish(policies, aim, fired.at, for_job=job is not None, min_interval=typed.min_interval),
        wait=_longest_wait(policies, mirrors=policies.standby or job is not None),
        retry_delay=policies.retry_delay,
        catch_up=_catch_up(policies, by_clock=job is None and slot is None),
        mirrors=policies.standby or job is not None,
        db_wait=_db_wait(plan, aim.slot, fired.at),
        by_hand=aim.by_hand,
        unbroken_since=aim.unbroken_since,
        note=aim.note,
        object_to=_Zone(plan, implied_at=at if tz is None and found.tz is None else None).object_to,
    )
    return wrapping.begin(typed, asked, found, arrivals)


def _wish(policies: Policies, aim: Aim, fired_at: datetime, *, for_job: bool, min_interval: timedelta) -> Wish:
    """A Job has its own cap on attempts, the backoffLimit, and stands by for the run of its slot."""
    return Wish(
        slot=aim.slot.at if aim.slot else None,
        fired_at=fired_at,
        on_time=aim.on_time,
        attempts=policies.attempts or (None if for_job else 1),
        standby=policies.standby or for_job,
        overlap=Overlap(policies.overlap),
        start_within=policies.start_within,
        min_interval=min_interval,
    )


def _longest_wait(policies: Policies, *, mirrors: bool) -> timedelta | None:
    """Raises WaitContradicted."""
    return wrapping.longest_wait(
        policies.wait,
        no_wait=policies.no_wait,
        waits=mirrors or policies.overlap in WAITS or policies.catch_up != "none",
        replaces=policies.overlap == Overlap.REPLACE,
        repair="--standby, or --overlap wait",
    )


def _db_wait(plan: Schedule, slot: Slot | None, fired_at: datetime) -> timedelta:
    """To the next slot. For a start that is a moment early that is not its own."""
    coming = next(plan.after(max(fired_at, slot.at) if slot else fired_at))
    return min(LONGEST_DB_WAIT, coming - fired_at)


def _catch_up(policies: Policies, *, by_clock: bool) -> CatchUp:
    """Raises CatchUpUnclear."""
    slots = CATCH_UP[policies.catch_up]
    if slots and not by_clock:
        raise CatchUpUnclear
    return CatchUp(slots, policies.catch_up_window)


class _Job(Noun):
    """The Job that a pod belongs to; its instant is None when no schedule made it."""

    name: str
    instant: datetime | None


def _job(name: str | None, slot: str | None) -> _Job | None:
    """What --job-name says. Raises JobNameInvalid, SlotNamedTwice."""
    if name is None:
        return None
    if slot is not None:
        raise SlotNamedTwice(slot=slot, job=name)
    from once.schedule.kubernetes import instant_of_job

    return _Job(name, instant_of_job(name))


def _aim(plan: Schedule, job: _Job | None, slot: str | None, fired_at: datetime, *, max_skew: timedelta) -> Aim:
    if job is not None:
        return aiming.by_job(plan, job.name, job.instant, fired_at, max_skew=max_skew)
    return aiming.by_clock(plan, fired_at) if slot is None else aiming.by_hand(plan, slot, fired_at)


class _Zone:
    """What the task is known by, held against this host's zone: by its name where it was implied, and by its data."""

    def __init__(self, plan: Schedule, *, implied_at: datetime | None) -> None:
        self._plan, self._implied_at = plan, implied_at

    def object_to(self, facts: Facts, slot: Slot | None) -> None:
        """Raises ZoneAmbiguous, ZoneDataDiffer: also of a slot that is caught up."""
        plan, twin = self._plan, facts.twin
        if self._implied_at is not None and facts.line is not None:
            zones.resolve(None, None, os.environ, expression=plan.expression, at=self._implied_at, known=facts.line)
        if slot is not None and twin is not None and plan.slot_at(twin.slot) is None:
            raise ZoneDataDiffer(
                local=slot.local.replace("T", " "),
                zone=plan.zone,
                ours=rfc3339(slot.at),
                theirs=rfc3339(twin.slot),
                host=twin.host,
                number=twin.number,
            )
