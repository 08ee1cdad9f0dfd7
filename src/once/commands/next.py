"""`once next`: what a schedule means in plain words, and its slots in local time and in UTC."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import click

from once import settings
from once.clock import SystemClock
from once.commands.opening import place
from once.commands.options import Number, as_json, database
from once.errors import NoSuchTask, ScheduleUnclear, TaskHasNoSchedule
from once.instants import parse_instant, rfc3339
from once.render import Answer
from once.run import task_name
from once.schedule import Schedule, zones
from once.schedule.notes import clock_note
from once.schedule.slots import BEGINNING, END
from once.schedule.words import in_words

TITLES = ("LOCAL TIME", "UTC", "NOTE")
MOST = 10_000
NO_MORE = f"There are no more: slots are looked for in the years {BEGINNING.year} to {END.year - 1}."


@click.command("next", short_help="What a schedule means, and its next slots.")
@click.argument("words", metavar="[EXPR]", nargs=-1)
@click.option("--task", metavar="NAME", help="The schedule that this task was last seen with, instead of EXPR.")
@click.option("--tz", metavar="ZONE", help="The time zone of EXPR; default: ONCE_TZ, then the host's.")
@click.option("--at", metavar="WHEN", help="List slots after this instant; default: now.")
@click.option("--count", metavar="N", type=Number(1, MOST), default=5, help="How many slots to list.  [default: 5]")
@click.option("--back", is_flag=True, help="List slots before the instant, the latest first.")
@database
@as_json
def next_slots(
    *,
    words: tuple[str, ...],
    task: str | None,
    tz: str | None,
    at: str | None,
    count: int,
    back: bool,
    db: str | None,
    as_json: bool,
) -> Answer:
    """Say what EXPR means and list its next slots, in local time and in UTC. EXPR stands in quotes.

    \b
    Example:
      once next "30 2 * * *" --tz Europe/Berlin
    """
    now = SystemClock().now()
    start = now if at is None else parse_instant(at, now)
    if task is not None and not words:
        name, schedule = _of_task(task, tz, db)
        heading = f"{name}: {_meaning(schedule)}"
    else:
        schedule = _typed(words, task, tz, now)
        heading = _meaning(schedule)
    items = [_item(schedule, slot) for slot in islice(schedule.before(start) if back else schedule.after(start), count)]
    return Answer(
        verb="next",
        heading=[heading, ""],
        items=items,
        titles=TITLES,
        rows=_rows(schedule, items),
        lines=[NO_MORE] if len(items) < count else [],
        as_json=as_json,
    )


def _typed(words: tuple[str, ...], task: str | None, tz: str | None, now: datetime) -> Schedule:
    """The schedule of an expression, in the zone that `once run` would take. Raises ScheduleUnclear, …Invalid."""
    if task is not None:
        raise ScheduleUnclear(why="both an expression and --task are given")
    if not words:
        raise ScheduleUnclear(why="neither an expression nor --task is given")
    if len(words) > 1:
        raise ScheduleUnclear(why=f"the expression came in {len(words)} pieces, since it was not in quotes")
    zone = zones.resolve(tz, settings.resolve(os.environ).tz, os.environ, expression=words[0], at=now)
    return Schedule.parse(words[0], zone)


def _of_task(task: str, tz: str | None, db: str | None) -> tuple[str, Schedule]:
    """The task's full name and the schedule that it was last seen with. Raises NoSuchTask, TaskHasNoSchedule."""
    if tz is not None:
        raise ScheduleUnclear(why="--tz is given, but the task's schedule has a zone of its own")
    where = place(db)
    name = task_name(task, scope=where.settings.scope)
    found = where.read().task(name)
    if found is None:
        raise NoSuchTask(task=name)
    if found.line is None:
        raise TaskHasNoSchedule(task=name)
    return name, Schedule.of(found.line)


def _meaning(schedule: Schedule) -> str:
    fired_by = ", as Kubernetes fires it" if schedule.engine == "kubernetes" else ""
    return f'"{schedule.expression}" means {in_words(schedule)}{fired_by}'


def _item(schedule: Schedule, at: datetime) -> dict[str, Any]:
    slot = schedule.slot_of(at)
    return {
        "slot": at,
        "local": slot.local,
        "zone": schedule.zone,
        "fold": slot.fold,
        "note": clock_note(schedule, at),
    }


def _rows(schedule: Schedule, items: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    said = None
    for item in items:
        note, said = ("" if item["note"] == said else item["note"]), item["note"]
        yield _with_weekday(schedule.local(item["slot"])), rfc3339(item["slot"]), note or ""


def _with_weekday(local: datetime) -> str:
    """`Sun 2026-03-29 03:00 +02:00`."""
    clock, offset = local.replace(tzinfo=None), local.isoformat()[len("2026-03-29T03:00:00") :]
    return f"{local:%a} {clock.isoformat(' ', 'seconds' if local.second else 'minutes')} {offset}"
