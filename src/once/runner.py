"""The story of one run, told through ports: admission, spawn, beats and supervision, record, and the exit status.

    splay → admission ─┬─ turned away ──────────────────────────────────▶ the status of a skip
                       └─ admitted → trusted still? → spawn → keep and watch → record → flush → the command's status

Signals: until admission they end `once` at once. From the claim on they are noted, since a run is at stake: one that
came between claim and spawn makes the run `stopped`, later ones go to the command.
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from once import wording
from once.admission import Admission, Admitted, Patience, TurnedAway
from once.clock import Clock, Fired
from once.command import Command, Spawn
from once.errors import CommandNotExecutable, CommandNotFound, LeaseLost, OnceError, Unreachable
from once.instants import rfc3339
from once.journal import Journal
from once.keeper import Keeper
from once.lease import ANSWERS_WITHIN, KEEPS_NO_CONNECTION
from once.recording import Recorder, ending_of, exit_status
from once.run import Ending, Hold, Outcome
from once.signals import Arrivals
from once.store.base import Beat, Claim, Store
from once.supervision import Limits, Supervision, Watched
from once.verdict import Facts
from once.voice import Voice


class Start(NamedTuple):
    """What one start of `once run` or `once lock` is to do. `environ` is what the command inherits."""

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
    object_to: Callable[[Facts], None] = lambda _facts: None


class Ports(NamedTuple):
    """What a run needs of the world.

    `open_store` makes a new, unconnected store, whose answers are waited for so long; the keeper has one of its own.
    """

    open_store: Callable[[timedelta], Store]
    clock: Clock
    spawn: Spawn
    arrivals: Arrivals
    journal: Journal
    voice: Voice


class Runner:
    """Runs one start to its end."""

    def __init__(self, start: Start, ports: Ports) -> None:
        self._start, self._ports = start, ports
        self._store = ports.open_store(ANSWERS_WITHIN)

    def run(self) -> int:
        """The exit status. Raises what kept the command from running, and LeaseLost when that killed it."""
        self._splay()
        answer = self._admission().seek()
        if isinstance(answer, TurnedAway):
            return self._turned_away(answer)
        return self._run_as_holder(answer)

    def rehearse(self) -> int:
        """Say what would happen and why; nothing is written, nothing is run."""
        verdict, _facts = self._admission().look()
        self._ports.voice.insist(wording.rehearsal(verdict, self._start.claim))
        return 0

    def _admission(self) -> Admission:
        return Admission(
            self._start.claim,
            store=self._store,
            clock=self._ports.clock,
            fired=self._start.fired,
            arrivals=self._ports.arrivals,
            journal=self._ports.journal,
            patience=self._start.patience,
            voice=self._ports.voice,
            object_to=self._start.object_to,
        )

    def _splay(self) -> None:
        """Wait a part of --splay that is the same each time for this host, task and slot."""
        longest = self._start.splay.total_seconds()
        if longest:
            claim = self._start.claim
            name = f"{claim.holder.host}\n{claim.task}\n{claim.slot.at if claim.slot else ''}"
            self._ports.clock.sleep(longest * zlib.crc32(name.encode(errors="surrogateescape")) / 2**32)

    def _turned_away(self, answer: TurnedAway) -> int:
        line = wording.skipped(answer.skip, self._start.claim)
        if answer.recorded or answer.skip.reason in wording.SPEAKS:
            self._ports.voice.say(line)
        else:
            self._ports.voice.mention(line)
        return self._start.skip_code

    def _run_as_holder(self, admitted: Admitted) -> int:
        late = wording.off_schedule(self._start.claim)
        if late:
            self._ports.voice.say(late)
        try:
            admitted = self._still_trusted(admitted)
        except OnceError as error:
            self._record(admitted, self._never_ran(Outcome.STOPPED, f"the command never began: {error.message}", None))
            raise
        if self._ports.arrivals.waiting():
            return self._stopped_before_spawn(admitted)
        try:
            command = self._spawn(admitted)
        except (CommandNotFound, CommandNotExecutable) as error:
            self._record(admitted, self._never_ran(Outcome.FAILED, error.message, type(error).wrapping))
            raise
        return self._supervise(admitted, command)

    def _still_trusted(self, admitted: Admitted) -> Admitted:
        """A claim that took long to be answered is worth one beat before anything is spawned."""
        lease, clock = admitted.lease, self._ports.clock
        if clock.boottime() < lease.sent + lease.beat_every.total_seconds():
            return admitted
        sent = clock.boottime()
        beat = self._store.beat(admitted.hold, lease.length)
        if not beat.ours:
            raise Unreachable(
                store=self._store.name, why=f"it answered too late, and run {admitted.hold.number} is gone"
            )
        return Admitted(admitted.hold, admitted.attempt, lease.extended(sent=sent), admitted.facts)

    def _spawn(self, admitted: Admitted) -> Command:
        environ = command_environ(self._start, admitted)
        command = self._ports.spawn(self._start.argv, env=environ, tail=self._start.tail)
        if command.escaped:
            self._ports.voice.say("the command changes its user: it cannot be frozen or stopped if the lease is lost")
        return command

    def _supervise(self, admitted: Admitted, command: Command) -> int:
        clock = self._ports.clock
        started_at, began = clock.now(), clock.boottime()
        self._store.close()
        keeper = self._keeper(admitted, command, started_at)
        keeper.start()
        gc.freeze()
        gc.enable()
        watched = Supervision(command, keeper, self._start.limits, clock=clock, voice=self._ports.voice).watch()
        duration = timedelta(seconds=watched.exited.at_boottime - began)
        ending = ending_of(watched, output=command.output(), started_at=started_at, duration=duration)
        self._record(admitted, ending)
        keeper.stop()
        command.drain(float("inf"))
        return self._status(watched, admitted.hold)

    def _keeper(self, admitted: Admitted, command: Command, started_at: datetime) -> Keeper:
        lease, hold = admitted.lease, admitted.hold
        store = self._ports.open_store(lease.answer_within)

        def beat() -> Beat:
            try:
                return store.beat(hold, lease.length, started_at=started_at)
            finally:
                if lease.beat_every >= KEEPS_NO_CONNECTION:
                    store.close()

        return Keeper(lease, beat=beat, clock=self._ports.clock, news=command.wake)

    def _stopped_before_spawn(self, admitted: Admitted) -> int:
        signum = self._ports.arrivals.take() or 0
        self._record(admitted, self._never_ran(Outcome.STOPPED, "once was stopped before the command began", None))
        return 128 + signum

    def _never_ran(self, outcome: Outcome, reason: str, status: int | None) -> Ending:
        now = self._ports.clock.now()
        return Ending(outcome=outcome, reason=reason, exit_status=status, finished_at=now, duration=timedelta())

    def _record(self, admitted: Admitted, ending: Ending) -> None:
        Recorder(
            store=self._store,
            identity=admitted.facts.identity,
            journal=self._ports.journal,
            clock=self._ports.clock,
            voice=self._ports.voice,
            lasting=self._start.lasting,
        ).record(admitted.hold, ending)

    def _status(self, watched: Watched, hold: Hold) -> int:
        if watched.killed_as_lost:
            raise LeaseLost(task=hold.task, number=hold.number, why=watched.lost)
        status = exit_status(watched)
        if watched.timed_out:
            self._ports.voice.insist(wording.timed_out(hold, self._start.limits))
        return status


def command_environ(start: Start, admitted: Admitted) -> dict[str, str]:
    """What the command finds in its environment: everything inherited, and what it is run for."""
    claim, facts = start.claim, admitted.facts
    environ = dict(start.environ)
    environ.update(ONCE_TASK=claim.task, ONCE_RUN=str(admitted.hold.number), ONCE_ATTEMPT=str(admitted.attempt))
    for name in ("ONCE_SLOT", "ONCE_SLOT_EPOCH", "ONCE_PREVIOUS_SUCCESS"):
        environ.pop(name, None)
    if claim.slot is not None:
        environ.update(ONCE_SLOT=rfc3339(claim.slot.at), ONCE_SLOT_EPOCH=str(int(claim.slot.at.timestamp())))
    if facts.previous_success is not None:
        environ["ONCE_PREVIOUS_SUCCESS"] = rfc3339(facts.previous_success)
    return environ
