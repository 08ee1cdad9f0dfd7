"""A run that nobody claimed: the database is out of reach, and the line says to run all the same (--db-down run).

Nothing guards it: another host may run the slot too. It is recorded when the database is back, as unguarded.
"""

from __future__ import annotations

from datetime import timedelta

from once import wording
from once.command import Command
from once.entry import NOT_CLAIMED
from once.errors import CannotStart, CommandNotExecutable, CommandNotFound, Unreachable
from once.lease import Lease
from once.recording import Recorder, ending_of, exit_status
from once.run import Ending, Hold, Outcome
from once.start import Ports, Start
from once.store.base import Beat, Store
from once.supervision import Supervision, Watched
from once.tenure import command_environ

FOR_EVER = timedelta(days=36500)


class NoKeeping:
    """Stands in for the keeper: there is no lease, so none that ends."""

    gone: Beat | None = None
    stop_asked: str | None = None
    trouble: Exception | None = None

    def __init__(self, began: float) -> None:
        self.lease = Lease(FOR_EVER, began)

    def ask(self) -> None:
        """There is nobody to ask."""


class Unguarded:
    """One run without a claim."""

    def __init__(self, start: Start, ports: Ports, store: Store) -> None:
        self._start, self._ports, self._store = start, ports, store
        self._hold = Hold(start.claim.task, NOT_CLAIMED, start.claim.token)
        self.was_stopped = False

    def serve(self, away: Unreachable) -> int:
        """The exit status. Raises what keeps the command from running, and `away` where another runs without a slot."""
        claim, journal = self._start.claim, self._ports.journal
        if not journal.hold_alone(claim.task):
            if claim.wish.slot is None:
                raise away
            return self._left_alone("is left alone: this host is already running the task unguarded")
        # Asked when no other can end meanwhile.
        if claim.wish.slot is not None and journal.has_run(claim.task, claim.wish.slot):
            return self._left_alone("was already run on this host, and its outcome waits to be recorded")
        self._ports.voice.say(
            f"{away.message}; the command runs UNGUARDED (--db-down run), and other hosts may run it too"
        )
        self._ports.arrivals.only_note()
        if self._ports.arrivals.waiting():
            self.was_stopped = True
            return 128 + (self._ports.arrivals.take() or 0)
        command = self._spawn()
        watched = self._watch(command)
        command.drain(float("inf"))
        command.close()
        if watched.timed_out:
            self._ports.voice.insist(wording.timed_out("the command", self._start.limits))
        return exit_status(watched)

    def _left_alone(self, why: str) -> int:
        """Run nothing: of the starts for one slot on one host only one runs it while the database is away."""
        self._ports.voice.mention(f"slot {wording.slot_text(self._start.claim)} {why}; nothing was run")
        return self._start.skip_code

    def _spawn(self) -> Command:
        environ = command_environ(self._start, number=NOT_CLAIMED, attempt=1)
        try:
            return self._ports.spawn(self._start.argv, env=environ, tail=self._start.tail)
        except (CommandNotFound, CommandNotExecutable) as error:
            now, status = self._ports.clock.now(), type(error).wrapping
            self._record(Ending(Outcome.FAILED, now, error.message, exit_status=status, duration=timedelta()))
            raise
        except OSError as error:
            raise CannotStart(why=error.strerror) from error

    def _watch(self, command: Command) -> Watched:
        clock = self._ports.clock
        started_at, began = clock.now(), clock.boottime()
        keeping = NoKeeping(began)
        watched = Supervision(command, keeping, self._start.limits, clock=clock, voice=self._ports.voice).watch()
        self.was_stopped = watched.stopped_by is not None
        duration = timedelta(seconds=watched.exited.at_boottime - began)
        self._record(ending_of(watched, output=command.output(), started_at=started_at, duration=duration))
        return watched

    def _record(self, ending: Ending) -> None:
        """A database that was waited for before the command began is asked once."""
        Recorder(
            store=self._store,
            identity="",
            journal=self._ports.journal,
            clock=self._ports.clock,
            voice=self._ports.voice,
            lasting=self._start.lasting,
            tries_for=0.0,
        ).record(self._hold, ending, slot=self._start.claim.wish.slot, claim=self._start.claim)
