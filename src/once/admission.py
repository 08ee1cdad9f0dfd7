"""From a start to a held run, or to the reason why not: connect, deliver, look, guard, claim; again while it may help.

An error or an unknown answer is never taken for a claim. What may succeed later is tried again with jitter for as
long as `db_wait`; the token is made once, so that a claim whose answer was lost is found again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from once.clock import Clock, Fired, jittered
from once.entry import Entry
from once.errors import ClockOff, OnceError, TaskNameTaken, Unreachable
from once.instants import in_words, rfc3339
from once.journal import Journal
from once.lease import ANSWERS_WITHIN, Lease
from once.noun import Noun
from once.run import Hold
from once.signals import Arrivals, Interrupted
from once.start import Patience
from once.store.base import Claim, Store
from once.verdict import Facts, Go, Reason, Skip, Verdict, Wait, decide, must_write
from once.voice import Voice

DELIVERS_FOR = timedelta(seconds=5)
RESOLVES_FOR = 5.0
"""Seconds that a signal leaves us to learn whether a claim whose answer was lost is ours."""

SHORTEST_TRY = timedelta(seconds=2)
"""However little is left of `db_wait`, an answer is waited for so long: longer than the second that a claim waits for a
lock, or a lock that is held would be told as a database that does not answer."""

KEEPS_CONNECTION = 2.0
"""Seconds. A longer pause between two looks is not worth a connection."""


class Admitted(Noun):
    """We are the holder of this run. `lease` is trusted from when the first try of the claim was sent."""

    hold: Hold
    attempt: int
    lease: Lease
    facts: Facts


class TurnedAway(Noun):
    """The command is not to run. `recorded`: this very start wrote the skip down. `waited`: for so long, in vain."""

    skip: Skip
    facts: Facts
    recorded: bool = False
    waited: timedelta = timedelta()


class Admission:
    """Seeks to make this start the holder. `object_to` may raise on what the look brought, before any claim."""

    def __init__(
        self,
        claim: Claim,
        *,
        store: Store,
        clock: Clock,
        fired: Fired,
        arrivals: Arrivals,
        journal: Journal,
        patience: Patience,
        voice: Voice,
        object_to: Callable[[Facts], None],
    ) -> None:
        self._claim, self._store, self._clock, self._fired = claim, store, clock, fired
        self._arrivals, self._journal, self._patience, self._voice = arrivals, journal, patience, voice
        self._object_to = object_to
        self._sent: float | None = None
        self._unanswered = False

    def seek(self) -> Admitted | TurnedAway:
        """Try until there is an answer. Raises Unreachable and ClockOff (not now), or what forbids this start."""
        failures = _Pauses(shortest=0.2, longest=10.0)
        waits = _Pauses(shortest=0.1, longest=5.0)
        away_since: float | None = None
        in_the_way_since: float | None = None
        while True:
            began = self._clock.boottime() if away_since is None else away_since
            self._bound_the_try(began)
            try:
                answer = self._ask()
            except Unreachable as away:
                self._store.close()
                away_since = began
                self._bear(away, away_since, failures)
                continue
            if isinstance(answer, Admitted | TurnedAway):
                self._store.bound(ANSWERS_WITHIN)
                return answer
            away_since = None
            verdict, facts = answer
            in_the_way_since = self._clock.boottime() if in_the_way_since is None else in_the_way_since
            if not self._wait_for(verdict, in_the_way_since, waits):
                in_our_slot = facts.latest is not None and facts.latest.number == verdict.run.number
                skip = Skip(Reason.HELD if in_our_slot else Reason.OVERLAP, run=verdict.run)
                return TurnedAway(skip, facts, waited=self._patience.wait or timedelta())

    def look(self) -> tuple[Verdict, Facts]:
        """What would happen now: a look at the record and the decision; nothing is written."""
        facts = self._look()
        return decide(self._claim.wish, facts), facts

    def _bound_the_try(self, since: float) -> None:
        """A database that takes a connection and then never answers must not outlast `db_wait`."""
        left = self._patience.db_wait - timedelta(seconds=self._clock.boottime() - since)
        self._store.bound(min(ANSWERS_WITHIN, max(left, SHORTEST_TRY)))

    def _ask(self) -> Admitted | TurnedAway | tuple[Wait, Facts]:
        if not self._unanswered:
            self._deliver()
            verdict, facts = self.look()
            if not must_write(verdict):
                if isinstance(verdict, Wait):
                    return verdict, facts
                assert isinstance(verdict, Skip)
                self._sight(facts)
                return TurnedAway(verdict, facts)
        return self._take()

    def _take(self) -> Admitted | TurnedAway | tuple[Wait, Facts]:
        """The claim, undisturbed by signals: one that has come is acted upon when it is known what was claimed.

        Until then none ends us at once, also between two tries.
        """
        self._arrivals.only_note()
        if self._sent is None:
            self._sent = self._clock.boottime()
        self._unanswered = True
        claimed = self._store.claim(self._claim)
        self._unanswered = False
        verdict = claimed.verdict
        if isinstance(verdict, Go) and claimed.hold is not None:
            lease = Lease(self._claim.lease, self._sent)
            return Admitted(claimed.hold, verdict.attempt, lease, claimed.facts)
        self._sent = None
        self._arrivals.raise_again()
        if isinstance(verdict, Wait):
            return verdict, claimed.facts
        assert isinstance(verdict, Skip)
        return TurnedAway(verdict, claimed.facts, recorded=verdict.recorded and claimed.facts.latest is None)

    def _look(self) -> Facts:
        self._store.connect()
        asked = self._clock.boottime()
        facts = self._store.look(self._claim)
        if facts.taken_name is not None:
            raise TaskNameTaken(name=self._claim.task, known=facts.taken_name)
        self._guard(facts, (asked + self._clock.boottime()) / 2)
        self._object_to(facts)
        return facts

    def _guard(self, facts: Facts, boottime: float) -> None:
        """The clock guard: host minus database, with the start's own time carried forward."""
        host_time = self._fired.carried_to(boottime)
        offset = host_time - facts.now
        self._claim = self._claim.replaced(clock_offset=offset)
        if abs(offset) > self._patience.max_skew:
            raise ClockOff(
                host_time=rfc3339(host_time.replace(microsecond=0)),
                store_time=rfc3339(facts.now.replace(microsecond=0)),
                offset=in_words(abs(offset)),
                limit=in_words(self._patience.max_skew),
            )

    def _deliver(self) -> None:
        """What waits in the journal goes first: it may be the end of the very run that is in our way."""
        if not self._journal.waiting():
            return
        delivery = self._journal.deliver(self._store, clock=self._clock, within=DELIVERS_FOR)
        if delivery.recorded:
            self._voice.detail(f"recorded {_outcomes(delivery.recorded)} that waited in {self._journal.directory}")
        if delivery.unknown:
            told = f"{self._store.name} does not know the run of {_outcomes(delivery.unknown)} that waited here"
            self._voice.say(f"{told}; set aside in {self._journal.directory}")

    def _sight(self, facts: Facts) -> None:
        """Once a day a loser leaves word that this host is alive, and where need be that its line is in use.

        A start is not refused for want of it.
        """
        if not facts.known or (facts.seen_today and facts.line_noted):
            return
        try:
            self._store.sight(self._claim)
        except OnceError as error:
            self._voice.detail(f"this host's sighting was not noted: {error}")

    def _bear(self, away: Unreachable, since: float, pauses: _Pauses) -> None:
        """Pause before the next try, or raise when the time is up or a signal has come."""
        left = since + self._patience.db_wait.total_seconds() - self._clock.boottime()
        if self._unanswered and self._arrivals.waiting():
            left = min(left, since + RESOLVES_FOR - self._clock.boottime())
        if left <= 0:
            signum = self._arrivals.take()
            if signum is not None:
                raise Interrupted(signum)
            raise away
        self._voice.detail(f"{away.message}; trying for another {in_words(timedelta(seconds=left))}")
        longest = 1.0 if self._unanswered else left
        self._clock.sleep(min(pauses.next(), left, longest))

    def _wait_for(self, verdict: Wait, since: float, pauses: _Pauses) -> bool:
        """Pause until the run in the way may have ended; False when the time for that is up."""
        if pauses.fresh:
            run = verdict.run
            self._voice.mention(f"waiting for run {run.number} on {run.host} (pid {run.pid})")
        pause = pauses.next()
        if self._patience.wait is not None:
            left = since + self._patience.wait.total_seconds() - self._clock.boottime()
            if left <= 0:
                return False
            pause = min(pause, left)
        if pause > KEEPS_CONNECTION:
            self._store.close()
        self._clock.sleep(pause)
        return True


def _outcomes(entries: Sequence[Entry]) -> str:
    return "1 outcome" if len(entries) == 1 else f"{len(entries)} outcomes"


class _Pauses:
    """Growing pauses with jitter, so that a fleet does not come back all at once."""

    def __init__(self, *, shortest: float, longest: float) -> None:
        self._next, self._longest = shortest, longest
        self.fresh = True

    def next(self) -> float:
        self.fresh = False
        pause, self._next = self._next, min(self._next * 1.5, self._longest)
        return jittered(pause)
