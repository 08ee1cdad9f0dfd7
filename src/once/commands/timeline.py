"""`once timeline`: the picture. Time runs from left to right, a row a task, or a host with one task."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from once.commands.looking import Look, Period, look
from once.commands.options import as_json, database
from once.errors import OnceError
from once.instants import in_words
from once.render import Answer, encoding, moment, shown
from once.reports.due import Due, InForce, Quiet
from once.reports.gaps import Kind
from once.reports.gaps import gaps as gaps_of
from once.reports.timeline import Grid, Row, Strip, legend, marks
from once.run import Task
from once.table import columns

WIDTH_IN_A_PIPE = 100
FEWEST_CELLS = 12
NAMES_SHARE = 3
"""A name may take up this part of a terminal's line; in a pipe it is never cut."""


@click.command(short_help="A picture of what ran when, and what did not.")
@click.argument("task", required=False)
@click.option("--since", metavar="WHEN", default="24h", help="Since when.  [default: 24h, a day ago]")
@database
@as_json
def timeline(*, task: str | None, since: str, db: str | None, as_json: bool) -> Answer:
    """Draw what ran when: a row a task, or with TASK a row a host; now is at the right edge.

    \b
    Example:
      once timeline --since 7d
    """
    asked = look([task] if task is not None else [], db)
    period = Period.of(since, None, asked.store.now())
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((80 if on_terminal else WIDTH_IN_A_PIPE, 24)).columns
    names = _names_width(asked, width, on_terminal=on_terminal)
    grid = Grid(period.since, period.now, max(FEWEST_CELLS, width - names - 2))
    rows = list(_rows(asked, grid))
    if as_json:
        return Answer(verb="timeline", items=_items(rows, grid), as_json=True)
    if not rows:
        return Answer(verb="timeline", lines=["No task has been recorded yet."])
    return Answer(verb="timeline", picture=_picture(rows, grid, names))


def _rows(asked: Look, grid: Grid) -> Iterator[Row]:
    """One row per task; below a task that was named, one for each of its hosts."""
    quiet = asked.store.pauses()
    for batch in asked.batches():
        names = [task.name for task in batch]
        strips: dict[str, list[Strip]] = {}
        for strip in asked.store.strips(names, since=grid.since, now=grid.now, length=grid.length):
            strips.setdefault(strip.task, []).append(strip)
        in_force = asked.store.in_force(names)
        due = {task.name: _due(task, in_force, quiet) for task in batch}
        missed = _missed(asked, {name: one for name, one in due.items() if one is not None}, grid)
        for name in names:
            yield grid.row(name, None, strips.get(name, ()), missed.get(name, ()))
            if asked.named:
                hosts = sorted({strip.host for strip in strips.get(name, ())})
                yield from (grid.row(name, host, [one for one in strips[name] if one.host == host]) for host in hosts)


def _due(task: Task, in_force: Sequence[InForce], quiet: Sequence[Quiet]) -> Due | None:
    try:
        return Due.of(task, in_force, quiet)
    except OnceError:  # written by a newer once, or with zone data that this host lacks
        return None


def _missed(asked: Look, due: dict[str, Due], grid: Grid) -> dict[str, list[datetime]]:
    found: dict[str, list[datetime]] = {}
    for since, until in Period(grid.since, grid.now, grid.now).spans(len(due)) if due else ():
        for page in asked.store.slots(list(due), since=since, until=until):
            gaps = gaps_of(page, due[page.task], now=grid.now, skipped=False, each=True)
            found.setdefault(page.task, []).extend(gap.first for gap in gaps if gap.kind is Kind.MISSED)
    return found


def _names_width(asked: Look, width: int, *, on_terminal: bool) -> int:
    longest = max((columns(shown(task.name)) for task in asked.tasks), default=0)
    if asked.named:
        longest = max(longest, 16)
    return min(longest, width // NAMES_SHARE) if on_terminal else longest


def _picture(rows: Sequence[Row], grid: Grid, names: int) -> list[list[tuple[str, str]]]:
    fine = encoding().lower().replace("-", "") == "utf8"
    heading = f"{moment(grid.since)} to {moment(grid.now)}, {in_words(grid.length)} a mark"
    lines: list[list[tuple[str, str]]] = [[(heading, "")], [(f"{'':{names}}  {grid.axis()}", "")]]
    for row in rows:
        name = shown(row.task if row.host is None else f"  {row.host}")
        lines.append([(_fitted(name, names, "…" if fine else "~"), ""), *marks(row.states(), fine=fine)])
    return [*lines, [], list(legend(rows, fine=fine))]


def _fitted(name: str, width: int, end: str) -> str:
    """The name in so many columns, cut if need be, and two blanks."""
    if columns(name) > width:
        while name and columns(name) >= width:
            name = name[:-1]
        name += end
    return name + " " * (width - columns(name) + 2)


def _items(rows: Sequence[Row], grid: Grid) -> Iterator[dict[str, Any]]:
    for row in rows:
        for number, cell in enumerate(row.cells):
            if cell:
                since = grid.since + number * grid.length
                yield {"task": row.task, "host": row.host, "from": since, "until": since + grid.length, "marks": cell}
