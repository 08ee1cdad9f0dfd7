"""The story of one start, told through ports: splay, what it catches up, its own slot, and what is said of that."""

from __future__ import annotations

import zlib

from once import wording
from once.admission import TurnedAway
from once.lease import ANSWERS_WITHIN
from once.start import Ports, Start
from once.turn import Turn, status_elsewhere


class Runner:
    """Runs one start to its end. `was_stopped`: a signal asked it to end while a command ran."""

    def __init__(self, start: Start, ports: Ports) -> None:
        self._start, self._ports = start, ports
        self._store = ports.open_store(ANSWERS_WITHIN)
        self.was_stopped = False

    def run(self) -> int:
        """The exit status. Raises what kept the command from running, and LeaseLost when that killed it."""
        self._splay()
        status_before = self._catch_up()
        if self.was_stopped:
            return status_before
        turn = Turn(self._start, self._ports, self._store)
        status = turn.take()
        self.was_stopped = turn.was_stopped
        if turn.turned_away is not None:
            status = self._turned_away(turn.turned_away)
        return status or status_before

    def rehearse(self) -> int:
        """Say what would happen and why; nothing is written, nothing is run."""
        verdict = Turn(self._start, self._ports, self._store).look()
        if self._start.catch_up.slots:
            from once.catching_up import rehearsal

            self._ports.voice.insist(rehearsal(self._start, self._store))
        self._ports.voice.insist(wording.rehearsal(verdict, self._start.claim))
        return 0

    def _catch_up(self) -> int:
        """The first status other than 0 of the slots that are run before this start's own."""
        if self._start.catch_up.slots == 0:
            return 0
        from once.catching_up import CatchingUp  # asked for by few

        catching_up = CatchingUp(self._start, self._ports, self._store)
        status = catching_up.run()
        self.was_stopped = catching_up.was_stopped
        return status

    def _splay(self) -> None:
        """Wait a part of --splay that is the same each time for this host, task and slot."""
        longest = self._start.splay.total_seconds()
        if longest:
            claim = self._start.claim
            name = f"{claim.holder.host}\n{claim.task}\n{claim.slot.at if claim.slot else ''}"
            self._ports.clock.sleep(longest * zlib.crc32(name.encode(errors="surrogateescape")) / 2**32)

    def _turned_away(self, answer: TurnedAway) -> int:
        """Say why nothing was run; the exit status. One taken over from elsewhere is always explained."""
        claim, voice = self._start.claim, self._ports.voice
        status = status_elsewhere(answer, claim.wish) if self._start.mirrors else None
        line = wording.turned_away(answer.skip, claim, answer.facts, waited=answer.waited, status=status or 0)
        if status or (status is None and claim.by_hand and self._start.skip_code):
            voice.insist(line)
        elif answer.waited or wording.is_told(answer.skip, claim, answer.facts, recorded=answer.recorded):
            voice.say(line)
        else:
            voice.mention(line)
        if drift := wording.drift(answer.skip, claim, answer.facts):
            (voice.say if wording.is_news(claim, answer.facts) else voice.mention)(drift)
        return self._start.skip_code if status is None else status
