"""One claim's story: admission, tenure, and admission again while attempts are left.

    admission ─┬─ turned away ─▶ the status of a skip
               └─ admitted ────▶ tenure ─▶ the command's status, or, while attempts are left, admission again

Signals: until admission they end `once` at once. From the claim on they are noted, since a run is at stake.
"""

from __future__ import annotations

import os
from datetime import timedelta

from once import wording
from once.admission import Admission, Admitted, TurnedAway
from once.errors import OnceError, Unreachable
from once.instants import in_words
from once.run import Outcome
from once.start import Ports, Start
from once.store.base import Store
from once.verdict import Reason, Verdict, Wish

ENDED_BY_ONCE = {Outcome.LOST: 122, Outcome.TIMED_OUT: 124}
"""Exit statuses for a run elsewhere whose own status says little, or is not known."""

UNDONE = frozenset((Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.CANCELLED, Outcome.LOST))
"""Outcomes of a slot that was tried and did not succeed."""

NOT_KNOWN_YET = 75
"""Exit status of a start that has waited in vain for the outcome of a run elsewhere."""


class Turn:
    """One claim, from its first try to the end of its last attempt. `turned_away` is why nothing was run, if so."""

    def __init__(self, start: Start, ports: Ports, store: Store) -> None:
        self._start, self._ports, self._store = start, ports, store
        self.turned_away: TurnedAway | None = None
        self.was_stopped = False

    def take(self) -> int:
        """The exit status. Raises what kept the command from running, and LeaseLost when that killed it.

        What keeps it from running again is told, and the status stays the command's own.
        """
        try:
            answer = self._admission().seek()
        except Unreachable as away:
            if not self._start.runs_unguarded:
                raise
            return self._run_unguarded(away)
        if isinstance(answer, TurnedAway):
            self.turned_away = answer
            return self._start.skip_code
        from once.tenure import Tenure  # what only a winner needs; most starts lose

        self._start.noted(self._store, answer.hold)
        while True:
            tenure = Tenure(self._start, self._ports, self._store, answer)
            status = tenure.serve()
            self.was_stopped = tenure.was_stopped
            if not tenure.is_to_be_repeated:
                return status
            try:
                answer = self._seek_next_attempt(status)
            except OnceError as error:
                self._ports.voice.say(f"status {status}; the next attempt was NOT begun: {error}")
                return status
            if isinstance(answer, TurnedAway):
                line = wording.skipped(answer.skip, self._start.claim)
                is_news = answer.skip.reason in (Reason.CANCELLED, Reason.PAUSED, Reason.RETIRED)
                (self._ports.voice.say if is_news else self._ports.voice.mention)(line)
                return status

    def _run_unguarded(self, away: Unreachable) -> int:
        from once.unguarded import Unguarded  # asked for by few, and then seldom

        unguarded = Unguarded(self._start, self._ports, self._store)
        status = unguarded.serve(away)
        self.was_stopped = unguarded.was_stopped
        return status

    def look(self) -> Verdict:
        """What would become of it now; nothing is written, nothing is run."""
        return self._admission().look()[0]

    def _seek_next_attempt(self, status: int) -> Admitted | TurnedAway:
        """After a pause in which nobody else may take the slot, and in which a signal ends `once`."""
        self._ports.voice.detail(f"status {status}; the next attempt is in {in_words(self._start.retry_delay)}")
        self._ports.arrivals.raise_again()
        self._store.close()
        self._ports.clock.sleep(self._start.retry_delay.total_seconds())
        claim = self._start.claim
        wish = claim.wish.replaced(on_time=None, start_within=None, min_interval=timedelta())
        claim = claim.replaced(token=os.urandom(16).hex(), retry_of=claim.token, wish=wish)
        self._start = self._start.replaced(claim=claim)
        return self._admission().seek()

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
            object_to=lambda facts: self._start.object_to(facts, self._start.claim.slot),
        )


def status_elsewhere(answer: TurnedAway, wish: Wish) -> int | None:
    """The exit status of a start that mirrors what became of its slot elsewhere; None where nobody has run it.

    A policy that keeps this start from repeating a failure makes no success of it. A rerun asks for its own attempt,
    so an earlier one that failed says nothing about it.
    """
    skip = answer.skip
    if skip.reason is Reason.DONE:
        return 0
    if skip.reason is Reason.HELD:
        return NOT_KNOWN_YET
    latest = None if wish.rerun else answer.facts.latest
    run = skip.run if skip.reason in (Reason.FAILED, Reason.CANCELLED) else latest
    if run is None or run.outcome not in UNDONE:
        return None
    return ENDED_BY_ONCE.get(run.outcome) or run.exit_status or 1
