"""What the verbs that tell share: a run as a row and as a JSON item, and the state it is in now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from once.instants import in_words
from once.render import Cell, interval, moment
from once.run import Outcome, Run, Task

HIGHEST = 2**63 - 1
"""The highest number that a store can hold."""

RUN_KEYS = (
    "task",
    "number",
    "slot",
    "slot_local",
    "fold",
    "attempt",
    "attempts",
    "outcome",
    "reason",
    "host",
    "pid",
    "user",
    "command",
    "by_hand",
    "caught_up",
    "stop_asked",
    "fired_at",
    "claimed_at",
    "started_at",
    "beat_at",
    "lease_until",
    "finished_at",
    "duration",
    "exit_status",
    "signal",
    "late_outcome",
    "late_status",
    "late_at",
    "clock_offset",
    "once_version",
)
"""What programs may rely on; a key is never lost."""


def state(run: Run, now: datetime) -> str:
    """The outcome, or `stuck` for a run that still says running though its lease has ended."""
    if run.outcome is Outcome.RUNNING and run.lease_until is not None and run.lease_until < now:
        return "stuck"
    return str(run.outcome)


def item(run: Run, now: datetime) -> dict[str, Any]:
    """The run for programs."""
    return {key: getattr(run, key) for key in RUN_KEYS} | {"stuck": state(run, now) == "stuck"}


def result(run: Run) -> str:
    """Exit status or signal, for people."""
    if run.signal is not None:
        return f"signal {run.signal}"
    return "-" if run.exit_status is None else f"exit {run.exit_status}"


def row(run: Run, now: datetime) -> list[Cell]:
    """The run in a table of runs; its titles are RUN_TITLES."""
    return [
        str(run.number),
        run.slot,
        str(run.attempt),
        state(run, now),
        result(run),
        interval(run.duration),
        run.host,
        run.started_at or run.claimed_at,
        note(run),
    ]


def standing(task: Task, now: datetime) -> str | None:
    """`paused` or `retired`, for how long yet, by whom and why; None for a task that may start."""
    if task.retired_at is not None:
        return f"retired {task.retire_note or ''}".rstrip()
    if not task.is_paused(now):
        return None
    left = f" for another {in_words(task.paused_until - now)}" if task.paused_until is not None else ""
    return f"paused{left} {task.pause_note or ''}".rstrip()


RUN_TITLES = ("RUN", "SLOT", "TRY", "OUTCOME", "RESULT", "TOOK", "HOST", "STARTED", "NOTE")


def note(run: Run) -> str:
    """Why it ended so, and what came late."""
    parts = [run.reason] if run.reason else []
    if run.by_hand and run.outcome is not Outcome.EXCUSED:
        parts.append("by hand")
    if run.caught_up:
        parts.append("caught up")
    if run.stop_asked and run.outcome is Outcome.RUNNING:
        parts.append(f"asked to stop: {run.stop_asked}")
    if run.late_outcome is not None:
        parts.append(f"late end: {run.late_outcome}, status {run.late_status}, {moment(run.late_at)}")
    return "; ".join(parts)
