"""The intervals of a task's schedule: from when to when it was seen with which line.

Slots count within the intervals of their line and nowhere else. So an edit invents no missed slots before it, and a
line that was taken back and put in again has two intervals, with the other line's between them.

Hosts may carry two lines at once, half of them the old one, and both lines' slots are then due. Were every change of
the line from one start to the next an interval of its own, such a fleet would write a row a start, and no start that
comes late would ever find its line in force. So a start extends the interval of its own line, whatever line was seen
since, if no slot was left out in between: if that line was last seen at the slot before this one, or later. (For a
start that is late it must have been this very slot: nobody else has made sure that the slot was due.) Whether a slot
was left out is the schedule's business, which stands above this room: a claim brings the instant as `unbroken_since`.

*   A fleet with two lines has two intervals that overlap, each seen at each of its slots: by whoever wins the slot,
    else by the first loser who finds that its line was not seen there yet. A row more comes only after a slot at
    which no host with that line started.
*   A line that was taken back for one of its slots at least begins a new interval when it returns.
*   A line that was taken back for less than that goes on in its old one, and no slot is invented: there was none.

A start by hand is no sighting of a crontab line: what an operator types begins no interval once there is one.

An interval is noted at the instant of the run that it is noted with, so that runs are found again in the interval of
their line.
"""

from __future__ import annotations

from once.store import rows
from once.store.base import Claim
from once.store.session import Session
from once.verdict import Facts


def note(session: Session, claim: Claim, facts: Facts, *, number: int | None = None) -> None:
    """Extend the interval of the claim's line, or begin one, at the instant of run `number`, else now."""
    if claim.line is None or (claim.by_hand and facts.line is not None):
        return
    if not extend(session, claim, number=number):
        session.write("insert_schedule", {**rows.of_claim(claim), "number": number})


def extend(session: Session, claim: Claim, *, number: int | None = None) -> bool:
    """Extend the interval that the claim's line is in force by; False if there is none."""
    return session.write("extend_schedule", {**rows.of_claim(claim), "number": number}) > 0
