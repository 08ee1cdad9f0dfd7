"""Catching up: the slots that nobody ran, oldest first, each with its own claim, before the start's own slot.

Hosts that catch up at once share the slots: each goes through all of them, waits for the run that is alive, and finds
the next one free, or done by another. Nothing that another run keeps from starting is put on record as skipped, so
what is left over, by a host that dies or a wait that ends, is there for the next start.

Which slots: those that `once gaps` calls missed. Not what failed, was lost, skipped, excused or paused, and nothing
from before the schedule was first seen.
"""

from __future__ import annotations

import os
from datetime import timedelta

from once import wording
from once.errors import NotNow, OnceError
from once.missing import missing
from once.reports.gaps import Kind
from once.run import Slot
from once.schedule import Schedule
from once.start import Ports, Start
from once.store.base import Store
from once.turn import Turn
from once.verdict import Reason

STOPS_FOR = frozenset((Reason.PAUSED, Reason.RETIRED, Reason.OVERLAP))
"""Reasons that hold for every further slot, too."""


class CatchingUp:
    """What one start catches up. `was_stopped`: a signal asked for the end while a command ran."""

    def __init__(self, start: Start, ports: Ports, store: Store) -> None:
        self._start, self._ports, self._store = start, ports, store
        self.was_stopped = False

    def run(self) -> int:
        """The first status other than 0 of any of them; between two a signal ends `once`.

        Whatever keeps a slot from being run ends the catching up, and not the start: its own slot says what is wrong.
        """
        first_failure = 0
        slots = self._wanted()
        for number, slot in enumerate(slots, start=1):
            self._ports.voice.detail(f"catching up slot {number} of {len(slots)}")
            start = for_slot(self._start, slot)
            turn = Turn(start, self._ports, self._store)
            try:
                status = turn.take()
            except OnceError as error:
                self._store.close()
                is_for_later = isinstance(error, NotNow)
                tell = self._ports.voice.mention if is_for_later else self._ports.voice.insist
                tell(f"catching up ends: {error}")
                first_failure = first_failure or (0 if is_for_later else error.wrapping)
                self._ports.arrivals.raise_again()
                break
            if turn.turned_away is not None:
                self._ports.voice.mention(wording.skipped(turn.turned_away.skip, start.claim))
                if turn.turned_away.skip.reason in STOPS_FOR:
                    break
                continue
            first_failure = first_failure or status
            if turn.was_stopped:
                self.was_stopped = True
                break
            self._ports.arrivals.raise_again()
        return first_failure

    def _wanted(self) -> list[Slot]:
        try:
            return wanted(self._start, self._store)
        except OnceError as error:
            self._store.close()
            if not isinstance(error, NotNow):  # the start's own slot tries as long as --db-wait says, and tells
                self._ports.voice.say(f"nothing is caught up: {error}")
            return []


def wanted(start: Start, store: Store) -> list[Slot]:
    """The slots that nobody ran, within the window before the start's own, oldest first."""
    claim = start.claim
    task = store.task(claim.task)
    if task is None or claim.slot is None or claim.line is None or not start.catch_up.slots:
        return []
    schedule = Schedule.of(claim.line)
    gaps = missing(store, task, since=claim.slot.at - start.catch_up.window, until=claim.slot.at)
    slots = [schedule.slot_of(gap.first) for gap in gaps if gap.kind is Kind.MISSED]
    return slots[-start.catch_up.slots :]


def for_slot(start: Start, slot: Slot) -> Start:
    """The same start for a slot that is caught up: late on purpose, whatever the distance to the last start."""
    wish = start.claim.wish.replaced(
        slot=slot.at, on_time=None, start_within=None, min_interval=timedelta(), standby=False, catches_up=True
    )
    claim = start.claim.replaced(token=os.urandom(16).hex(), slot=slot, wish=wish)
    return start.replaced(claim=claim, runs_unguarded=False)


def rehearsal(start: Start, store: Store) -> str:
    """What --dry-run says of it."""
    slots = wanted(start, store)
    if not slots:
        return "would catch up nothing"
    if len(slots) == 1:
        return f"would catch up slot {slots[0].local}"
    return f"would catch up {len(slots)} slots, from {slots[0].local} to {slots[-1].local}"
