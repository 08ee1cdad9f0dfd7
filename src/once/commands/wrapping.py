"""What `once run` and `once lock` share: their common options, and the way from options to a Runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import click

from once import embedded, host, settings
from once.clock import Fired, SystemClock
from once.command import Command, Limits, PastLease
from once.commands.opening import WITHHELD, Place, place
from once.commands.options import DURATION, SIGNAL, Number, database, stacked
from once.errors import CommandMissing, DurationInvalid, SettingsUnreadable, WaitContradicted
from once.instants import in_words
from once.journal import Journal
from once.lease import SHORTEST
from once.noun import Noun
from once.run import Hold, Line, Slot, fingerprint, task_name
from once.runner import Runner
from once.settings import KEEP, Settings
from once.signals import Arrivals
from once.start import CatchUp, Patience, Ports, Start
from once.stdio import STDERR
from once.store.base import Claim, Store
from once.store.connect import carries_password
from once.verdict import Facts, Wish
from once.voice import Voice

LEASE = timedelta(minutes=5)
MAX_SKEW = timedelta(seconds=60)
TAIL = 16384

task = click.option("--task", metavar="NAME", required=True, help="The name under which the runs are recorded.")

distances = stacked(
    click.option(
        "--min-interval",
        type=DURATION,
        default=timedelta(),
        help="Skip when the task's last start was less than this ago.",
    ),
    click.option(
        "--splay",
        type=DURATION,
        default=timedelta(),
        help="First wait up to this long, the same on each host every time.",
    ),
)

limits = stacked(
    click.option("--lease", type=DURATION, help="How long a holder is trusted without news.  [default: 5m]"),
    click.option("--timeout", type=DURATION, help="Stop the command after this; exit status 124. 0: no limit."),
    click.option(
        "-k",
        "--kill-after",
        type=DURATION,
        default=timedelta(seconds=10),
        help="SIGKILL this long after the stop signal.  [default: 10s]",
    ),
    click.option(
        "-s", "--stop-signal", type=SIGNAL, default="TERM", help="The signal that --timeout sends.  [default: TERM]"
    ),
    click.option(
        "--past-lease",
        type=click.Choice([choice.value for choice in PastLease]),
        default=PastLease.FREEZE.value,
        help="What happens to the command when the lease cannot be extended.  [default: freeze]",
    ),
    click.option(
        "--tail",
        metavar="BYTES",
        type=Number(min=0),
        help="How much of the end of the output to keep; 0: none.  [default: 16384]",
    ),
)

skip_code = click.option(
    "-E",
    "--skip-code",
    metavar="N",
    type=Number(0, 255),
    default=0,
    help="Exit status when the command is skipped.  [default: 0]",
)

waiting = stacked(
    click.option("-w", "--wait", type=DURATION, help="How long to wait for the other run.  [default: no limit]"),
    click.option("-n", "--no-wait", is_flag=True, help="Do not wait."),
)

database_options = stacked(
    database,
    click.option("--db-wait", type=DURATION, help="How long to try a database that is out of reach."),
    click.option(
        "--max-skew",
        type=DURATION,
        help="Run nothing when the host's and the database's clocks differ by more.  [default: 60s]",
    ),
)

db_down = click.option(
    "--db-down",
    type=click.Choice(["fail", "run"]),
    default="fail",
    help="What to do when the database stays out of reach; `run`: unguarded.  [default: fail]",
)

talk = stacked(
    click.option("--dry-run", is_flag=True, help="Say what would happen and why; run and record nothing."),
    click.option("-v", "--verbose", is_flag=True, help="Say more."),
    click.option("-q", "--quiet", is_flag=True, help="Only say why the exit status is not the command's own."),
)

argv = click.argument("argv", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED)


BY_HAND = {"min_interval": timedelta(), "splay": timedelta(), "skip_code": 75, "db_down": "fail"}
"""What an operator's run has instead of the options of a crontab line: only another run is in its way."""


class Options(Noun):
    """The common options as they were typed; None where a setting or a default is to decide."""

    task: str
    argv: tuple[str, ...]
    min_interval: timedelta
    splay: timedelta
    lease: timedelta | None
    timeout: timedelta | None
    kill_after: timedelta
    stop_signal: int
    past_lease: str
    tail: int | None
    skip_code: int
    db: str | None
    db_wait: timedelta | None
    max_skew: timedelta | None
    db_down: str
    dry_run: bool
    verbose: bool
    quiet: bool


class Asked(Noun):
    """What is particular to the verb: which slot, if any, and how long to wait for what."""

    verb: str
    fired: Fired
    wish: Wish
    db_wait: timedelta
    slot: Slot | None = None
    line: Line | None = None
    wait: timedelta | None = timedelta()
    by_hand: bool = False
    retry_delay: timedelta = timedelta(seconds=10)
    catch_up: CatchUp = CatchUp()
    mirrors: bool = False
    unbroken_since: datetime | None = None
    note: str = ""
    noted: Callable[[Store, Hold], None] = lambda _store, _hold: None
    object_to: Callable[[Facts, Slot | None], None] = lambda _facts, _slot: None


def options(given: dict[str, Any], settings_found: Settings) -> Options:
    """The common options, checked. Raises CommandMissing, TaskNameInvalid, DurationInvalid."""
    typed = Options(**given)
    lease = first_given(typed.lease, settings_found.lease, LEASE)
    if lease < SHORTEST:
        where = "--lease" if typed.lease is not None else "the setting lease,"
        why = f" to trust: a lease is {in_words(SHORTEST)} at least"
        raise DurationInvalid(text=f"{where} {in_words(lease)}", why=why)
    return typed.replaced(task=task_name(typed.task, scope=settings_found.scope), lease=lease)


def longest_wait(
    wait: timedelta | None, *, no_wait: bool, waits: bool, repair: str, replaces: bool = False
) -> timedelta | None:
    """How long to wait for another run; None: without end. `waits`: the policy is one that waits at all.

    `replaces`: it has the other run stopped, which is pointless without a wait for its end.

    Raises WaitContradicted where the options say both that it waits and that it does not.
    """
    if wait is not None and no_wait:
        raise WaitContradicted(wait=_wait_text(wait), other="--no-wait", repair="one of the two")
    if replaces and (no_wait or wait == timedelta()):
        typed = "--no-wait" if no_wait else _wait_text(timedelta())
        raise WaitContradicted(wait=typed, other="--overlap replace", repair="a longer --wait, or --overlap skip")
    if wait and not waits:
        raise WaitContradicted(wait=_wait_text(wait), other="--overlap skip", repair=repair)
    return timedelta() if no_wait else wait


def _wait_text(wait: timedelta) -> str:
    return f"--wait {in_words(wait)}"


def require_command(typed: Options, verb: str) -> None:
    """Raises CommandMissing."""
    if not typed.argv or not typed.argv[0]:
        raise CommandMissing(verb=verb)


def begin(typed: Options, asked: Asked, found: Settings, arrivals: Arrivals) -> int:
    """Run it, or say why not; the exit status."""
    runner = prepared(typed, asked, found, arrivals)
    if runner is None:
        return typed.skip_code
    return runner.rehearse() if typed.dry_run else runner.run()


def prepared(typed: Options, asked: Asked, found: Settings, arrivals: Arrivals) -> Runner | None:
    """A runner for it; None where this host is switched off."""
    voice = Voice(f"once {asked.verb}", typed.task, typed.verbose, typed.quiet, os.isatty(STDERR))
    if found.off:
        tell = voice.say if asked.by_hand else voice.mention
        tell("nothing was run: this host is switched off (off = true, or ONCE_OFF)")
        return None
    where = place(typed.db, known=found)
    runner = Runner(_start(typed, asked, where, voice), _ports(where, arrivals, voice))  # an address may be refused
    if typed.db and carries_password(typed.db):
        voice.mention(
            "the password in --db shows in the list of processes; set db in /etc/once.toml, or --db file:PATH"
        )
    if asked.note:
        voice.say(asked.note)
    return runner


def _start(typed: Options, asked: Asked, where: Place, voice: Voice) -> Start:
    found = where.settings
    assert typed.lease is not None
    claim = Claim(
        task=typed.task,
        token=os.urandom(16).hex(),
        wish=asked.wish,
        slot=asked.slot,
        line=asked.line,
        lease=typed.lease,
        holder=host.holder(os.environ),
        command=typed.argv if found.record_args else typed.argv[:1],
        command_hash=fingerprint(typed.argv),
        by_hand=asked.by_hand,
        unbroken_since=asked.unbroken_since,
    )
    tail = typed.tail if typed.tail is not None else found.tail
    return Start(
        argv=typed.argv,
        claim=claim,
        fired=asked.fired,
        environ=_inherited(),
        patience=Patience(
            db_wait=first_given(typed.db_wait, found.db_wait, asked.db_wait),
            wait=asked.wait,
            max_skew=first_given(typed.max_skew, found.max_skew, MAX_SKEW),
        ),
        limits=Limits(
            timeout=typed.timeout or None,
            kill_after=typed.kill_after,
            stop_signal=typed.stop_signal,
            past_lease=PastLease(typed.past_lease),
        ),
        splay=typed.splay,
        tail=TAIL if tail is None else tail,
        skip_code=typed.skip_code,
        lasting=found.state_dir_given or not host.in_container(os.environ),
        keep=KEEP if found.keep is None else found.keep,
        retry_delay=asked.retry_delay,
        catch_up=asked.catch_up,
        mirrors=asked.mirrors,
        runs_unguarded=typed.db_down == "run",
        noted=asked.noted,
        object_to=_looked(asked, where, voice),
    )


def _looked(asked: Asked, where: Place, voice: Voice) -> Callable[[Facts, Slot | None], None]:
    """What to do when the database has answered, before anything is claimed."""
    is_new = where.by_default and where.is_missing

    def object_to(facts: Facts, slot: Slot | None) -> None:
        if where.file is None:
            embedded.note_use(where.settings.state_dir, where.shown)
        if is_new:
            for line in embedded.FIRST_TIME:
                voice.say(line.format(file=where.file))
        asked.object_to(facts, slot)

    return object_to


def _ports(where: Place, arrivals: Arrivals, voice: Voice) -> Ports:
    def spawn(argv: Sequence[str], *, env: Mapping[str, str], tail: int) -> Command:
        from once.child import spawn  # what only a winner needs

        return spawn(argv, env=env, tail=tail, arrivals=arrivals)

    return Ports(
        open_store=where.open,
        clock=SystemClock(),
        spawn=spawn,
        arrivals=arrivals,
        journal=Journal(where.journal),
        voice=voice,
    )


def _inherited() -> dict[str, str]:
    """The command's environment, less an address that carries a password.

    A nested `once` must not fall back to a file for want of it, so something that names no database takes its place.
    """
    environ = host.environment()
    if "ONCE_DB" in environ and carries_password(environ["ONCE_DB"]):
        environ["ONCE_DB"] = WITHHELD
    return environ


def resolved() -> Settings:
    """The settings of this start. Raises SettingInvalid, SettingsUnreadable.

    A file that may not be read may say that this host is switched off, or put a scope before the task.
    """
    found = settings.resolve(os.environ)
    if found.unreadable:
        raise SettingsUnreadable(files=", ".join(found.unreadable), user=host.user_name())
    return found


def first_given(*durations: timedelta | None) -> timedelta:
    """The first that was given. Zero is given: `or` would take it for nothing."""
    return next(duration for duration in durations if duration is not None)
