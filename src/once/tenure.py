"""The holder's part of a run: from the claim to the record of its end.

    trusted still? → spawn → keep and watch → record → flush what a slow reader has not taken

A signal that came between claim and spawn makes the run `stopped`, later ones go to the command. Whatever keeps the
command from starting is recorded too: the slot was claimed for it.
"""

from __future__ import annotations

import gc
from datetime import datetime, timedelta

from once import wording
from once.admission import Admitted
from once.clock import LONGEST_WAIT
from once.command import Command, Exited
from once.errors import (
    CannotStart,
    CommandNotExecutable,
    CommandNotFound,
    LeaseLost,
    OnceError,
    Unreachable,
)
from once.instants import DAY, rfc3339
from once.keeper import Keeper
from once.lease import KEEPS_NO_CONNECTION, Lease
from once.recording import Recorder, ending_of, exit_status
from once.run import Ending, Outcome, exit_status_of
from once.start import Ports, Start
from once.store.base import Beat, Recorded, Store
from once.supervision import Supervision, Watched


class Tenure:
    """One held run. `store` is the one that the claim was made with."""

    def __init__(self, start: Start, ports: Ports, store: Store, admitted: Admitted) -> None:
        self._start, self._ports, self._store, self._admitted = start, ports, store, admitted
        self._hold = admitted.hold
        self.is_to_be_repeated = False
        self.was_stopped = False

    def serve(self) -> int:
        """The exit status. Raises what kept the command from running, and LeaseLost when that killed it."""
        late = wording.off_schedule(self._start.claim)
        if late and self._admitted.attempt == 1:
            self._ports.voice.say(late)
        lease = self._trusted_lease()
        if self._ports.arrivals.waiting():
            return self._stopped_before_spawn()
        command = self._spawn()
        watched = self._watch(command, lease)
        command.drain(float("inf"))
        command.close()
        return self._status(watched)

    def _trusted_lease(self) -> Lease:
        """A claim that took long to be answered is worth one beat before anything is spawned."""
        lease, clock = self._admitted.lease, self._ports.clock
        if clock.boottime() < lease.sent + lease.beat_every.total_seconds():
            return lease
        sent = clock.boottime()
        try:
            if self._store.beat(self._hold, lease.length).ours:
                return lease.extended(sent=sent)
            raise Unreachable(store=self._store.name, why=f"it answered late, and run {self._hold.number} is lost")
        except OnceError as error:
            self._record_unbegun(Outcome.STOPPED, f"the command never began: {error.message}")
            raise

    def _stopped_before_spawn(self) -> int:
        self.was_stopped = True
        signum = self._ports.arrivals.take() or 0
        self._record_unbegun(Outcome.STOPPED, "once was stopped before the command began")
        return 128 + signum

    def _spawn(self) -> Command:
        try:
            admitted = self._admitted
            environ = command_environ(
                self._start,
                number=admitted.hold.number,
                attempt=admitted.attempt,
                previous_success=admitted.facts.previous_success,
            )
            command = self._ports.spawn(self._start.argv, env=environ, tail=self._start.tail)
        except (CommandNotFound, CommandNotExecutable) as error:
            self._record_unbegun(Outcome.FAILED, error.message, type(error).wrapping)
            raise
        except OSError as error:  # no process, no memory, no descriptors: the command is not to blame
            self._record_unbegun(Outcome.STOPPED, f"the command could not be started: {error.strerror}")
            raise CannotStart(why=error.strerror) from error
        if command.escaped:
            self._ports.voice.say(
                "the command changes its user, so it cannot be frozen or stopped if the lease is lost"
            )
        return command

    def _watch(self, command: Command, lease: Lease) -> Watched:
        """Beat and watch until the command has ended, and until its end is recorded."""
        clock = self._ports.clock
        started_at, began = clock.now(), clock.boottime()
        self._store.close()
        keeper = self._keeper(command, lease, started_at)
        try:
            keeper.start()
        except RuntimeError as error:  # no thread to be had: without beats the command would soon work past its lease
            why = f"it could not be kept: {error}"
            self._kill_unkept(command, why)
            raise LeaseLost(task=self._hold.task, number=self._hold.number, why=why) from error
        # What start-up has made lives as long as the process: the collector need not look at it again.
        gc.freeze()
        gc.enable()
        watched = Supervision(command, keeper, self._start.limits, clock=clock, voice=self._ports.voice).watch()
        self.was_stopped = watched.stopped_by is not None
        duration = timedelta(seconds=watched.exited.at_boottime - began)
        ending = ending_of(watched, output=command.output(), started_at=started_at, duration=duration)
        if self._has_attempts_left_after(ending):
            ending = ending.replaced(retry_at=ending.finished_at + self._start.retry_delay)
        recorded = self._record(ending)
        keeper.stop()
        # Recorded already: an answer was lost, or another start has delivered it. Admission asks if the slot is free.
        self.is_to_be_repeated = ending.retry_at is not None and recorded in (Recorded.AS_ENDED, Recorded.ALREADY)
        if self.is_to_be_repeated or self._may_precede_another:
            keeper.wait_for_end()
        if recorded is not None and ending.outcome is Outcome.SUCCEEDED:
            self._forget()
        return watched

    @property
    def _may_precede_another(self) -> bool:
        """Whether this process may go on to another slot, and so to another fork."""
        wish = self._start.claim.wish
        return wish.catches_up or wish.rerun

    def _kill_unkept(self, command: Command, why: str) -> None:
        command.kill()
        while not isinstance(event := command.wait(LONGEST_WAIT), Exited):
            pass
        status, _signal = exit_status_of(event.wait_status)
        self._record_unbegun(Outcome.FAILED, f"killed: the lease was lost, {why}", status)

    def _has_attempts_left_after(self, ending: Ending) -> bool:
        """Whether the holder itself is to repeat it. What was stopped or taken away is for a later start."""
        attempts = self._start.claim.wish.attempts
        failed = ending.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        return failed and attempts is not None and self._admitted.facts.used + 1 < attempts

    def _keeper(self, command: Command, lease: Lease, started_at: datetime) -> Keeper:
        store = self._ports.open_store(lease.answer_within)

        def beat() -> Beat:
            try:
                return store.beat(self._hold, lease.length, started_at=started_at)
            finally:
                if lease.beat_every >= KEEPS_NO_CONNECTION:
                    store.close()

        return Keeper(lease, beat=beat, clock=self._ports.clock, news=command.wake)

    def _status(self, watched: Watched) -> int:
        if watched.killed_as_lost:
            raise LeaseLost(task=self._hold.task, number=self._hold.number, why=watched.lost)
        if watched.timed_out:
            self._ports.voice.insist(wording.timed_out(f"run {self._hold.number}", self._start.limits))
        return exit_status(watched)

    def _record_unbegun(self, outcome: Outcome, reason: str, status: int | None = None) -> None:
        now = self._ports.clock.now()
        self._record(Ending(outcome=outcome, reason=reason, exit_status=status, finished_at=now, duration=timedelta()))

    def _forget(self) -> None:
        """Prune a page of what is older than `keep`, on the connection that the record went over.

        With slack, so that most successes cost one look by the key, and about one a day a short transaction. If it
        fails, the next success does it.
        """
        keep = self._start.keep
        if not keep:
            return
        try:
            self._store.prune(self._hold.task, keep, slack=min(keep / 10, DAY))
        except OnceError as error:
            self._ports.voice.detail(f"old history was not pruned: {error.message}")

    def _record(self, ending: Ending) -> Recorded | None:
        return Recorder(
            store=self._store,
            identity=self._admitted.facts.identity,
            journal=self._ports.journal,
            clock=self._ports.clock,
            voice=self._ports.voice,
            lasting=self._start.lasting,
        ).record(self._hold, ending, slot=self._start.claim.wish.slot)


def command_environ(
    start: Start, *, number: int, attempt: int, previous_success: datetime | None = None
) -> dict[str, str]:
    """What the command finds in its environment: everything inherited, and what it is run for."""
    claim = start.claim
    environ = dict(start.environ)
    environ.update(ONCE_TASK=claim.task, ONCE_RUN=str(number), ONCE_ATTEMPT=str(attempt))
    for name in ("ONCE_SLOT", "ONCE_SLOT_EPOCH", "ONCE_PREVIOUS_SUCCESS"):
        environ.pop(name, None)
    if claim.slot is not None:
        environ.update(ONCE_SLOT=rfc3339(claim.slot.at), ONCE_SLOT_EPOCH=str(int(claim.slot.at.timestamp())))
    if previous_success is not None:
        environ["ONCE_PREVIOUS_SUCCESS"] = rfc3339(previous_success)
    return environ
