"""Runs that nobody claimed: the database was out of reach, and their line said to run all the same (--db-down run).

They are told when it is back, with the times of their own host, so that `once overlaps` shows whether one doubled.
They are numbered below the attempts that were claimed (0, -1, …): nothing was promised, so nothing is taken away from
whoever holds the slot, or waits to retry it. As the only run of its slot it counts as an attempt.
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
    lowest = session.row("lowest_attempt", values) or {"attempt": None}
    what = {
        "outcome": Outcome.RUNNING.value,
        "reason": None,
        "attempt": min(1, 1 if lowest["attempt"] is None else lowest["attempt"]) - 1,
        "lease": None,
    }
    hold = Hold(claim.task, number + 1, claim.token)
    insert_run(session, claim, hold.number, what)
    finishing.finish(session, hold, ending)
    session.write("backdate_run", {**rows.of_hold(hold), "claimed_at": ending.started_at or ending.finished_at})
    return Recorded.AS_ENDED
