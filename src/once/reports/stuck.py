"""Stuck: a run that says running though its lease has ended, or that runs far longer than its task used to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from once.noun import Noun
from once.run import Outcome, Run

TIMES, MORE = 3.0, timedelta(minutes=1)
"""How much longer than usual is too long: so many times, and at least so much more."""

FEWEST = 5
"""Successes below which nobody can say what is usual."""

USUAL = 95
"""Of a hundred successes so many stayed within what is usual."""


class Sign(StrEnum):
    """What makes a run look stuck."""

    NO_BEAT = "no beat"
    TOO_LONG = "too long"


class Stuck(Noun):
    """A stuck run. `elapsed` since its claim; `usual`, the 95th percentile of its task's last successes, if known."""

    run: Run
    sign: Sign
    elapsed: timedelta
    usual: timedelta | None = None


def usual(durations: Sequence[timedelta]) -> timedelta | None:
    """The 95th percentile by nearest rank: what all but a twentieth stayed within. None: too few to say."""
    if len(durations) < FEWEST:
        return None
    return sorted(durations)[-(-len(durations) * USUAL // 100) - 1]


def may_be_too_long(run: Run, now: datetime) -> bool:
    """Whether it is worth asking how long its task used to take."""
    is_trusted = run.lease_until is not None and run.lease_until > now
    return is_trusted and run.claimed_at is not None and now - run.claimed_at > MORE


def stuck(
    runs: Sequence[Run],
    history: Mapping[str, Sequence[timedelta]],
    *,
    now: datetime,
    times: float = TIMES,
    more: timedelta = MORE,
) -> Iterator[Stuck]:
    """The stuck ones of these runs, in their order. `history`: how long a task's last successes took."""
    for run in runs:
        if run.outcome is not Outcome.RUNNING or run.claimed_at is None:
            continue
        elapsed, known = now - run.claimed_at, usual(history.get(run.task, ()))
        if run.lease_until is None or run.lease_until <= now:
            yield Stuck(run, Sign.NO_BEAT, elapsed, known)
        elif known is not None and elapsed > max(known * times, known + more):
            yield Stuck(run, Sign.TOO_LONG, elapsed, known)
