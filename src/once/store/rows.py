"""Between rows and nouns: what a claim or an ending is as values of a statement, and back again.

Text that a database cannot hold (NUL, a byte that was no UTF-8 and became a lone surrogate) is replaced: it must never
cost us a record. The command keeps its bytes, as JSON escapes.
"""

from __future__ import annotations

from datetime import datetime

from once import __version__
from once.run import Ending, Hold, Line, Outcome, Run, Task
from once.store.base import Claim
from once.store.session import Row
from once.verdict import Brief, Facts, Twin

Values = dict[str, object]


def clean(text: str) -> str:
    """The text without what UTF-8 or PostgreSQL cannot hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def of_claim(claim: Claim) -> Values:
    """What the look and the decision ask for, and what the schedule and the sighting note."""
    line = claim.line
    return {
        "task": claim.task,
        "folded": claim.task.casefold(),
        "token": claim.token,
        "retry_of": claim.retry_of,
        "slot": claim.slot.at if claim.slot else None,
        "wall_clock": claim.slot.local if claim.slot and _goes_by_wall_clock(line) else None,
        "fold": claim.slot.fold if claim.slot else None,
        "host": clean(claim.holder.host),
        "seen_as": _seen_as(claim),
        "machine": claim.holder.machine,
        "boot": claim.holder.boot,
        "booted_at": claim.holder.booted_at,
        "command_hash": claim.command_hash,
        "once_version": __version__,
        "expression": line.expression if line else None,
        "zone": line.zone if line else None,
        "engine": line.engine if line else None,
        "unbroken_since": claim.unbroken_since,
        "fingerprint": f"{line.expression} {line.zone} {line.engine}" if line else "",
    }


def of_new_run(claim: Claim) -> Values:
    """What the row of a new run holds beyond `of_claim`."""
    return {
        "slot_local": claim.slot.local if claim.slot else None,
        "attempts": claim.wish.attempts or 0,
        "pid": claim.holder.pid,
        "login": clean(claim.holder.user),
        "command": _json_of(claim.command),
        "fired_at": claim.wish.fired_at,
        "clock_offset": claim.clock_offset,
        "by_hand": claim.by_hand,
        "caught_up": claim.wish.catches_up,
    }


def of_hold(hold: Hold) -> Values:
    """What names our own row."""
    return {"task": hold.task, "number": hold.number, "token": hold.token}


def of_ending(ending: Ending) -> Values:
    """What a finish writes. The retry is told as a delay: its instant is by the host's clock, which decides nothing."""
    return {
        "outcome": ending.outcome.value,
        "reason": clean(ending.reason) if ending.reason is not None else None,
        "exit_status": ending.exit_status,
        "signal": ending.signal,
        "started_at": ending.started_at,
        "finished_at": ending.finished_at,
        "duration": ending.duration,
        "retry_in": ending.retry_at - ending.finished_at if ending.retry_at is not None else None,
        "tail": ending.tail,
        "tail_dropped": ending.tail_dropped,
    }


def facts(row: Row) -> Facts:
    """What the look answered."""
    return Facts(
        now=row["now"],
        identity=row["identity"],
        known=bool(row["known"]),
        settled_through=row["settled_through"],
        paused=row["paused"],
        retired=row["retired"],
        succeeded=bool(row["succeeded"]),
        latest=_brief(row, "latest"),
        latest_alive=bool(row["latest_alive"]),
        used=row["used"],
        blocker=_brief(row, "blocker"),
        last_claimed_at=_not_after(row["now"], row["last_claimed_at"]),
        in_force_since=row["in_force_since"],
        line=_line(row),
        line_noted=bool(row["line_noted"]),
        command_hash=row["command_hash"],
        previous_success=row["previous_success"],
        seen_today=bool(row["seen_today"]),
        taken_name=row["taken_name"],
        twin=Twin(row["twin_number"], row["twin_slot"], row["twin_host"]) if row["twin_number"] is not None else None,
    )


def task(row: Row) -> Task:
    """A task, with the line it was last seen with."""
    return Task(
        name=row["name"],
        last_number=row["last_number"],
        settled_through=row["settled_through"],
        paused_at=row["paused_at"],
        paused_until=row["paused_until"],
        pause_note=row["pause_note"],
        retired_at=row["retired_at"],
        retire_note=row["retire_note"],
        line=_line(row),
        in_force_since=row["first_seen"],
    )


def run(row: Row) -> Run:
    """A run; its tail is empty where the statement left it out."""
    import json

    same = {name: row[name] for name in _SAME_IN_ROW_AND_RUN}
    return Run(
        **same,
        outcome=Outcome(row["outcome"]),
        user=row["login"],
        command=tuple(json.loads(row["command"])),
        late_outcome=Outcome(row["late_outcome"]) if row["late_outcome"] else None,
        tail=bytes(row.get("tail") or b""),
        by_hand=bool(row["by_hand"]),
        caught_up=bool(row["caught_up"]),
    )


_SAME_IN_ROW_AND_RUN = (
    "task", "number", "reason", "slot", "slot_local", "fold", "attempt", "attempts", "retry_at", "host", "pid", "boot",
    "command_hash", "fired_at", "claimed_at", "started_at", "beat_at", "lease_until", "finished_at", "duration",
    "exit_status", "signal", "late_status", "late_at", "tail_dropped", "clock_offset", "stop_asked", "once_version",
)  # fmt: skip


def _brief(row: Row, who: str) -> Brief | None:
    if row[f"{who}_number"] is None:
        return None
    told = {name: row[f"{who}_{name}"] for name in _TOLD_BRIEFLY}
    return Brief(**told, outcome=Outcome(row[f"{who}_outcome"]), caught_up=bool(row[f"{who}_caught_up"]))


_TOLD_BRIEFLY = (
    "number", "slot", "attempt", "host", "pid", "claimed_at", "lease_until", "retry_at", "exit_status", "stop_asked",
)  # fmt: skip


def _not_after(now: datetime, instant: datetime | None) -> datetime | None:
    """A clock that was set back, also by a failover, puts no start into the future."""
    return instant if instant is None else min(now, instant)


def _seen_as(claim: Claim) -> str:
    """Whom a sighting is of: a host, but of all pods of a CronJob together, since each of them has another name."""
    of_pod = claim.line is not None and claim.line.engine == "kubernetes"
    return "kubernetes" if of_pod else clean(claim.holder.host)


def _goes_by_wall_clock(line: Line | None) -> bool:
    """Whether zone data decide about the slots.

    They do not where every hour has the same slots, nor where the CronJob controller tells the instant.
    """
    if line is None or line.engine != "cron":
        return False
    return not line.expression.startswith("@every") and not line.expression.endswith(" * * * *")


def _line(row: Row) -> Line | None:
    return Line(row["expression"], row["zone"], row["engine"]) if row["expression"] is not None else None


def _json_of(command: tuple[str, ...]) -> str:
    """JSON that people can read in psql; escapes where a byte of the command was no UTF-8."""
    import json

    text = json.dumps(command, ensure_ascii=False)
    return text if text.isascii() or clean(text) == text else json.dumps(command)
