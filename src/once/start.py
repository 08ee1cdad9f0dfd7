"""What one start is asked to do, and what it needs of the world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from once.clock import Clock, Fired
from once.command import Limits, Spawn
from once.journal import Journal
from once.noun import Noun
from once.run import Hold, Slot
from once.signals import Arrivals
from once.store.base import Claim, Store
from once.verdict import Facts
from once.voice import Voice


class Patience(Noun):
    """How long to wait: for a database that is away, and for another run that is in the way (None: for ever)."""

    db_wait: timedelta
    wait: timedelta | None = timedelta()
    max_skew: timedelta = timedelta(seconds=60)


class CatchUp(Noun):
    """How many of the newest slots that nobody ran are run first, and how far back they may lie."""

    slots: int = 0
    window: timedelta = timedelta(days=7)


class Start(Noun):
    """What one start of `once run` or `once lock` is to do. `environ` is what the command inherits.

    After a success, history older than `keep` is forgotten; zero: never. The holder repeats a failure itself,
    `retry_delay` after it, while the slot has attempts left. `mirrors`: a start that finds its slot taken exits with
    the status of whoever took it. `noted` is called with the held run before its command begins.
    `runs_unguarded`: without any claim, if the database stays away. `object_to` is called with what is known before a
    claim of the slot, and may raise.
    """

    argv: tuple[str, ...]
    claim: Claim
    fired: Fired
    environ: Mapping[str, str]
    patience: Patience
    limits: Limits = Limits()
    splay: timedelta = timedelta()
    tail: int = 16384
    skip_code: int = 0
    lasting: bool = True
    keep: timedelta = timedelta()
    retry_delay: timedelta = timedelta(seconds=10)
    catch_up: CatchUp = CatchUp()
    mirrors: bool = False
    runs_unguarded: bool = False
    noted: Callable[[Store, Hold], None] = lambda _store, _hold: None
    object_to: Callable[[Facts, Slot | None], None] = lambda _facts, _slot: None


class Ports(Noun):
    """What a run needs of the world.

    `open_store` makes a new store, not connected yet, that waits so long for each answer; the keeper has its own.
    """

    open_store: Callable[[timedelta], Store]
    clock: Clock
    spawn: Spawn
    arrivals: Arrivals
    journal: Journal
    voice: Voice
