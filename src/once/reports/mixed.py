"""Mixed schedules: two lines of a task in use at once, half of the hosts with the old one. The slots of both run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import combinations

from once.noun import Noun
from once.reports.due import InForce
from once.run import Line


class Mixed(Noun):
    """Two lines, the one that was seen first before the other, and from when to when both were in use."""

    task: str
    lines: tuple[Line, Line]
    first: datetime
    last: datetime


def mixed(in_force: Iterable[InForce], since: datetime, until: datetime) -> Iterator[Mixed]:
    """The mixed schedules of a task in since ≤ time < until; a pair of lines once, from the first time to the last."""
    found: dict[frozenset[Line], Mixed] = {}
    for one, other in combinations(sorted(in_force, key=lambda each: each.first_seen), 2):
        first, last = other.first_seen, min(one.last_seen, other.last_seen)
        if one.line == other.line or first >= one.last_seen or first >= until or last < since:
            continue
        lines = (one.line, other.line)
        known = found.get(frozenset(lines), Mixed(one.task, lines, first, last))
        found[frozenset(lines)] = known.replaced(last=max(known.last, last))
    yield from found.values()
