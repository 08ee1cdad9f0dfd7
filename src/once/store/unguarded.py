"""Runs that nobody claimed: the database was out of reach, and their line said to run all the same (--db-down run).

They are told when it is back: each becomes the next attempt of its slot, with the times of its own host, so that
`once overlaps` shows whether it doubled. Nothing was promised, so nothing is taken away from whoever held the slot.
"""

from __future__ import annotations

from once.run import Ending, Hold, Outcome
from once.store import finishing, rows
from once.store.base import Claim, Recorded
from once.store.claiming import insert_run, lock_task
from once.store.session import Session

REASON = "unguarded: the database was out of reach"
TOLD_WITHIN = 10_000
"""Numbers. The row of a token is looked for among so many of the newest runs."""


def record(session: Session, claim: Claim, ending: Ending, *, store: str) -> Recorded:
    """Write it down, or finish the run that its claim made after all. To be called inside a transaction."""
    ending = ending.replaced(reason=f"{REASON}; {ending.reason}" if ending.reason else REASON)
    values = rows.of_claim(claim)
    number = lock_task(session, values, store=store)
    known = session.row("run_of_token", {**values, "beyond": number - TOLD_WITHIN})
    if known is not None:
        return finishing.finish_late(session, Hold(claim.task, known["number"], claim.token), ending)
    newest = session.row("newest_attempt", values) if claim.slot else None
    what = {
        "outcome": Outcome.RUNNING.value,
        "reason": None,
        "attempt": newest["attempt"] + 1 if newest is not None else 1,
        "lease": None,
    }
    hold = Hold(claim.task, number + 1, claim.token)
    insert_run(session, claim, hold.number, what)
    finishing.finish(session, hold, ending)
    session.write("backdate_run", {**rows.of_hold(hold), "claimed_at": ending.started_at or ending.finished_at})
    return Recorded.AS_ENDED
