"""`once run`: the slot's job, once."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

import click

from once import clock
from once.clock import Fired, SystemClock
from once.commands import wrapping
from once.commands.options import DURATION
from once.commands.wrapping import Asked, Options
from once.errors import ScheduleMissing
from once.instants import parse_instant
from once.run import Line, Slot
from once.schedule import Schedule, zones
from once.settings import Settings
from once.signals import Arrivals
from once.verdict import Facts, Overlap, Wish

LONGEST_DB_WAIT = timedelta(hours=1)


@click.command(short_help="The slot's job, once on any number of hosts.")
@wrapping.task
@click.option("--schedule", metavar="EXPR", help="Five cron fields, a macro such as @daily, or @every 15m.")
@click.option("--tz", metavar="ZONE", help="The schedule's time zone; default: ONCE_TZ, then the host's.")
@click.option("--slot", metavar="WHEN", help="This slot instead of the current one: an instant, or `last`.")
@click.option("--start-within", type=DURATION, help="Later than this after the slot: skip it.")
@click.option(
    "--overlap", type=click.Choice(["skip"]), default="skip", help="When another run is alive.  [default: skip]"
)
@wrapping.limits
@wrapping.database_options
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
    start_within: timedelta | None,
    overlap: str,
    **given: Any,
) -> int:
    """Run COMMAND once for the current slot of a schedule, on any number of hosts.

    \b
    Example, the same line in every host's crontab:
      0 17 * * 5  once run --task weekly-report --schedule "0 17 * * 5" --tz Europe/Berlin -- /opt/app/report --email
    """
    fired = clock.fired(SystemClock())
    found = wrapping.resolved()
    typed = wrapping.options(given, found)
    if schedule is None:
        raise ScheduleMissing(task=typed.task)
    wrapping.require_command(typed, "run")
    zone = zones.resolve(tz, found.tz, os.environ, expression=schedule, at=fired.at)
    plan = Schedule.parse(schedule, zone)
    chosen = _slot(plan, slot, fired.at)
    asked = Asked(
        verb="run",
        fired=fired,
        slot=chosen,
        line=Line(plan.expression, plan.zone),
        wish=_wish(plan, chosen, typed, fired, by_hand=slot is not None, within=start_within, overlap=overlap),
        db_wait=min(LONGEST_DB_WAIT, next(plan.after(fired.at)) - fired.at),
        by_hand=slot is not None,
        object_to=_Zone(tz, found, schedule, fired.at).object_to,
    )
    return wrapping.begin(typed, asked, found, arrivals)


def _slot(plan: Schedule, given: str | None, fired_at: datetime) -> Slot:
    """The slot that a start at this time belongs to, or the one an operator names. Raises SlotInvalid."""
    if given is None:
        return plan.slot_for(fired_at)
    if given == "last":
        return plan.require(fired_at if plan.slot_at(fired_at) else next(plan.before(fired_at)))
    return plan.require(parse_instant(given, fired_at))


def _wish(
    plan: Schedule, slot: Slot, typed: Options, fired: Fired, *, by_hand: bool, within: timedelta | None, overlap: str
) -> Wish:
    return Wish(
        slot=slot.at,
        fired_at=fired.at,
        on_time=None if by_hand else plan.on_time(slot.at),
        overlap=Overlap(overlap),
        start_within=within,
        min_interval=typed.min_interval,
    )


class _Zone:
    """An implied zone is held against the one that the task was last seen with, once that is known."""

    def __init__(self, flag: str | None, found: Settings, expression: str, at: datetime) -> None:
        self._flag, self._setting, self._expression, self._at = flag, found.tz, expression, at

    def object_to(self, facts: Facts) -> None:
        """Raises ZoneAmbiguous."""
        if self._flag is None and self._setting is None and facts.line is not None:
            zones.resolve(None, None, os.environ, expression=self._expression, at=self._at, known=facts.line)
