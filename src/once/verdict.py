"""decide(): may this run? A pure function of plain values, asked twice: before the claim, and again under its lock.

The order of the questions is the contract. What is settled or done comes first, so that pause, lateness and overlap
can never reopen it; what is alive comes before what may be retried; the overlap policy comes last, since it is about
other slots.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from once.noun import Noun
from once.run import Line, Outcome


class Overlap(StrEnum):
    """What to do when another run of the task is alive."""

    SKIP = "skip"
    WAIT = "wait"
    REPLACE = "replace"
    ALLOW = "allow"


class Reason(StrEnum):
    """Why a start does not run its command."""

    SETTLED = "settled"
    DONE = "done"
    EXCUSED = "excused"
    SKIPPED_BEFORE = "skipped before"
    HELD = "held"
    FAILED = "failed"
    CANCELLED = "cancelled"
    FIRST_SIGHT = "first sight"
    NOT_IN_FORCE = "not in force"
    PAUSED = "paused"
    RETIRED = "retired"
    LATE = "late"
    TOO_SOON = "too soon"
    OVERLAP = "overlap"


class Brief(Noun):
    """As much of another run as a decision, or the line that explains it, needs."""

    number: int
    outcome: Outcome
    slot: datetime | None
    attempt: int
    host: str
    pid: int
    claimed_at: datetime | None
    lease_until: datetime | None
    retry_at: datetime | None
    exit_status: int | None
    stop_asked: str | None = None
    caught_up: bool = False


class Twin(Noun):
    """A run of the same line whose slot has the same local time as the wished one, but is another instant.

    It counts as a run of this line if no other line was in use when it was claimed. It is looked for within three
    hours, since no country moves its clocks by more, except for the few that crossed the date line.
    """

    number: int
    slot: datetime
    host: str


class Wish(Noun):
    """What a start asks for.

    `on_time` is how late it may be for a slot from before its schedule was first seen; None without a schedule, or
    when the slot was given by hand. `fired_at` is by this host's clock, as are the slots it is compared with.
    `attempts` is how many the slot has over all hosts; None: any number. `standby` waits for the holder's end.

    `catches_up`: the slot is one that nobody ran in its time. `rerun`: an operator wants the slot's next attempt,
    whatever became of the others, unless it has succeeded; `again`: even then.
    """

    slot: datetime | None
    fired_at: datetime
    on_time: timedelta | None = None
    attempts: int | None = 1
    standby: bool = False
    overlap: Overlap = Overlap.SKIP
    start_within: timedelta | None = None
    min_interval: timedelta = timedelta()
    catches_up: bool = False
    rerun: bool = False
    again: bool = False


class Facts(Noun):
    """What the store knows at one moment, by the database's clock `now`.

    `latest` is the newest attempt of the wished slot, `used` how many of its attempts count against --attempts: those
    that a signal stopped do not. `blocker` is the newest other run that is alive: its row says running and its lease
    is good, or a transaction holds its fence. `in_force_since` is when the line this start carries was first seen in
    its current interval (None: it begins one), `line_noted` whether that interval needs no word of this slot. `line`
    and `command_hash` are what the task was last seen with. A `twin` means that its host and this one have different
    zone data. `paused` and `retired` say by whom and why, where the task is; None where it is not.
    """

    now: datetime
    identity: str
    known: bool = False
    settled_through: datetime | None = None
    paused: str | None = None
    retired: str | None = None
    succeeded: bool = False
    latest: Brief | None = None
    latest_alive: bool = False
    used: int = 0
    blocker: Brief | None = None
    last_claimed_at: datetime | None = None
    in_force_since: datetime | None = None
    line: Line | None = None
    line_noted: bool = True
    command_hash: str | None = None
    previous_success: datetime | None = None
    seen_today: bool = False
    taken_name: str | None = None
    twin: Twin | None = None


class Go(Noun):
    """Run the command, as this attempt of the slot."""

    attempt: int


class Skip(Noun):
    """Do not run it. `recorded`: a row says so, if the slot has none yet.

    `run` is the run that is the reason, `why` what an operator gave as one.
    """

    reason: Reason
    recorded: bool = False
    run: Brief | None = None
    why: str = ""


class Wait(Noun):
    """Ask again later: this run is in the way, and the policy is to wait for its end.

    `replaces`: it is to be asked to stop, and has not been yet.
    """

    run: Brief
    replaces: bool = False


Verdict = Go | Skip | Wait

AFTER_SKIP = {Outcome.EXCUSED: Reason.EXCUSED, Outcome.SKIPPED: Reason.SKIPPED_BEFORE}


def decide(wish: Wish, facts: Facts) -> Verdict:
    """Say whether the wished run may start, and as which attempt."""
    verdict = _by_slot(wish, facts) if wish.slot is not None else None
    return verdict or _by_policy(wish, facts) or Go(_next_attempt(facts))


def must_write(verdict: Verdict) -> bool:
    """Whether the verdict has to be taken again under the lock, because something would be written.

    That is also so for a run whose lease has ended while its row says running: whoever finds it writes that it is lost.
    """
    if isinstance(verdict, Wait):
        return verdict.replaces
    if isinstance(verdict, Go):
        return True
    finds_a_lost_run = (
        verdict.reason is Reason.FAILED and verdict.run is not None and verdict.run.outcome is Outcome.RUNNING
    )
    return verdict.recorded or verdict.reason is Reason.FIRST_SIGHT or finds_a_lost_run


def _by_slot(wish: Wish, facts: Facts) -> Skip | Wait | None:
    assert wish.slot is not None
    latest = facts.latest
    if facts.settled_through is not None and wish.slot <= facts.settled_through and not wish.again:
        return Skip(Reason.SETTLED)
    if facts.succeeded and not wish.again:
        return Skip(Reason.DONE, run=latest)
    if latest is not None:
        return _by_latest(latest, wish, facts)
    if wish.on_time is not None and _before_in_force(wish, facts):
        return Skip(Reason.FIRST_SIGHT if facts.in_force_since is None else Reason.NOT_IN_FORCE)
    return None


def _by_latest(latest: Brief, wish: Wish, facts: Facts) -> Skip | Wait | None:
    if facts.latest_alive:
        return Wait(latest) if wish.standby else Skip(Reason.HELD, run=latest)
    if wish.rerun:
        return None
    if latest.outcome in AFTER_SKIP:
        return Skip(AFTER_SKIP[latest.outcome], run=latest)
    if latest.outcome is Outcome.CANCELLED:
        return Skip(Reason.CANCELLED, run=latest)
    has_attempts_left = wish.attempts is None or facts.used < wish.attempts
    return None if has_attempts_left else Skip(Reason.FAILED, run=latest)


def _before_in_force(wish: Wish, facts: Facts) -> bool:
    """Slots count from the first time that this schedule was seen; what was on time then counts too."""
    assert wish.slot is not None and wish.on_time is not None
    since = facts.in_force_since
    return (since is None or wish.slot < since) and wish.fired_at - wish.slot > wish.on_time


def _by_policy(wish: Wish, facts: Facts) -> Skip | Wait | None:
    recorded = wish.slot is not None and not wish.catches_up
    if wish.rerun:
        return Skip(Reason.OVERLAP, run=facts.blocker) if facts.blocker else None
    if facts.retired is not None:
        return Skip(Reason.RETIRED, recorded, why=facts.retired)
    if facts.paused is not None:
        return Skip(Reason.PAUSED, recorded, why=facts.paused)
    if wish.slot and wish.start_within is not None and wish.fired_at - wish.slot > wish.start_within:
        return Skip(Reason.LATE, recorded)
    if wish.min_interval and facts.last_claimed_at and facts.now - facts.last_claimed_at < wish.min_interval:
        return Skip(Reason.TOO_SOON, recorded)
    if facts.blocker is None or wish.overlap is Overlap.ALLOW:
        return None
    return _by_blocker(facts.blocker, wish, recorded=recorded)


def _by_blocker(blocker: Brief, wish: Wish, *, recorded: bool) -> Skip | Wait:
    """Hosts that catch up share the slots, so they wait for each other: none is skipped because another is at work."""
    if wish.overlap is Overlap.WAIT or wish.catches_up or blocker.caught_up:
        return Wait(blocker)
    if wish.overlap is Overlap.REPLACE and _is_newer(wish, blocker):
        return Wait(blocker, replaces=blocker.outcome is Outcome.RUNNING and blocker.stop_asked is None)
    return Skip(Reason.OVERLAP, recorded, blocker)


def _is_newer(wish: Wish, blocker: Brief) -> bool:
    return wish.slot is not None and blocker.slot is not None and wish.slot > blocker.slot


def _next_attempt(facts: Facts) -> int:
    return facts.latest.attempt + 1 if facts.latest is not None else 1
