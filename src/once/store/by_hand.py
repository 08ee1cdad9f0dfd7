"""What operators do to a task: pause, resume, retire, cancel, excuse. Each under the task's lock, each with its event.

A pause of many tasks is a row of its own, which every claim reads: tasks that are not known yet are paused too, and no
lock of a thousand rows is taken. It and the pause of a task by its name are told apart, so that the end of a
maintenance window does not wake a task that somebody had paused before for a reason of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from once.event import Event, Operator, What
from once.run import Hold, Outcome, Run
from once.store import rows
from once.store.base import Cancelled, Claim, Excused
from once.store.claiming import expire, insert_run
from once.store.session import Session

RETRIES_AMONG = 100
"""Numbers. A holder that waits to retry is among the newest runs of its task."""


def pause(session: Session, target: str | None, *, scope: str, length: timedelta | None, by: Operator) -> bool:
    """Let nothing start for so long, or until it is resumed; False for an unknown task."""
    values = {"task": target, "scope": scope, "length": length, "note": rows.clean(str(by))}
    done = session.write("pause_scope" if target is None else "pause_task", values)
    if done:
        note(session, What.PAUSE, by, task=target, scope=scope if target is None else None, length=length)
    return done > 0


def resume(session: Session, target: str | None, *, scope: str, by: Operator) -> bool:
    """End that pause, or the task's retirement; False where there was none."""
    values = {"task": target, "scope": scope}
    done = session.write("resume_scope" if target is None else "resume_task", values)
    if done:
        note(session, What.RESUME, by, task=target, scope=scope if target is None else None)
    return done > 0


def retire(session: Session, task: str, *, by: Operator) -> bool:
    """The task is no more; False if that was so before."""
    done = session.write("retire_task", {"task": task, "note": rows.clean(str(by))})
    if done:
        note(session, What.RETIRE, by, task=task)
    return done > 0


def cancel(session: Session, task: str, number: int | None, *, boot: str | None, by: Operator) -> Cancelled:
    """End the runs of a task that are alive, stuck, or wait to retry: at once, or by asking their holders."""
    locked = session.row("lock_task", {"task": task})
    if locked is None:
        return Cancelled()
    values = {
        "task": task,
        "number": number,
        "boot": boot,
        "beyond": locked["last_number"] - RETRIES_AMONG,
        "why": rows.clean(f"cancelled {by}"),
    }
    # All of them are asked first: one that ends meanwhile, to be repeated, would slip through otherwise.
    running = [row["number"] for row in session.rows("cancel_running", values)]
    ended = [row["number"] for ask in ("cancel_ended", "cancel_waiting") for row in session.rows(ask, values)]
    asked = [one for one in running if one not in ended]
    for one in (*ended, *asked):
        note(session, What.CANCEL, by, task=task, run=one)
    return Cancelled(ended=tuple(ended), asked=tuple(_run(session, task, one) for one in asked))


def excuse(session: Session, claims: Sequence[Claim], *, by: Operator, continued: bool = False) -> Excused:
    """Write down that these slots of a task are a known gap. What is alive, has succeeded or is settled is left."""
    task = claims[0].task
    locked = session.row("lock_task", {"task": task})
    assert locked is not None
    expire(session, claims[0])
    number, settled, alive = locked["last_number"], locked["settled_through"], 0
    done: list[datetime] = []
    for claim in claims:
        assert claim.slot is not None
        if settled is not None and claim.slot.at <= settled:
            continue
        values = rows.of_claim(claim)
        newest = session.row("newest_attempt", values)
        alive += newest is not None and bool(newest["alive"])
        if newest is not None and (newest["alive"] or newest["succeeded"] or newest["excused"]):
            continue
        number += 1
        attempt = newest["attempt"] + 1 if newest is not None else 1
        what = {"outcome": Outcome.EXCUSED.value, "reason": rows.clean(str(by)), "attempt": attempt, "lease": None}
        insert_run(session, claim, number, what)
        done.append(claim.slot.at)
    if done and not (continued and _extend(session, task, max(done), by)):
        note(session, What.EXCUSE, by, task=task, slot=min(done), until=max(done))
    return Excused(slots=tuple(done), alive=alive)


def _extend(session: Session, task: str, until: datetime, by: Operator) -> bool:
    """Let the event of this act reach to here."""
    who = {"login": rows.clean(by.login), "host": rows.clean(by.host)}
    return session.write("extend_excuse", {"task": task, "until": until, **who}) > 0


def note_rerun(session: Session, hold: Hold, slot: datetime | None, *, by: Operator) -> None:
    """Leave word of who started this run."""
    note(session, What.RERUN, by, task=hold.task, run=hold.number, slot=slot)


def note(
    session: Session,
    what: What,
    by: Operator,
    *,
    task: str | None,
    scope: str | None = None,
    run: int | None = None,
    slot: datetime | None = None,
    until: datetime | None = None,
    length: timedelta | None = None,
) -> None:
    """Leave word of it. `length`: until so long after now, by the store's clock."""
    values = {"task": task, "scope": scope, "run": run, "slot": slot, "until": until, "length": length}
    said = {"login": rows.clean(by.login), "host": rows.clean(by.host), "why": by.why and rows.clean(by.why)}
    session.write("note_event", {"what": what.value, **values, **said})


def events(session: Session, task: str, *, since: datetime, limit: int) -> list[Event]:
    """What was done to the task, and to all, newest first."""
    found = session.rows("events", {"task": task, "since": since, "page": limit})
    return [Event(**{**row, "what": What(row["what"])}) for row in found]


def _run(session: Session, task: str, number: int) -> Run:
    row = session.row("run", {"task": task, "number": number})
    assert row is not None
    return rows.run(row)
