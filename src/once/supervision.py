"""Watching over the command while it runs: signals forwarded, the time limit, the end of trust in the lease.

Past its lease a command does no work: it is frozen, the database is asked, and the answer thaws or kills it.
"""

from __future__ import annotations

import os
import signal
from typing import Protocol

from once.clock import LONGEST_WAIT, Clock
from once.command import Command, Exited, Limits, PastLease, Signalled
from once.errors import OnceError
from once.lease import Lease
from once.noun import Noun
from once.signals import STOPPING
from once.store.base import Beat
from once.voice import Voice

LONGEST_FREEZE = 3600.0
"""Seconds that a command stays frozen without an answer before it is given up."""


class Keeping(Protocol):
    """What supervision needs of the keeper."""

    lease: Lease
    gone: Beat | None
    stop_asked: str | None
    trouble: Exception | None

    def ask(self) -> None: ...


class Watched(Noun):
    """The command has ended; what `once` did to it meanwhile, and why."""

    exited: Exited
    stopped_by: int | None = None
    timed_out: bool = False
    lost: str | None = None
    needed_kill: bool = False
    cancelled: str | None = None

    @property
    def killed_as_lost(self) -> bool:
        """Whether the loss of the lease ended it. A command that ended by itself a moment before has its own end."""
        status = self.exited.wait_status
        return self.lost is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


class Supervision:
    """One command under one lease, until it has ended and, where it was made to end, its group is gone."""

    def __init__(self, child: Command, keeper: Keeping, limits: Limits, *, clock: Clock, voice: Voice) -> None:
        self._child, self._keeper, self._limits, self._clock, self._voice = child, keeper, limits, clock, voice
        self._began = clock.boottime()
        self._frozen_since: float | None = None
        self._kill_at: float | None = None
        self._stopped_by: int | None = None
        self._timed_out = False
        self._lost: str | None = None
        self._cancelled: str | None = None
        self._needed_kill = False
        self._warned = False

    def watch(self) -> Watched:
        """Wait for the command's end, minding everything else meanwhile."""
        exited = self._until_exit()
        if self._was_made_to_end(exited):
            self._end_the_group()
        elif self._frozen_since is not None:
            self._leave_nobody_frozen(exited)
        return Watched(
            exited=exited,
            stopped_by=self._stopped_by,
            timed_out=self._timed_out,
            lost=self._lost,
            needed_kill=self._needed_kill,
            cancelled=self._cancelled,
        )

    def _was_made_to_end(self, exited: Exited) -> bool:
        """Whether what the command left behind must go too. A success leaves its daemons alone."""
        if self._stopped_by is not None and self._kill_at is None and exited.wait_status != 0:
            self._kill_at = self._clock.boottime() + self._limits.kill_after.total_seconds()
        return self._kill_at is not None or self._lost is not None

    def _leave_nobody_frozen(self, exited: Exited) -> None:
        """What a command leaves behind that ended while frozen, by somebody's SIGKILL: nobody else will see to it.

        At our own end the kernel would let it go, past its lease. One that had succeeded a moment before was not at
        work any more: what it leaves is left alone, and not frozen.
        """
        if self._child.group_is_gone():
            return
        if exited.wait_status != 0 and self._is_past_the_lease(self._clock.boottime()):
            self._child.kill()
        else:
            self._child.thaw()

    def _until_exit(self) -> Exited:
        while True:
            for mind in (self._mind_the_lease, self._mind_the_request, self._mind_the_limit, self._mind_the_grace):
                mind(self._clock.boottime())
            event = self._child.wait(self._patience())
            if isinstance(event, Exited):
                return event
            if isinstance(event, Signalled):
                self._forward(event.signum)

    def _patience(self) -> float:
        now = self._clock.boottime()
        left = [at - now for at in (self._kill_at, self._limit_at) if at is not None and at > now]
        if self._frozen_since is None and self._lost is None and self._limits.past_lease is PastLease.FREEZE:
            left.append(self._keeper.lease.trusted_until - now)
        return max(0.0, min([LONGEST_WAIT, *left]))

    @property
    def _limit_at(self) -> float | None:
        limit = self._limits.timeout
        is_ending = self._timed_out or self._cancelled is not None
        return None if limit is None or is_ending else self._began + limit.total_seconds()

    def _forward(self, signum: int) -> None:
        if signum in STOPPING and self._stopped_by is None:
            self._stopped_by = signum
        if signum in STOPPING and self._frozen_since is not None:
            self._kill()
            return
        self._child.send(signum)
        if signum == signal.SIGTERM and self._kill_at is None:
            self._kill_at = self._clock.boottime() + self._limits.kill_after.total_seconds()

    def _mind_the_lease(self, now: float) -> None:
        gone = self._keeper.gone
        if gone is not None:
            self._give_up(gone.reason or "its row is gone")
        elif self._keeper.lease.trusted_at(now):
            self._thaw(now)
        elif self._frozen_since is None:
            self._freeze(now)
        elif now - self._frozen_since > LONGEST_FREEZE:
            self._give_up(f"the lease could not be extended for an hour{self._trouble()}")

    def _is_past_the_lease(self, now: float) -> bool:
        """Whether what was asked to stop may not work any more: a request to stop while frozen is a kill."""
        is_over = self._keeper.gone is not None or not self._keeper.lease.trusted_at(now)
        return is_over and self._limits.past_lease is PastLease.FREEZE

    def _freeze(self, now: float) -> None:
        self._keeper.ask()
        if self._limits.past_lease is PastLease.CONTINUE:
            self._warn_once(f"{self._ended()}; the command goes on (--past-lease continue)")
            return
        self._child.freeze()
        self._frozen_since = now
        self._voice.say(f"{self._ended()}: the command is frozen until it is")

    def _ended(self) -> str:
        return f"the lease has ended and is not extended{self._trouble() or ' (the database does not answer)'}"

    def _trouble(self) -> str:
        """Why the last beat failed. Of what is no error of ours only the kind is told: its text may hold anything."""
        trouble = self._keeper.trouble
        if trouble is None:
            return ""
        return f" ({trouble.message if isinstance(trouble, OnceError) else type(trouble).__name__})"

    def _thaw(self, now: float) -> None:
        if self._frozen_since is None:
            return
        self._child.thaw()
        self._voice.say(f"the lease is still ours: the command goes on after {now - self._frozen_since:.0f} s")
        self._frozen_since = None

    def _give_up(self, reason: str) -> None:
        if self._lost is not None:
            return
        if self._limits.past_lease is PastLease.CONTINUE:
            self._warn_once(f"the lease was lost ({reason}); the command goes on (--past-lease continue)")
            return
        self._lost = reason
        self._child.kill()

    def _warn_once(self, line: str) -> None:
        if not self._warned:
            self._warned = True
            self._voice.say(line)

    def _mind_the_request(self, now: float) -> None:
        """An operator cancels the run, or a newer one replaces it: what a beat has brought is done once."""
        if self._keeper.stop_asked is None or self._cancelled is not None or self._timed_out:
            return
        self._cancelled = self._keeper.stop_asked
        self._voice.say(f"the command is stopped: {self._cancelled}")
        self._stop(now)

    def _mind_the_limit(self, now: float) -> None:
        if self._limit_at is None or now < self._limit_at:
            return
        self._timed_out = True
        self._stop(now)

    def _stop(self, now: float) -> None:
        if self._frozen_since is not None:
            self._kill()
            return
        self._child.send(self._limits.stop_signal)
        self._kill_at = now + self._limits.kill_after.total_seconds()

    def _mind_the_grace(self, now: float) -> None:
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
            self._kill_at = now + LONGEST_WAIT

    def _kill(self) -> None:
        self._needed_kill = True
        self._child.kill()
        if self._kill_at is None:
            self._kill_at = self._clock.boottime() + LONGEST_WAIT

    def _end_the_group(self) -> None:
        """What the command left in its group has the rest of the grace, and of the lease, then is killed."""
        while not self._child.group_is_gone():
            now = self._clock.boottime()
            if self._lost is not None or self._kill_at is None or now >= self._kill_at or self._is_past_the_lease(now):
                self._child.kill()
                return
            event = self._child.wait(min(0.1, max(0.0, self._kill_at - now)))
            if isinstance(event, Signalled):
                self._child.send(event.signum)
