"""The story of a claim, told once for both stores: lock, expire, touch, find our token, decide, write.

Each step sees what the one before it made sure of. The task's row is locked by a statement of its own, so that the
statements after it see every claim that came before (one statement with the lock inside would decide on a snapshot
from before the wait: two live runs). Runs whose lease has ended are lost whatever their slot, or the holder of an
older slot could beat on beside the newer one. The newest started run is touched whatever became of it, so that a
transaction which holds its fence, or will take it on an old snapshot, is noticed.

The lock order is task row, then run row, here and everywhere.
"""

from __future__ import annotations

from once.errors import TaskNameTaken
from once.instants import rfc3339
from once.run import Hold, Outcome
from once.store import intervals, migrations, rows
from once.store.base import Claim, Claimed
from once.store.rows import Values
from once.store.session import Session
from once.verdict import Facts, Go, Reason, Skip, Verdict, Wait, decide


def claim(session: Session, claim: Claim, *, store: str) -> Claimed:
    """Make this start the holder, or say why not. To be called inside the transaction; `store` is for messages.

    Raises TaskNameTaken, SchemaTooNew, and what the session raises.
    """
    values = rows.of_claim(claim)
    last_number = lock_task(session, values, store=store)
    expire(session, claim)
    fenced = _touch_newest(session, values)
    own = session.row("own_run", values)
    facts = look(session, claim, store=store, locked=True, fenced=fenced)
    if own is not None:
        return Claimed(Go(own["attempt"]), facts, Hold(claim.task, own["number"], claim.token))
    verdict = decide(claim.wish, facts)
    hold = _write(session, claim, verdict, facts, number=last_number + 1)
    if not (facts.seen_today and facts.line_noted):
        sight(session, claim)
    return Claimed(verdict, facts, hold)


def look(session: Session, claim: Claim, *, store: str, locked: bool = False, fenced: int | None = None) -> Facts:
    """What is known now. `locked`: under the task's lock, where whatever still runs is alive, and run `fenced` is too.

    Raises SchemaTooNew, SchemaTooOld, and what the session raises.
    """
    row = session.row("look", {**rows.of_claim(claim), "locked": locked, "fenced": fenced})
    assert row is not None
    migrations.check(schema=row["schema"], protocol=row["protocol"], store=store)
    return rows.facts(row)


def sight(session: Session, claim: Claim) -> None:
    """Note that this host started `once` for the task, with this line: whoever always wins, or never, is alive.

    A start by hand proves no cron alive, and its line is nobody's.
    """
    if claim.by_hand:
        return
    session.write("sight", {**rows.of_claim(claim), "protocol": migrations.PROTOCOL})
    if claim.line is not None:
        intervals.extend(session, claim)


def lock_task(session: Session, values: Values, *, store: str) -> int:
    """The task's last number, under its lock. The protocol is checked here: an upgrade takes this lock, too."""
    row = session.row("lock_task", values)
    if row is None:
        session.write("insert_task", values)
        row = session.row("lock_task", values)
    if row is None:
        raise TaskNameTaken(name=values["task"], known=_taken_name(session, values))
    migrations.check(protocol=row["protocol"], store=store)
    return int(row["last_number"])


def _taken_name(session: Session, values: Values) -> str:
    row = session.row("taken_name", values)
    assert row is not None
    return str(row["name"])


def expire(session: Session, claim: Claim) -> None:
    """Write down which runs of the task are over though nobody said so; what says running afterwards is alive."""
    values = rows.of_claim(claim)
    found = f"found by {values['host']} (pid {claim.holder.pid})"
    ended, rebooted = f"its lease had ended, {found}", f"its host was started again, {found}"
    session.write("expire", {**values, "ended": ended, "rebooted": rebooted})


def _touch_newest(session: Session, values: Values) -> int | None:
    """The number of the newest claimed run if a transaction holds its fence; it was touched otherwise.

    A beat or an end that is just being written holds the row, too, and is over in a moment.
    """
    newest = session.row("newest_claimed", values)
    if newest is None:
        return None
    named = {**values, "number": newest["number"]}
    if session.row("lock_run", named) is None:
        session.row("let_a_moment_pass")
        if session.row("lock_run", named) is None:
            return int(newest["number"])
    session.write("touch_run", named)
    return None


def _write(session: Session, claim: Claim, verdict: Verdict, facts: Facts, *, number: int) -> Hold | None:
    """What the verdict leaves in the tables. Nothing, for a loser who found the slot taken care of."""
    if isinstance(verdict, Go):
        insert_run(session, claim, number, _running(claim, verdict))
        intervals.note(session, claim, facts, number=number)
        return Hold(claim.task, number, claim.token)
    if isinstance(verdict, Skip) and verdict.recorded and claim.slot is not None and facts.latest is None:
        insert_run(session, claim, number, _skipped(verdict))
        intervals.note(session, claim, facts, number=number)
    elif isinstance(verdict, Skip) and verdict.reason is Reason.FIRST_SIGHT:
        intervals.note(session, claim, facts)
    elif isinstance(verdict, Wait) and verdict.replaces and claim.slot is not None:
        why = f"replaced by slot {rfc3339(claim.slot.at)}"
        session.write("ask_to_stop", {"task": claim.task, "number": verdict.run.number, "why": why})
    return None


def _running(claim: Claim, verdict: Go) -> Values:
    return {"outcome": Outcome.RUNNING.value, "reason": None, "attempt": verdict.attempt, "lease": claim.lease}


def _skipped(verdict: Skip) -> Values:
    reason = str(verdict.reason)
    if verdict.run is not None:
        reason = f"{reason}: run {verdict.run.number} on {verdict.run.host} is alive"
    elif verdict.why:
        reason = f"{reason}: {verdict.why}"
    return {"outcome": Outcome.SKIPPED.value, "reason": reason, "attempt": 1, "lease": None}


def insert_run(session: Session, claim: Claim, number: int, what: Values) -> None:
    """Write a row with the task's next number; `what` is its outcome, reason, attempt and lease."""
    values = {**rows.of_claim(claim), **rows.of_new_run(claim), **what, "number": number}
    session.write("take_number", values)
    session.write("insert_run", values)
