"""Health: is each task all right, as a monitor asks? What is not is a finding, and the worst one is the task's state.

Late to start and running too long are different findings, as are a run that failed and one that never began: whoever
is woken looks in different places. A run that failed matters from so many in a row on; a slot that a policy skipped,
when the one before it had no success either. Hosts disagree, or one of them is gone, only among those that were seen
lately: a sighting is renewed once a day, so `lately` is a day and two slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from itertools import groupby, islice

from once.instants import DAY, INSTANT, in_words
from once.noun import Noun
from once.reports.due import Due, Stretch
from once.reports.stuck import Sign, Stuck
from once.run import Outcome, Task

CLOCK_OFF = timedelta(seconds=5)
"""A host's clock that is so far from the store's is told; from a minute on it runs nothing."""

FORGOTTEN_AFTER = timedelta(days=30)
"""A host that has not been seen for so much longer was taken out of service on purpose."""

COUNTED_AT_MOST = 1000
"""Late slots: beyond, the number says nothing more."""

DONE = (Outcome.SUCCEEDED, Outcome.EXCUSED)
FAILING = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.LOST)


class State(IntEnum):
    """What a monitoring plugin says, with its exit status."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def gravity(self) -> int:
        """Whatever is known to be wrong outweighs what is not known."""
        return (State.OK, State.UNKNOWN, State.WARNING, State.CRITICAL).index(self)


class Kind(StrEnum):
    """What is wrong."""

    LATE = "late to start"
    FAILING = "failing"
    SKIPPED = "skipped"
    STUCK = "stuck"
    TOO_LONG = "running too long"
    OVERLAP = "overlap"
    DRIFT = "drift"
    HOST_GONE = "host not seen"
    CLOCK = "clock"
    NO_SUCH_TASK = "no such task"
    UNREADABLE = "schedule"


class Finding(Noun):
    """One thing that is wrong with a task, in words that go behind its name."""

    kind: Kind
    state: State
    what: str


class Recent(Noun):
    """As much of a run, or of a skip, as a monitor needs."""

    number: int
    outcome: Outcome
    reason: str | None
    slot: datetime | None
    host: str
    claimed_at: datetime
    exit_status: int | None
    signal: int | None
    clock_offset: timedelta | None
    duration: timedelta | None = None


class Sighting(Noun):
    """A host that starts once for a task; `schedule` is its line in one text."""

    host: str
    first_seen: datetime
    last_seen: datetime
    schedule: str
    command_hash: str
    once_version: str


class Vitals(Noun):
    """What is known of a task's last days: its newest rows, newest first; its newest slot that succeeded; its hosts."""

    recent: tuple[Recent, ...] = ()
    last_success: datetime | None = None
    sightings: tuple[Sighting, ...] = ()


class Limits(Noun):
    """When something matters. `grace`: how late a start may be; None: as late as a first start may be."""

    failures: int = 1
    grace: timedelta | None = None


def findings(
    task: Task, vitals: Vitals, due: Due, stuck: Sequence[Stuck], *, alive: int, now: datetime, limits: Limits
) -> list[Finding]:
    """What is wrong with a task, the gravest first: of `stuck`, its stuck runs, and `alive`, how many are trusted."""
    found = [_of_stuck(one, now) for one in stuck]
    if task.retired_at is None:
        late = [] if task.is_paused(now) else list(_late(vitals, due, now, limits))
        found += [*late, *_failing(vitals, limits)]
        found += () if late else _hosts(task, vitals, due, now)  # with no start of anybody, no host is to blame
    found += _clocks(vitals, now)
    if alive > 1:
        found.append(Finding(Kind.OVERLAP, State.WARNING, f"{alive} runs are at work at once"))
    return sorted(found, key=lambda one: -one.state.gravity)


def last_success(vitals: Vitals) -> datetime | None:
    """The newest slot that succeeded; of a task without slots, when its newest success was claimed."""
    slotless = (run.claimed_at for run in vitals.recent if run.slot is None and run.outcome is Outcome.SUCCEEDED)
    return max(filter(None, (vitals.last_success, next(slotless, None))), default=None)


def failures(vitals: Vitals) -> list[Recent]:
    """The newest of each slot that failed, newest first, up to the last one that did not."""
    ended = (run for run in vitals.recent if run.outcome in (*FAILING, *DONE))
    streak = []
    for _, attempts in groupby(ended, key=lambda run: run.slot or run.number):
        newest = next(attempts)
        if newest.outcome in DONE or (newest.slot and newest.slot == vitals.last_success):
            break
        streak.append(newest)
    return streak


def worst(states: Iterable[State]) -> State:
    """Of several states the gravest; OK if there is none."""
    return max(states, key=lambda state: state.gravity, default=State.OK)


def ending(run: Recent) -> str:
    """How a run that failed ended."""
    if run.outcome is Outcome.FAILED and run.signal is None and run.exit_status is not None:
        return f"exit {run.exit_status}"
    return f"signal {run.signal}" if run.signal is not None else str(run.outcome).replace("_", " ")


def _of_stuck(stuck: Stuck, now: datetime) -> Finding:
    run = stuck.run
    where = f"run {run.number} on {run.host}, pid {run.pid}"
    if stuck.sign is Sign.TOO_LONG:
        usual = in_words(stuck.usual) if stuck.usual is not None else "unknown"
        return Finding(
            Kind.TOO_LONG, State.WARNING, f"running too long: {in_words(stuck.elapsed)}, usually {usual} ({where})"
        )
    ended = f"lease ended {_ago(run.lease_until, now)}" if run.lease_until is not None else "no lease"
    return Finding(Kind.STUCK, State.CRITICAL, f"stuck: {ended} ({where})")


def _late(vitals: Vitals, due: Due, now: datetime, limits: Limits) -> Iterator[Finding]:
    last = next(_due_before(due, now, limits.grace), None)
    if last is None or (vitals.last_success is not None and vitals.last_success >= last):
        return
    known = [run for run in vitals.recent if run.slot is not None and run.slot >= last]
    if not known:
        newest = max((run.slot for run in vitals.recent if run.slot is not None), default=None)
        yield Finding(Kind.LATE, State.CRITICAL, _lateness(vitals, due, last, newest, now, limits))
    elif all(run.outcome is Outcome.SKIPPED for run in known):
        before = next(islice(_due_before(due, now, limits.grace), 1, None), None)
        if before is None or vitals.last_success is None or vitals.last_success < before:
            why = f"skipped: {known[0].reason}, {_since_success(vitals, now)}"
            yield Finding(Kind.SKIPPED, State.WARNING, why)


def _lateness(vitals: Vitals, due: Due, last: datetime, newest: datetime | None, now: datetime, limits: Limits) -> str:
    late = 0
    first = last
    for slot in islice(_due_before(due, now, limits.grace), COUNTED_AT_MOST):
        if newest is not None and slot <= newest:
            break
        late, first = late + 1, slot
    more = f", {late}{' or more' if late == COUNTED_AT_MOST else ''} slots in a row" if late > 1 else ""
    by = in_words(timedelta(seconds=round((now - first).total_seconds())))
    return f"late to start: slot {_at(first)} is {by} late{more}, {_since_success(vitals, now)}"


def _since_success(vitals: Vitals, now: datetime) -> str:
    last = last_success(vitals)
    return f"last success {_ago(last, now)}" if last is not None else "no success yet"


def _failing(vitals: Vitals, limits: Limits) -> Iterator[Finding]:
    streak = failures(vitals)
    if len(streak) < limits.failures or not streak:
        return
    run = streak[0]
    times = f"{len(streak)} in a row, " if len(streak) > 1 else ""
    yield Finding(Kind.FAILING, State.CRITICAL, f"failing: {times}{ending(run)} (run {run.number} on {run.host})")


def _hosts(task: Task, vitals: Vitals, due: Due, now: datetime) -> Iterator[Finding]:
    lately = now - _lately(due, now)
    here = [one for one in vitals.sightings if one.last_seen >= lately]
    if task.line is not None:
        for what, of in (("schedule", _schedule), ("command", _command), ("once", _version)):
            texts = {of(one) for one in here}
            if len(texts) > 1:
                yield Finding(Kind.DRIFT, State.WARNING, f"drift: {what} differs, {_by_host(here, of)}")
    for one in vitals.sightings:
        used_to = one.last_seen - one.first_seen >= DAY
        if here and used_to and lately - FORGOTTEN_AFTER <= one.last_seen < lately:
            yield Finding(
                Kind.HOST_GONE, State.WARNING, f"host {one.host} has not started it since {_at(one.last_seen)}"
            )


def _lately(due: Due, now: datetime) -> timedelta:
    slots = list(islice(_due_before(due, now, timedelta()), 2))
    return DAY + 2 * (slots[0] - slots[1] if len(slots) == 2 else DAY)  # noqa: PLR2004 — two slots have a distance


def _by_host(sightings: Sequence[Sighting], of: Callable[[Sighting], str]) -> str:
    by_text: dict[str, list[str]] = {}
    for one in sightings:
        by_text.setdefault(of(one), []).append(one.host)
    return "; ".join(f"{text} on {', '.join(sorted(hosts))}" for text, hosts in sorted(by_text.items()))


def _schedule(sighting: Sighting) -> str:
    return sighting.schedule or "none"


def _command(sighting: Sighting) -> str:
    return sighting.command_hash


def _version(sighting: Sighting) -> str:
    return sighting.once_version


def _clocks(vitals: Vitals, now: datetime) -> Iterator[Finding]:
    told = set()
    for run in vitals.recent:
        if run.clock_offset is None or run.claimed_at < now - DAY or run.host in told:
            continue
        told.add(run.host)
        if abs(run.clock_offset) >= CLOCK_OFF:
            which = "ahead of" if run.clock_offset > timedelta() else "behind"
            what = f"clock of {run.host} is {in_words(abs(run.clock_offset))} {which} the database's"
            yield Finding(Kind.CLOCK, State.WARNING, what)


def _due_before(due: Due, now: datetime, grace: timedelta | None) -> Iterator[datetime]:
    """The due slots whose grace is over, latest first. A line that is no longer in force says nothing of today."""
    for stretch in due.stretches:
        if stretch.end is None:
            yield from (slot for slot in _backwards(stretch, now, grace) if not _is_quiet(due, slot))


def _backwards(stretch: Stretch, now: datetime, grace: timedelta | None) -> Iterator[datetime]:
    until = now + INSTANT if grace is None else now - grace + INSTANT
    for slot in stretch.schedule.before(until):
        if slot < stretch.start:
            return
        if grace is not None or slot + stretch.schedule.on_time(slot) <= now:
            yield slot


def _is_quiet(due: Due, slot: datetime) -> bool:
    return any(one.covers(slot) for one in due.quiet)


def _ago(at: datetime, now: datetime) -> str:
    return f"{in_words(timedelta(seconds=round((now - at).total_seconds())))} ago"


def _at(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%MZ}"
