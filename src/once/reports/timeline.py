"""The timeline: what ran when, in as many cells as fit on a line, now at the right edge.

A cell shows the worst of what happened in it, since it may hold a day: a failure among a hundred successes is what
one looks for. A missed slot is a hole, and counts before the runs beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from once.instants import DAY, HOUR, MINUTE
from once.noun import Noun

MISSED, DOUBLED, IDLE = "missed", "overlap", "idle"

WORST_FIRST = (
    "stuck",
    "lost",
    "failed",
    "timed_out",
    MISSED,
    "stopped",
    "cancelled",
    DOUBLED,
    "running",
    "succeeded",
    "excused",
    "skipped",
)

MARKS = {
    "stuck": "!", "lost": "?", "failed": "x", "timed_out": "x", MISSED: "o", "stopped": "/", "cancelled": "/",
    DOUBLED: "=", "running": ">", "succeeded": "#", "excused": "-", "skipped": "-", IDLE: ".",
}  # fmt: skip
"""Legible without colour and without any but ASCII characters."""

FINE_MARKS = MARKS | {MISSED: "○", DOUBLED: "‖", "running": "▶", "succeeded": "■", IDLE: "·"}

STEPS = (
    MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 364 * DAY,
)  # fmt: skip
LONGEST_BY_WEEKDAY, LONGEST_BY_DATE = 2 * DAY, 28 * DAY
"""With longer steps the days of several months, or the months of several years, stand on one axis."""

LABEL = 7
"""Columns that a label of the axis takes up, with the blank behind it."""


class Strip(Noun):
    """So many runs alike: from cell `first` to `last`, and beside another until `shared_last`, if beside one at all."""

    task: str
    host: str
    state: str
    first: int
    last: int
    shared_last: int | None
    runs: int


class Row(Noun):
    """A line of the picture: for each cell, how many of what. `host` is None for all of the task."""

    task: str
    host: str | None
    cells: tuple[dict[str, int], ...]

    def states(self) -> list[str]:
        """The worst of each cell."""
        return [next((state for state in WORST_FIRST if cell.get(state)), IDLE) for cell in self.cells]


class Grid(Noun):
    """The cells: so many of equal length, the last of which ends now."""

    since: datetime
    now: datetime
    cells: int

    @property
    def length(self) -> timedelta:
        """Of a cell."""
        return (self.now - self.since) / self.cells

    def cell(self, at: datetime) -> int:
        """Which cell an instant lies in."""
        return max(0, min(self.cells - 1, int((at - self.since) / self.length)))

    def row(self, task: str, host: str | None, strips: Iterable[Strip], missed: Iterable[datetime] = ()) -> Row:
        """Fill the cells."""
        cells: list[dict[str, int]] = [{} for _ in range(self.cells)]
        for strip in strips:
            first, last = max(0, strip.first), min(self.cells - 1, strip.last)
            for number in range(first, last + 1):
                cells[number][strip.state] = cells[number].get(strip.state, 0) + strip.runs
            if strip.shared_last is not None:
                for number in range(first, min(last, strip.shared_last) + 1):
                    cells[number][DOUBLED] = cells[number].get(DOUBLED, 0) + strip.runs
        for slot in missed:
            number = self.cell(slot)
            cells[number][MISSED] = cells[number].get(MISSED, 0) + 1
        return Row(task, host, tuple(cells))

    def axis(self) -> str:
        """Local times above the cells that they begin in, and `now` at the right edge."""
        least = self.length * (LABEL + 1)
        step = next((step for step in STEPS if step >= least), STEPS[-1] * -(-least // STEPS[-1]))
        line = [" "] * self.cells
        line[-3:] = "now"
        for at in _ticks(self.since, self.now, step):
            text, column = _label(at, step), self.cell(at)
            if column + len(text) < self.cells - len("now "):
                line[column : column + len(text)] = text
        return "".join(line)


def _label(at: datetime, step: timedelta) -> str:
    """As much as tells a tick from the others, and no more."""
    if step > LONGEST_BY_DATE:
        return f"{at:%Y-%m}"
    if step > LONGEST_BY_WEEKDAY:
        return f"{at:%b %d}"
    return f"{at:%H:%M}" if step < DAY and (at.hour or at.minute) else f"{at:%a %d}"


def marks(states: Iterable[str], *, fine: bool) -> Sequence[tuple[str, str]]:
    """Each cell's mark, and its state, which decides about the colour."""
    table = FINE_MARKS if fine else MARKS
    return [(table[state], state) for state in states]


def legend(rows: Iterable[Row], *, fine: bool) -> Sequence[tuple[str, str]]:
    """The marks that occur, and what they mean."""
    table = FINE_MARKS if fine else MARKS
    seen = {state for row in rows for state in row.states()}
    words: dict[str, list[str]] = {}
    for state in (*WORST_FIRST, IDLE):
        if state in seen:
            words.setdefault(table[state], []).append(state)
    parts: list[tuple[str, str]] = []
    for mark, meanings in words.items():
        parts += [(mark, meanings[0]), (f" {' or '.join(one.replace('_', ' ') for one in meanings)}   ", "")]
    return parts


def _ticks(since: datetime, now: datetime, step: timedelta) -> Iterable[datetime]:
    """Round local times. Stepped in local time of today's offset: across a change of the clock they are off by it."""
    start = since.astimezone()
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight + max(0, -((midnight - start) // step)) * step
    while at < now:
        if at >= start:
            yield at
        at += step
