"""`once rerun`: a slot's next attempt, here, by hand."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import click

from once import clock, host, missing
from once.clock import Fired, SystemClock
from once.commands import acting, telling, wrapping
from once.commands.acting import Act
from once.commands.looking import many
from once.commands.wrapping import Asked
from once.errors import (
    CommandNotRecorded,
    CommandOfAnother,
    NobodyToAsk,
    NotConfirmed,
    OnceError,
    RerunUnclear,
    SlotInFuture,
    TaskHasNoSchedule,
)
from once.instants import parse_instant, rfc3339
from once.run import Hold, Slot, Task, fingerprint
from once.schedule import Schedule
from once.signals import Arrivals
from once.stdio import STDERR
from once.store.base import Store
from once.verdict import Wish
from once.voice import write_line

NOT_RUN = 75
"""The exit status when another run is in the way."""

LOOKED_THROUGH = 200_000
"""Rows, for a start that was not by hand: there may be as many skips and excuses since."""

DB_WAIT = timedelta(seconds=30)


@click.command(short_help="A slot's next attempt, here, by hand.")
@click.argument("task")
@click.option("--slot", metavar="WHEN", help="The slot: an instant, or `last`.  [default: a run without a slot]")
@click.option("--missed", is_flag=True, help="Every slot that `once gaps` lists, oldest first.")
@click.option("--since", metavar="WHEN", help="With --missed: since when.  [default: 7d, a week ago]")
@click.option("--again", is_flag=True, help="Run the slot even if it has succeeded.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@acting.reason
@wrapping.limits
@wrapping.database_options
@wrapping.talk
@click.argument("argv", metavar="[-- COMMAND [ARG]...]", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def rerun(
    arrivals: Arrivals,
    /,
    *,
    task: str,
    slot: str | None,
    missed: bool,
    since: str | None,
    again: bool,
    yes: bool,
    reason: str | None,
    argv: tuple[str, ...],
    **given: Any,
) -> int:
    """Run a slot of TASK again, by its next attempt: the command that is recorded, or COMMAND.

    \b
    Example:
      once rerun weekly-report --slot last
    """
    if (missed and slot is not None) or (since is not None and not missed):
        raise RerunUnclear
    fired = clock.fired(SystemClock())
    found = wrapping.resolved()
    asked = acting.act(given["db"], reason)
    known = asked.known(task)
    command = argv or _recorded(asked.store, known)
    typed = wrapping.options({**given, **wrapping.BY_HAND, "task": task, "argv": command}, found)
    slots = list(_slots(asked, known, slot, missed=missed, since=since))
    if not slots:
        write_line(f"once rerun: {known.name}: no slot was missed")
        return 0
    now = asked.store.now()
    asked.store.close()  # whoever is asked may be long
    if not yes and not typed.dry_run:
        _confirm(known, slots, command, now)
    for left, one in zip(range(len(slots) - 1, -1, -1), slots, strict=True):
        runner = wrapping.prepared(typed, _asked(known, one, asked, fired, again=again), found, arrivals)
        if runner is None:
            return NOT_RUN
        status = runner.rehearse() if typed.dry_run else runner.run()
        if status or runner.was_stopped:
            if left:
                write_line(f"once rerun: {known.name}: NOT run: {many(left, 'later slot')}, after status {status}")
            return status
        arrivals.raise_again()
    return 0


def _slots(asked: Act, task: Task, given: str | None, *, missed: bool, since: str | None) -> Iterator[Slot | None]:
    """What is to be run. Raises TaskHasNoSchedule, SlotInFuture, and what reading an instant raises."""
    if given is None and not missed:
        yield None
        return
    if task.line is None:
        raise TaskHasNoSchedule(task=task.name)
    now, schedule = asked.store.now(), Schedule.of(task.line)
    if given is not None:
        at = acting.slot_named(asked.store, task, given, now)
        if at > now:
            raise SlotInFuture(slot=rfc3339(at))
        yield schedule.slot_of(at)
        return
    for gap in missing.missing(asked.store, task, since=parse_instant(since or "7d", now), until=now):
        yield schedule.slot_of(gap.first)


def _recorded(store: Store, task: Task) -> tuple[str, ...]:
    """The command of the newest start, by the schedule if there is one, if it may be repeated here.

    Raises CommandNotRecorded, CommandOfAnother.
    """
    rows = store.runs(task.name, limit=LOOKED_THROUGH)
    run = next((run for run in rows if run.outcome.was_started and not run.by_hand), None) or store.run(task.name)
    if run is None or not run.command or fingerprint(run.command) != run.command_hash:
        raise CommandNotRecorded(task=task.name)
    us = host.user_name()
    if run.user != us:
        raise CommandOfAnother(number=run.number, theirs=run.user, ours=us, command=shlex.join(run.command))
    return run.command


def _confirm(task: Task, slots: list[Slot | None], command: tuple[str, ...], now: datetime) -> None:
    """Raises NobodyToAsk without a terminal, NotConfirmed for any answer but yes."""
    for line in (
        f"{task.name}: {_subject(task, slots)}",
        f"command: {shlex.join(command)}",
        f"it runs here, on {os.uname().nodename} as {host.user_name()}, in {_directory()}, with this environment",
    ):
        write_line(line)
    if standing := telling.standing(task, now):
        write_line(f"the task is {standing}")
    if not (sys.stdin and sys.stdin.isatty() and os.isatty(STDERR)):
        raise NobodyToAsk
    try:
        said_yes = click.confirm("Run it?", err=True)
    except click.Abort:  # the end of the input, in the middle of the line
        write_line("")
        said_yes = False
    if not said_yes:
        raise NotConfirmed


def _subject(task: Task, slots: list[Slot | None]) -> str:
    first, last = slots[0], slots[-1]
    if first is None or last is None:
        return "a run without a slot"
    zone = task.line.zone if task.line else ""
    one = f"slot {first.local.replace('T', ' ')} {zone} ({rfc3339(first.at)})"
    return one if len(slots) == 1 else f"{len(slots)} slots, {one} to {rfc3339(last.at)}"


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a directory that is gone"


def _asked(task: Task, slot: Slot | None, asked: Act, fired: Fired, *, again: bool) -> Asked:
    by = asked.by

    def noted(store: Store, hold: Hold) -> None:
        try:
            store.note_rerun(hold, slot.at if slot else None, by=by)
        except OnceError as error:  # the run's row says `by hand` all the same
            write_line(f"once rerun: {task.name}: who did this was not noted: {error.message}")

    wish = Wish(slot=slot.at if slot else None, fired_at=fired.at, attempts=None, rerun=True, again=again)
    return Asked(
        verb="rerun",
        fired=fired,
        slot=slot,
        line=task.line if slot else None,
        wish=wish,
        db_wait=DB_WAIT,
        by_hand=True,
        mirrors=True,
        noted=noted,
    )
