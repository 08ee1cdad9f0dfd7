"""The end of a run: what it counts as, and how it reaches the table; if need be later, through the journal.

Nothing here changes the exit status of the command, and nothing here raises.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from datetime import datetime, timedelta

from once.clock import Clock, jittered
from once.command import Output
from once.entry import REFUSED_FOR_GOOD, Entry
from once.errors import OnceError
from once.journal import Journal
from once.noun import Noun
from once.run import Ending, Hold, Outcome, exit_status_of
from once.store.base import Claim, Recorded, Store
from once.supervision import Watched
from once.voice import Voice

TRIES_FOR = 10.0
"""Seconds that the end of a run waits for the database before it is left to the journal."""

TRIES_EVERY = 1.0
"""Seconds, on average."""

TIMED_OUT, LEASE_LOST = 124, 123
TAIL_OF_A_SUCCESS = 1024
"""Bytes. Of a failure as many are kept as --tail says."""


def ending_of(watched: Watched, *, output: Output, started_at: datetime, duration: timedelta) -> Ending:
    """What the command's end counts as. `started_at` is by the host's clock, in UTC."""
    status, killed_by = exit_status_of(watched.exited.wait_status)
    outcome, reason = _judge(watched, status)
    kept = output.kept
    if outcome is Outcome.SUCCEEDED:
        kept = kept[-TAIL_OF_A_SUCCESS:]
    return Ending(
        outcome=outcome,
        reason=reason,
        exit_status=status,
        signal=killed_by,
        started_at=started_at,
        finished_at=started_at + duration,
        duration=duration,
        tail=kept,
        tail_dropped=output.dropped + len(output.kept) - len(kept),
    )


def exit_status(watched: Watched) -> int:
    """What `once` exits with: the command's own status, unless `once` itself put an end to it."""
    if watched.killed_as_lost:
        return LEASE_LOST
    return TIMED_OUT if watched.timed_out else exit_status_of(watched.exited.wait_status)[0]


def _judge(watched: Watched, status: int) -> tuple[Outcome, str | None]:
    """A command that answers a signal by ending well has succeeded: its exit status says so to everybody else."""
    killed = ", needed KILL" if watched.needed_kill else ""
    if watched.killed_as_lost:
        return Outcome.LOST, f"killed: {watched.lost}"
    if watched.timed_out:
        return Outcome.TIMED_OUT, f"over its time limit{killed}"
    if watched.cancelled is not None:
        return (Outcome.SUCCEEDED if status == 0 else Outcome.CANCELLED), f"{watched.cancelled}{killed}"
    if watched.stopped_by is None:
        return (Outcome.SUCCEEDED if status == 0 else Outcome.FAILED), None
    reason = f"once got {signal.Signals(watched.stopped_by).name}{killed}"
    return (Outcome.SUCCEEDED if status == 0 else Outcome.STOPPED), reason


class Recorder(Noun):
    """Writes one run's end down, here or there. `lasting` says whether this host's disk outlives the process.

    `tries_for`: for how many seconds a database that does not answer is tried, where it does.
    """

    store: Store
    identity: str
    journal: Journal
    clock: Clock
    voice: Voice
    lasting: bool
    tries_for: float = TRIES_FOR

    def record(
        self, hold: Hold, ending: Ending, *, slot: datetime | None = None, claim: Claim | None = None
    ) -> Recorded | None:
        """Tell the table; None when the outcome waits in the journal instead.

        The first failure already puts the outcome on disk: what follows may be cut short by SIGKILL. Where nothing
        lasts that is worth little, so the database is tried until it answers or `once` is killed. Only what it refuses
        for good is given up. After a while a line says why `once` is still there though its command has ended.

        `claim`: of a run that was never claimed.
        """
        entry = Entry(self.identity, self.store.name, hold, ending, claim, slot)
        give_up_at = self.clock.boottime() + self.tries_for
        kept: bool | None = None
        told = self.lasting
        while True:
            try:
                recorded = entry.record_in(self.store)
            except OnceError as error:
                self.store.close()
                if kept is None:
                    kept = self._keep(entry, error)
                is_final = isinstance(error, REFUSED_FOR_GOOD)
                if is_final or (self.lasting and self.clock.boottime() >= give_up_at):
                    self._give_up(entry, error, kept=kept)
                    return None
                if not told and self.clock.boottime() >= give_up_at:
                    told = True
                    stays = "once stays until that is recorded, since no disk lasts here"
                    self.voice.say(f"{_what(entry)}; {error.message}; {stays}")
                self.clock.sleep(jittered(TRIES_EVERY))
                continue
            if kept and recorded is not Recorded.UNKNOWN:  # else it may be all that is left of the run
                with suppress(OSError):  # it is delivered again, which changes nothing
                    self.journal.drop(entry)
            self._tell(recorded, hold, ending)
            return recorded

    def _keep(self, entry: Entry, error: OnceError) -> bool:
        self.voice.detail(f"the outcome is not recorded yet: {error.message}")
        try:
            self.journal.keep(entry)
        except OSError as trouble:
            tell = self.voice.insist if self.lasting else self.voice.detail
            tell(f"the outcome cannot be kept in {self.journal.directory} either: {trouble.strerror}")
            return False
        return True

    def _give_up(self, entry: Entry, error: OnceError, *, kept: bool) -> None:
        what = _what(entry)
        if kept:
            self.voice.say(f"{what}; {error.message}; the outcome waits in {self.journal.directory}")
        else:
            self.voice.insist(f"{what}, and this could NOT be recorded: {error.message}")

    def _tell(self, recorded: Recorded, hold: Hold, ending: Ending) -> None:
        if recorded is Recorded.LATE and ending.outcome is not Outcome.LOST:
            self.voice.say(f"run {hold.number} {ending.outcome} after its lease was lost; recorded as a late end")
        elif recorded is Recorded.UNKNOWN:
            self.voice.insist(f"run {hold.number} {ending.outcome}, but {self.store.name} does not know the run")


def _what(entry: Entry) -> str:
    """What became of which run."""
    status = "" if entry.ending.exit_status is None else f" with status {entry.ending.exit_status}"
    run = "the command" if entry.claim is not None else f"run {entry.hold.number}"
    return f"{run} {entry.ending.outcome}{status}"
