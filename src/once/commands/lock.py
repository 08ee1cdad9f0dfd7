"""`once lock`: no slot, mutual exclusion only, like flock(1) across hosts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from once import clock
from once.clock import SystemClock
from once.commands import wrapping
from once.commands.wrapping import Asked
from once.signals import Arrivals
from once.verdict import Overlap, Wish

DB_WAIT = timedelta(seconds=30)


@click.command(short_help="One at a time on any number of hosts, like flock(1).")
@wrapping.task
@click.option(
    "--overlap",
    type=click.Choice([Overlap.SKIP.value, Overlap.WAIT.value]),
    default=Overlap.WAIT.value,
    help="What to do while another run is alive.  [default: wait]",
)
@wrapping.waiting
@wrapping.distances
@wrapping.limits
@wrapping.skip_code
@wrapping.database_options
@wrapping.db_down
@wrapping.talk
@wrapping.argv
@click.pass_obj
def lock(arrivals: Arrivals, /, *, overlap: str, wait: timedelta | None, no_wait: bool, **given: Any) -> int:
    """Run COMMAND while no other run of the task is alive, on any number of hosts.

    \b
    Example:
      once lock --task deploy -w 10m -- ./deploy.sh
    """
    fired = clock.fired(SystemClock())
    found = wrapping.resolved()
    typed = wrapping.options(given, found)
    wrapping.require_command(typed, "lock")
    policy = Overlap.SKIP if no_wait else Overlap(overlap)
    asked = Asked(
        verb="lock",
        fired=fired,
        wish=Wish(slot=None, fired_at=fired.at, overlap=policy, min_interval=typed.min_interval),
        wait=wrapping.longest_wait(wait, no_wait=no_wait, waits=policy is Overlap.WAIT, repair="one of the two"),
        db_wait=DB_WAIT,
    )
    return wrapping.begin(typed, asked, found, arrivals)
