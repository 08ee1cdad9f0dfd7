"""The lease: until when a holder is trusted without news, told from both sides of the network.

A claim writes `lease_until = database now + lease` into its run's row. A beat, every fifth of the lease, writes it
anew, naming the run's number and its secret token, and only while the row still says `running`. Who claims later
and finds `lease_until` in the past marks the run `lost`; nothing else ever takes a run away.

            claim                    beat: sent, answered               lease_until reached,
              │                        ┌────────┐                       a claim came by
              ▼                        ▼        │                               │
         ┌─────────┐   trust ends  ┌────────────┴──┐   answer: not ours         ▼
         │ trusted │──────────────▶│   distrusted  │───────────────────────▶ lost
         └─────────┘◀──────────────└───────────────┘   (command killed)
              │        answer: still ours     (command frozen)
              ▼
           finished

The holder cannot see `lease_until`: it lives on the database's clock. It knows when it *sent* the statement that
wrote it, on its own CLOCK_BOOTTIME (which counts suspend), and the database cannot have executed the statement
before that. So `sent + lease`, less a margin for two clocks that run at different speeds, is never later than
`lease_until`: the holder stops trusting itself before anybody else may. Local time can only make it stop sooner.
An answer that comes late, or twice, extends nothing by when it arrived, only by when it was asked.

At the end of trust the command is frozen, not killed, and the database is asked. An expired lease that no claim has
touched is revived by the very beat that asks; the row lock decides the race with a claim.
"""

from __future__ import annotations

from datetime import timedelta

from once.noun import Noun

SHORTEST = timedelta(seconds=5)
"""Below this a busy host or a failover of the database would lose leases for nothing."""

ANSWERS_WITHIN = timedelta(seconds=10)
"""The longest that an answer of the database is waited for."""

KEEPS_NO_CONNECTION = timedelta(seconds=10)
"""From this distance between beats on, each beat makes a connection of its own."""


class Lease(Noun):
    """The holder's side of a lease. `sent` is CLOCK_BOOTTIME, in seconds, when the last answered write was sent."""

    length: timedelta
    sent: float

    @property
    def margin(self) -> timedelta:
        """What two clocks may differ by over one lease: 2 % of it, at least 250 ms."""
        return max(self.length * 0.02, timedelta(milliseconds=250))

    @property
    def trusted_until(self) -> float:
        """The end of trust, on CLOCK_BOOTTIME, in seconds."""
        return self.sent + (self.length - self.margin).total_seconds()

    @property
    def beat_every(self) -> timedelta:
        """The distance between beats: four may fail before trust ends."""
        return self.length / 5

    @property
    def answer_within(self) -> timedelta:
        """How long a beat is waited for: one that hangs must leave time for another before trust ends."""
        return max(timedelta(seconds=1), min(self.beat_every, ANSWERS_WITHIN))

    def trusted_at(self, boottime: float) -> bool:
        """Whether the command may work at this CLOCK_BOOTTIME."""
        return boottime < self.trusted_until

    def extended(self, *, sent: float) -> Lease:
        """The lease after an answered beat that was sent then. Never shorter: answers may overtake each other."""
        return self.replaced(sent=max(self.sent, sent))
