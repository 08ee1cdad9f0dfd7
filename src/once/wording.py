"""The lines that `once run` and `once lock` say about a start: what happened, what did not, what to try."""

from __future__ import annotations

from datetime import timedelta

from once.command import Limits
from once.instants import in_words, rfc3339
from once.run import Hold
from once.store.base import Claim
from once.verdict import Brief, Go, Reason, Skip, Verdict, Wait

SPEAKS = frozenset((Reason.FIRST_SIGHT,))
"""Skips that are said though nothing is recorded."""

OFF_SCHEDULE = timedelta(minutes=5)


SKIPPED = {
    Reason.SETTLED: "{subject} is settled: its history was pruned; nothing was run",
    Reason.DONE: "{subject} is done: {who}",
    Reason.EXCUSED: "{subject} was excused; nothing was run",
    Reason.SKIPPED_BEFORE: "{subject} was skipped before; nothing was run",
    Reason.HELD: "{subject} is being run: {who}",
    Reason.FAILED: "{subject} has no attempt left: {who}",
    Reason.CANCELLED: "{subject} was cancelled: {who}",
    Reason.FIRST_SIGHT: "{subject} was {late} ago and this schedule is new here: noted, nothing was run; {ways_on}",
    Reason.NOT_IN_FORCE: "{subject} was {late} ago, before this schedule was first seen: nothing was run; {ways_on}",
    Reason.PAUSED: "{subject} skipped: the task is paused",
    Reason.RETIRED: "{subject} skipped: the task is retired",
    Reason.LATE: "{subject} skipped: this start is {late} late, more than --start-within",
    Reason.TOO_SOON: "{subject} skipped: the last start was less than --min-interval ago",
    Reason.OVERLAP: "{subject} skipped: another run is alive, {who}",
}


def skipped(skip: Skip, claim: Claim) -> str:
    """Why this start does not run the command."""
    return SKIPPED[skip.reason].format(
        subject=f"slot {slot_text(claim)}" if claim.slot else "the command was",
        who=_who(skip.run),
        late=_lateness(claim) if claim.slot else "",
        ways_on=_ways_on(claim) if skip.reason in (Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE) else "",
    )


def off_schedule(claim: Claim) -> str | None:
    """A line for a start that runs though it is far from its slot; None for one on time, or given by hand."""
    if claim.slot is None or claim.by_hand or claim.wish.on_time is None:
        return None
    late = claim.wish.fired_at - claim.slot.at
    if late <= max(OFF_SCHEDULE, claim.wish.on_time):
        return None
    return f"off schedule: runs slot {slot_text(claim)}, {in_words(_whole(late))} late"


def rehearsal(verdict: Verdict, claim: Claim) -> str:
    """What --dry-run says."""
    if isinstance(verdict, Go):
        what = f"slot {slot_text(claim)}, attempt {verdict.attempt}" if claim.slot else "the command, without a slot"
        return f"would run {what}"
    if isinstance(verdict, Wait):
        return f"would wait: {_who(verdict.run)}"
    return f"would not run: {skipped(verdict, claim)}"


def timed_out(hold: Hold, limits: Limits) -> str:
    """Beside exit status 124."""
    limit = in_words(limits.timeout) if limits.timeout is not None else "its limit"
    return f"run {hold.number} was stopped: it ran longer than {limit}"


def slot_text(claim: Claim) -> str:
    """The slot as people know it: local time, zone, and the instant in UTC."""
    assert claim.slot is not None
    zone = claim.line.zone if claim.line else "UTC"
    return f"{claim.slot.local.replace('T', ' ')} {zone} ({rfc3339(claim.slot.at)})"


def _ways_on(claim: Claim) -> str:
    from once.schedule import Schedule

    assert claim.line is not None
    coming = next(Schedule.parse(claim.line.expression, claim.line.zone).after(claim.wish.fired_at))
    return f"the next slot is {rfc3339(coming)}; --slot last runs this one now"


def _lateness(claim: Claim) -> str:
    assert claim.slot is not None
    return in_words(_whole(claim.wish.fired_at - claim.slot.at))


def _whole(interval: timedelta) -> timedelta:
    return timedelta(seconds=round(interval.total_seconds()))


def _who(run: Brief | None) -> str:
    if run is None:
        return "by an earlier run"
    text = f"run {run.number} {run.outcome} on {run.host}"
    return text if run.exit_status in (None, 0) else f"{text} with status {run.exit_status}"
