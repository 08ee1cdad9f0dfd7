"""Gaps: slots that should have run and have no successful run.

Missed: due, and nobody started it. Failed and lost: somebody did, and the newest attempt did not succeed; such a slot
counts whether it was due or not, since somebody wanted it. Skipped: a policy said no, told only when asked for. A slot
that is running, will be tried again or is younger than its grace is no gap yet; one that was excused, and one in a
pause, never is. Slots in a row that went wrong alike are one gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from once.instants import at_unix_seconds, in_words, unix_seconds
from once.noun import Noun
from once.reports.due import Due
from once.run import Outcome
from once.verdict import Reason

LOOKED_AT_SINGLY = 32

NOT_A_POLICY = frozenset((Reason.PAUSED.value, Reason.RETIRED.value))
"""Reasons of skips that an operator wanted."""

NO_START = "no start"
LEASE_ENDED = "its lease ended"


class Kind(StrEnum):
    """What became of the slots of a gap."""

    MISSED = "missed"
    FAILED = "failed"
    LOST = "lost"
    SKIPPED = "skipped"
    SILENT = "silent"


class Attempt(Noun):
    """As much of a run that did not succeed as a gap needs."""

    task: str
    slot: datetime
    number: int
    outcome: Outcome
    reason: str | None = None
    host: str = ""
    exit_status: int | None = None
    signal: int | None = None
    late_outcome: Outcome | None = None
    retry_at: datetime | None = None
    lease_until: datetime | None = None


class Page(Noun):
    """What is recorded of a task's slots with since ≤ slot < until.

    `done` are the slots of its successful runs, in whole seconds since the Unix epoch, as a year may have half a
    million of them; `undone` its other runs that have a slot. Both are in the order of slots, and the attempts of one
    slot in their own.
    """

    task: str
    since: datetime
    until: datetime
    done: list[int]
    undone: list[Attempt]


class Gap(Noun):
    """`count` slots in a row, from `first` to `last`, that went wrong alike. `number` and `host`: of the last's run."""

    task: str
    kind: Kind
    first: datetime
    last: datetime
    count: int
    reason: str
    number: int | None = None
    host: str | None = None


def gaps(page: Page, due: Due, *, now: datetime, skipped: bool = False, each: bool = False) -> Iterator[Gap]:
    """The gaps of a page, earliest first. `skipped`: policy skips too. `each`: slots in a row are not put together."""
    found: Gap | None = None
    for wrong in _went_wrong(page, due, now, skipped=skipped):
        if found is not None and (each or wrong is None or not _alike(found, wrong)):
            yield found
            found = None
        if wrong is not None:
            found = wrong if found is None else _together(found, wrong)
    if found is not None:
        yield found


def joined(earlier: Gap, later: Gap, due: Due, *, now: datetime) -> Gap | None:
    """One gap of two that two pages have told, if they are alike and no due slot lies between them."""
    if not _alike(earlier, later) or due.next_after(earlier.last, later.first, now=now) is not None:
        return None
    return _together(earlier, later)


def silence(task: str, last_start: datetime, next_start: datetime, every: timedelta) -> Gap:
    """The gap between two starts of a task without a schedule that was to start every so often."""
    count = max(1, -((last_start - next_start) // every) - 1)
    reason = f"no start for {_whole_seconds(next_start - last_start)}"
    return Gap(task, Kind.SILENT, last_start + every, last_start + count * every, count, reason)


def _whole_seconds(interval: timedelta) -> str:
    return in_words(timedelta(seconds=interval // timedelta(seconds=1)))


def _alike(one: Gap, other: Gap) -> bool:
    return (one.task, one.kind, one.reason) == (other.task, other.kind, other.reason)


def _together(earlier: Gap, later: Gap) -> Gap:
    return later.replaced(first=earlier.first, count=earlier.count + later.count)


def _went_wrong(page: Page, due: Due, now: datetime, *, skipped: bool) -> Iterator[Gap | None]:
    """A gap for each slot that went wrong, in order, and None where a slot that did not stands before it."""
    told = _told_of(page, now, skipped=skipped)
    pending = sorted(told)
    for day in filter(None, due.seconds(page.since, page.until, now=now)):
        upto = bisect_right(pending, day[-1])
        extra, pending = pending[:upto], pending[upto:]
        slots = sorted({*day, *extra}) if extra else list(day)
        done = page.done[bisect_left(page.done, slots[0]) : bisect_right(page.done, slots[-1])]
        if slots == done:
            yield None
        else:
            yield from _of_day(page.task, slots, _places_of_others(slots, done), told)
    yield from (told[slot] for slot in pending)


def _places_of_others(slots: list[int], done: list[int], offset: int = 0) -> Iterator[int]:
    """Where the slots without a success stand. Comparing lists is cheap, so what is alike is cut away by halves."""
    if slots == done:
        return
    if len(slots) <= LOOKED_AT_SINGLY:
        succeeded = frozenset(done)
        yield from (offset + place for place, slot in enumerate(slots) if slot not in succeeded)
        return
    middle = len(slots) // 2
    cut = bisect_left(done, slots[middle])
    yield from _places_of_others(slots[:middle], done[:cut], offset)
    yield from _places_of_others(slots[middle:], done[cut:], offset + middle)


def _of_day(task: str, slots: list[int], places: Iterable[int], told: dict[int, Gap | None]) -> Iterator[Gap | None]:
    before = -1
    for place in places:
        if place != before + 1:
            yield None
        slot, before = slots[place], place
        yield told[slot] if slot in told else _missed(task, at_unix_seconds(slot))
    if before != len(slots) - 1:
        yield None


def _missed(task: str, slot: datetime) -> Gap:
    return Gap(task, Kind.MISSED, slot, slot, 1, NO_START)


def _told_of(page: Page, now: datetime, *, skipped: bool) -> dict[int, Gap | None]:
    """What the newest attempt says of each slot without a success; None: it is no gap."""
    newest: dict[int, Attempt] = {}
    late: set[int] = set()
    for attempt in page.undone:
        slot = unix_seconds(attempt.slot)
        newest[slot] = attempt
        if attempt.late_outcome is Outcome.SUCCEEDED:
            late.add(slot)
    return {
        slot: None if slot in late else _judged(attempt, now, skipped=skipped)
        for slot, attempt in newest.items()
        if not _is_done(page.done, slot)
    }


def _is_done(done: list[int], slot: int) -> bool:
    at = bisect_left(done, slot)
    return at < len(done) and done[at] == slot


def _judged(attempt: Attempt, now: datetime, *, skipped: bool) -> Gap | None:
    match attempt.outcome:
        case Outcome.EXCUSED:
            return None
        case Outcome.SKIPPED:
            reason = (attempt.reason or "").partition(":")[0]
            return _gap(attempt, Kind.SKIPPED, reason) if skipped and reason not in NOT_A_POLICY else None
        case Outcome.RUNNING:
            is_alive = attempt.lease_until is not None and attempt.lease_until > now
            return None if is_alive else _gap(attempt, Kind.LOST, LEASE_ENDED)
        case Outcome.LOST:
            return _gap(attempt, Kind.LOST, (attempt.reason or LEASE_ENDED).partition(", found")[0])
        case _:
            will_be_tried_again = attempt.retry_at is not None and attempt.retry_at > now
            return None if will_be_tried_again else _gap(attempt, Kind.FAILED, _why(attempt))


def _gap(attempt: Attempt, kind: Kind, reason: str) -> Gap:
    return Gap(attempt.task, kind, attempt.slot, attempt.slot, 1, reason, attempt.number, attempt.host)


def _why(attempt: Attempt) -> str:
    if attempt.outcome is not Outcome.FAILED:
        return str(attempt.outcome).replace("_", " ")
    if attempt.signal is not None:
        return f"signal {attempt.signal}"
    return f"exit {attempt.exit_status}" if attempt.exit_status is not None else attempt.reason or "failed"
