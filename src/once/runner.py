"""The story of one start, told through ports: splay, admission, and what becomes of it.

    splay → admission ─┬─ turned away ─▶ the status of a skip
                       └─ admitted ────▶ tenure ─▶ the command's status

Signals: until admission they end `once` at once. From the claim on they are noted, since a run is at stake.
"""

from __future__ import annotations

import zlib

from once import wording
from once.admission import Admission, TurnedAway
from once.lease import ANSWERS_WITHIN
from once.start import Ports, Start


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

        return Tenure(self._start, self._ports, self._store, answer).serve()

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
        is_told = answer.recorded or claim.by_hand or skip.reason in wording.SPEAKS
        (voice.say if is_told else voice.mention)(wording.skipped(skip, claim))
        drift = wording.drift(skip, claim, answer.facts)
        if drift:
            (voice.say if wording.is_news(claim, answer.facts) else voice.mention)(drift)
        return self._start.skip_code
