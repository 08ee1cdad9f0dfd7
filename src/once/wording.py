"""The lines that `once run` and `once lock` say about a start: what happened, what did not, what to try."""

from __future__ import annotations

from datetime import timedelta

from once.instants import in_words, rfc3339
from once.run import Hold
from once.store.base import Claim
from once.supervision import Limits
from once.verdict import Brief, Facts, Go, Reason, Skip, Verdict, Wait

SPEAKS = frozenset((Reason.FIRST_SIGHT,))
"""Skips that are said though nothing is recorded."""

OFF_SCHEDULE = timedelta(minutes=5)


def skipped(skip: Skip, facts: Facts, claim: Claim) -> str:
    """Why this start does not run the command."""
    subject = f"slot {slot_text(claim)}" if claim.slot else "nothing was run"
    run = skip.run
    match skip.reason:
        case Reason.SETTLED:
            return f"{subject} is settled: its history was pruned; nothing was run"
        case Reason.DONE:
            return f"{subject} is done: {_who(run)}"
        case Reason.EXCUSED:
            return f"{subject} was excused; nothing was run"
        case Reason.SKIPPED_BEFORE:
            return f"{subject} was skipped before; nothing was run"
        case Reason.HELD:
            return f"{subject} is being run: {_who(run)}"
        case Reason.FAILED:
            return f"{subject} has no attempt left: {_who(run)}; --slot does not repeat it"
        case Reason.CANCELLED:
            return f"{subject} was cancelled: {_who(run)}"
        case Reason.FIRST_SIGHT | Reason.NOT_IN_FORCE:
            return _not_in_force(skip.reason, claim)
        case Reason.PAUSED | Reason.RETIRED:
            return f"{subject} skipped: the task is {skip.reason}"
        case Reason.LATE:
            return f"{subject} skipped: this start is {_lateness(claim)} late, more than --start-within"
        case Reason.TOO_SOON:
            return f"{subject} skipped: the last start was less than --min-interval ago"
        case Reason.OVERLAP:
            return f"{subject} skipped: another run is alive, {_who(run)}" if claim.slot else f"{subject}: {_who(run)}"


def off_schedule(claim: Claim) -> str | None:
    """A line for a start that runs though it is far from its slot; None for one on time, or given by hand."""
    if claim.slot is None or claim.by_hand or claim.wish.on_time is None:
        return None
    late = claim.wish.fired_at - claim.slot.at
    if late <= max(OFF_SCHEDULE, claim.wish.on_time):
        return None
    return f"off schedule: runs slot {slot_text(claim)}, {in_words(_whole(late))} late"


def rehearsal(verdict: Verdict, facts: Facts, claim: Claim) -> str:
    """What --dry-run says."""
    if isinstance(verdict, Go):
        what = f"slot {slot_text(claim)}, attempt {verdict.attempt}" if claim.slot else "the command, without a slot"
        return f"would run {what}"
    if isinstance(verdict, Wait):
        return f"would wait: {_who(verdict.run)}"
    return f"would not run: {skipped(verdict, facts, claim)}"


def timed_out(hold: Hold, limits: Limits) -> str:
    """Beside exit status 124."""
    limit = in_words(limits.timeout) if limits.timeout is not None else "its limit"
    return f"run {hold.number} was stopped: it ran longer than {limit}"


def slot_text(claim: Claim) -> str:
    """The slot as people know it: local time, zone, and the instant in UTC."""
    assert claim.slot is not None
    zone = claim.line.zone if claim.line else "UTC"
    return f"{claim.slot.local.replace('T', ' ')} {zone} ({rfc3339(claim.slot.at)})"


def _not_in_force(reason: Reason, claim: Claim) -> str:
    news = "this schedule is new here" if reason is Reason.FIRST_SIGHT else "this schedule was first seen after it"
    return (
        f"slot {slot_text(claim)} was {_lateness(claim)} ago and {news}: noted, nothing was run; "
        f"the next is {_next_slot(claim)}; --slot last runs this one now"
    )


def _next_slot(claim: Claim) -> str:
    from once.schedule import Schedule

    assert claim.line is not None
    return rfc3339(next(Schedule.parse(claim.line.expression, claim.line.zone).after(claim.wish.fired_at)))


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
