"""The lines that `once run` and `once lock` say about a start: what happened, what did not, what to try."""

from __future__ import annotations

from datetime import timedelta

from once.command import Limits
from once.instants import in_words, rfc3339
from once.run import Line, Outcome, Slot
from once.store.base import Claim
from once.verdict import Brief, Facts, Go, Reason, Skip, Verdict, Wait

SPEAKS = frozenset((Reason.FIRST_SIGHT,))
"""Skips that are said though nothing is recorded."""

WANTED = frozenset((Reason.PAUSED, Reason.RETIRED))
"""Skips that an operator has asked for: cron would mail a line for each slot, so each host says it once a day."""

TAKEN = frozenset((Reason.DONE, Reason.HELD, Reason.FAILED))
"""Skips of a slot that another start has taken."""

OFF_SCHEDULE = timedelta(minutes=5)
"""A start is off schedule when it is more than this late, and more than half the distance to the next slot."""

SKIPPED = {
    Reason.SETTLED: "{subject} is settled: its history was pruned; nothing was run",
    Reason.DONE: "{subject} is done: {who}",
    Reason.EXCUSED: "{subject} was excused; nothing was run",
    Reason.SKIPPED_BEFORE: "{subject} was skipped before; nothing was run",
    Reason.HELD: "{subject} is being run: {who}",
    Reason.FAILED: "{subject} has no attempts left: {who}",
    Reason.CANCELLED: "{subject} was cancelled: {who}",
    Reason.FIRST_SIGHT: "{subject} was {late} ago and this schedule is new here: noted, nothing was run; {ways_on}",
    Reason.NOT_IN_FORCE: "{subject} was {late} ago, before this schedule was first seen: nothing was run; {ways_on}",
    Reason.PAUSED: "{subject} skipped: the task is paused {why}",
    Reason.RETIRED: "{subject} skipped: the task is retired {why}",
    Reason.LATE: "{subject} skipped: this start is {late} late, more than --start-within",
    Reason.TOO_SOON: "{subject} skipped: the last start was less than --min-interval ago",
    Reason.OVERLAP: "{subject} skipped: another run is alive, {who}",
}


def skipped(skip: Skip, claim: Claim) -> str:
    """Why this start does not run the command."""
    told = SKIPPED[skip.reason]
    if skip.reason is Reason.HELD and skip.run is not None and skip.run.retry_at is not None:
        told = "{subject} will be tried again: {who}"
    if skip.reason is Reason.OVERLAP and skip.run is not None and skip.run.outcome is not Outcome.RUNNING:
        told = "{subject} skipped: a transaction of another run is still open, {who}"
    line = told.format(
        subject=f"slot {slot_text(claim)}" if claim.slot else "the command was",
        who=_who(skip.run),
        why=skip.why,
        late=_lateness(claim) if claim.slot else "",
        ways_on=_ways_on(claim) if skip.reason in (Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE) else "",
    )
    is_over = claim.wish.rerun and skip.reason in (Reason.DONE, Reason.SETTLED)
    return f"{line}; --again runs it all the same" if is_over else line.rstrip()


def turned_away(skip: Skip, claim: Claim, facts: Facts, *, waited: timedelta, status: int) -> str:
    """The line for a start that ran nothing. `status` is taken over from a run elsewhere; 0: nothing to explain."""
    line = skipped(skip, claim)
    if waited:
        line = f"{line}, after a wait of {in_words(waited)}"
    if not status:
        return line
    latest = facts.latest
    if latest is not None and skip.reason not in TAKEN | {Reason.CANCELLED}:
        line = f"{line}; run {latest.number} {latest.outcome}"
    return f"{line}; hence exit status {status}"


def is_told(skip: Skip, claim: Claim, facts: Facts, *, recorded: bool) -> bool:
    """Whether a skip is said even where nobody asks for more: if this start records it, and to whoever types."""
    if claim.by_hand or skip.reason in SPEAKS:
        return True
    return recorded and not (skip.reason in WANTED and facts.seen_today)


def off_schedule(claim: Claim) -> str | None:
    """A line for a start that runs though it is far from its slot; None for one on time, or given by hand."""
    if claim.slot is None or claim.line is None or claim.wish.on_time is None:
        return None
    late = claim.wish.fired_at - claim.slot.at
    if late <= OFF_SCHEDULE:
        return None
    from once.schedule import Schedule

    coming = next(Schedule.of(claim.line).after(claim.slot.at), None)
    if coming is None or late <= (coming - claim.slot.at) / 2:
        return None
    return f"off schedule: runs slot {slot_text(claim)}, {in_words(_whole(late))} late"


def drift(skip: Skip, claim: Claim, facts: Facts) -> str | None:
    """A line for a loser whose schedule or command is not the winner's, on another host; None where they agree.

    Only between two starts that were on time: otherwise the line may simply have been edited in between.
    """
    is_on_time = claim.slot and claim.wish.on_time and claim.wish.fired_at - claim.slot.at <= claim.wish.on_time
    if not is_on_time or skip.reason not in TAKEN or skip.run is None or skip.run.host == claim.holder.host:
        return None
    found = []
    if claim.line and facts.line and claim.line != facts.line:
        found.append(f"the schedule here is {_line_text(claim.line)}, there {_line_text(facts.line)}")
    if facts.command_hash not in (None, claim.command_hash):
        found.append(f"the command is another (once show {claim.task} {skip.run.number})")
    return f"drift from run {skip.run.number} on {skip.run.host}: {'; '.join(found)}" if found else None


def is_news(claim: Claim, facts: Facts) -> bool:
    """Whether drift is said even where nobody asks for more: when it begins, and again at each day's first slot.

    cron mails what is said: a line at every losing start of every minute would be noise, one a day is a reminder.
    """
    if not facts.seen_today:
        return True
    from once.schedule import Schedule

    assert claim.slot is not None and claim.line is not None
    before = next(Schedule.of(claim.line).before(claim.slot.at), None)
    return before is None or before.date() != claim.slot.at.date()


def rehearsal(verdict: Verdict, claim: Claim) -> str:
    """What --dry-run says."""
    if isinstance(verdict, Go):
        what = f"slot {slot_text(claim)}, attempt {verdict.attempt}" if claim.slot else "the command, without a slot"
        return f"would run {what}"
    if isinstance(verdict, Wait):
        return f"would wait: {_who(verdict.run)}"
    return f"would not run: {skipped(verdict, claim)}"


def timed_out(what: str, limits: Limits) -> str:
    """Beside exit status 124. `what` names the run."""
    assert limits.timeout is not None
    return f"{what} was stopped: it ran longer than {in_words(limits.timeout)}"


def slot_text(claim: Claim) -> str:
    """The slot as people know it: local time, zone, and the instant in UTC."""
    assert claim.slot is not None and claim.line is not None
    return _slot_text(claim.slot, claim.line)


def _ways_on(claim: Claim) -> str:
    from once.schedule import Schedule

    assert claim.line is not None
    schedule = Schedule.of(claim.line)
    coming = next(schedule.after(claim.wish.fired_at), None)
    if coming is None:
        return "there is no other; --slot last runs it now"
    return f"the next is {_slot_text(schedule.slot_of(coming), claim.line)}; --slot last runs this one now"


def _slot_text(slot: Slot, line: Line) -> str:
    return f"{slot.local.replace('T', ' ')} {line.zone} ({rfc3339(slot.at)})"


def _line_text(line: Line) -> str:
    by = "" if line.engine == "cron" else f" by {line.engine}"
    return f'"{line.expression}" {line.zone}{by}'


def _lateness(claim: Claim) -> str:
    assert claim.slot is not None
    return in_words(_whole(claim.wish.fired_at - claim.slot.at))


def _whole(interval: timedelta) -> timedelta:
    return timedelta(seconds=round(interval.total_seconds()))


def _who(run: Brief | None) -> str:
    if run is None:
        return "by an earlier run"
    text = f"run {run.number} {run.outcome} on {run.host}"
    if run.outcome is Outcome.RUNNING and run.stop_asked is not None:
        text = f"{text}, which was asked to stop"
    return text if run.exit_status in (None, 0) else f"{text} with status {run.exit_status}"
