"""The story of one start, told through ports: splay, admission, and what becomes of it.

    splay → admission ─┬─ turned away ─▶ the status of a skip
                       └─ admitted ────▶ tenure ─▶ the command's status, or, while attempts are left, admission again

Signals: until admission they end `once` at once. From the claim on they are noted, since a run is at stake.
"""

from __future__ import annotations

import os
import zlib
from datetime import timedelta

from once import wording
from once.admission import Admission, Admitted, TurnedAway
from once.instants import in_words
from once.lease import ANSWERS_WITHIN
from once.run import Outcome
from once.start import Ports, Start
from once.verdict import Reason, Skip

ENDED_BY_ONCE = {Outcome.LOST: 122, Outcome.TIMED_OUT: 124}
"""What stands for a run elsewhere whose own status says little, or is not known."""

NOT_KNOWN_YET = 75


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
        from once.tenure import Tenure  # what only a winner needs; most starts lose

        while True:
            tenure = Tenure(self._start, self._ports, self._store, answer)
            status = tenure.serve()
            if not tenure.is_to_be_repeated:
                return status
            answer = self._seek_next_attempt(status)
            if isinstance(answer, TurnedAway):
                self._ports.voice.mention(wording.skipped(answer.skip, self._start.claim))
                return status

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
        skip, claim, voice = answer.skip, self._start.claim, self._ports.voice
        status = status_elsewhere(skip) if self._start.mirrors else None
        line = wording.skipped(skip, claim)
        if status:
            voice.insist(f"{line}; status {status} says so")
        else:
            is_told = answer.recorded or claim.by_hand or skip.reason in wording.SPEAKS
            (voice.say if is_told else voice.mention)(line)
        drift = wording.drift(skip, claim, answer.facts)
        if drift:
            (voice.say if wording.is_news(claim, answer.facts) else voice.mention)(drift)
        return self._start.skip_code if status is None else status


def status_elsewhere(skip: Skip) -> int | None:
    """The exit status of a start that mirrors what became of its slot elsewhere; None where nobody has run it."""
    run = skip.run
    if skip.reason is Reason.DONE:
        return 0
    if skip.reason is Reason.HELD:
        return NOT_KNOWN_YET
    if skip.reason not in (Reason.FAILED, Reason.CANCELLED) or run is None:
        return None
    return ENDED_BY_ONCE.get(run.outcome) or run.exit_status or 1
