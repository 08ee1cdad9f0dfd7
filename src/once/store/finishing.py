"""The story of an end: recorded at once while the row is ours, under the task's lock when it has been ended by others.

A run that was declared lost, or was cancelled when its lease had ended, may have been at work all the same, and its end
is evidence. If nobody has repeated the slot, the truth replaces `lost`; otherwise it goes beside it, and the run that
took over is not touched. An operator's word is not replaced: beside it, too. It counts as well where the command came
to nothing by itself before its holder had heard of the request: its slot is not to be run again.
"""

from __future__ import annotations

from once.run import Ending, Hold, Outcome
from once.store import rows
from once.store.base import Recorded
from once.store.session import Row, Session

ENDED_BY_OTHERS = (Outcome.LOST, Outcome.CANCELLED)


def finish(session: Session, hold: Hold, ending: Ending) -> bool:
    """Record the end if the row is ours and running: one statement, on a session without a transaction."""
    return session.write("finish", {**rows.of_hold(hold), **rows.of_ending(ending)}) > 0


def finish_late(session: Session, hold: Hold, ending: Ending) -> Recorded:
    """Record the end of a run that no longer says running, or was asked to stop. To be called inside a transaction."""
    session.row("lock_task", rows.of_hold(hold))
    row = session.row("own_row", rows.of_hold(hold))
    if row is None:
        return Recorded.UNKNOWN
    if row["outcome"] == Outcome.RUNNING:
        return Recorded.AS_ENDED if finish(session, hold, _asked_to_stop(ending, row)) else Recorded.UNKNOWN
    if row["outcome"] not in ENDED_BY_OTHERS or row["finished_at"] or row["late_outcome"]:
        return Recorded.ALREADY
    beside = row["superseded"] or row["outcome"] == Outcome.CANCELLED
    session.write("note_late" if beside else "replace_lost", {**rows.of_hold(hold), **rows.of_ending(ending)})
    return Recorded.LATE if beside else Recorded.INSTEAD_OF_LOST


def _asked_to_stop(ending: Ending, row: Row) -> Ending:
    if row["stop_asked"] is None or ending.outcome in (Outcome.SUCCEEDED, Outcome.CANCELLED):
        return ending
    reason = f"{row['stop_asked']}; {ending.reason}" if ending.reason else row["stop_asked"]
    return ending.replaced(outcome=Outcome.CANCELLED, reason=reason, retry_at=None)
