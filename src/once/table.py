"""Rows of cells as lines of text: aligned, complete, and no wider than a terminal is.

In a pipe a row is a line, whatever its length. On a terminal a row that does not fit gives up columns: they stand in
lines of their own below it, the last column first, the others behind their titles. The first column is folded before
that, and the last one is wrapped. Rows are looked at a page at a time, so that a history of any length goes through;
widths only grow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from once.noun import Noun

GAP = "  "
INDENT = "    "

AT_A_TIME = 500

PADDED_TO = 40
"""One long name does not push everybody's columns aside: it sticks out of its own."""

NAMES_SHARE, SHORTEST_NAME = 3, 16
"""Where a line is too short, the first column may take up a third of it, and sixteen columns in any case."""

WRAPPED_FROM = 20
"""With less room than this for it, the last column is put below the line."""

JOINTS = "-_/.:"

Piece = tuple[str, str]
"""Text, and the word that decides its colour."""


def columns(text: str) -> int:
    """How many columns of a terminal it takes up: an emoji, or a letter of East Asia, takes two."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else not unicodedata.combining(character)
        for character in text
    )


def plain(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """For a pipe. No rows: no lines."""
    widths = [0] * len(titles)
    for page in _pages(titles, rows):
        widths = [min(PADDED_TO, max(width, *map(columns, cells))) for width, cells in _by_column(widths, page)]
        for row in page:
            yield GAP.join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def fitted(
    titles: Sequence[str], rows: Iterable[Sequence[str]], width: int, gives_way: Sequence[str] = ()
) -> Iterator[list[Piece]]:
    """For a terminal: lines in pieces. `gives_way`: the titles of the columns that go below first, in this order."""
    layout = None
    for page in _pages(titles, rows):
        if layout is None:
            layout = Layout.of(titles, page, width, gives_way)
            page = page[1:]  # noqa: PLW2901 — the titles are another kind of row
            yield [(layout.line(titles), "title")]
        for row in page:
            yield from layout.lines(row)


class Layout(Noun):
    """Where the columns stand: `beside` each other in the line, with these widths, or below it."""

    titles: tuple[str, ...]
    beside: tuple[int, ...]
    widths: tuple[int, ...]
    below: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, titles: Sequence[str], page: Sequence[Sequence[str]], width: int, gives_way: Sequence[str]) -> Layout:
        """What fits in so many columns, going by these rows."""
        natural = [max(map(columns, cells)) for cells in zip(*page, strict=True)]
        last = len(titles) - 1
        needed = [*natural[:last], min(natural[last], WRAPPED_FROM)]
        if sum(needed) + len(GAP) * last > width:
            needed[0] = natural[0] = min(natural[0], max(SHORTEST_NAME, width // NAMES_SHARE))
        beside = list(range(len(titles)))
        leaving = [titles.index(title) for title in gives_way]
        leaving += [column for column in range(last, 0, -1) if column not in leaving]
        below = []
        for column in leaving:
            if sum(needed[each] for each in beside) + len(GAP) * (len(beside) - 1) <= width:
                break
            beside.remove(column)
            below.append(column)
        widths = [natural[column] for column in beside]
        if beside[-1] == last:
            widths[-1] = min(natural[last], width - sum(widths[:-1]) - len(GAP) * (len(beside) - 1))
        return cls(tuple(titles), tuple(beside), tuple(widths), tuple(sorted(below)), width)

    def line(self, row: Sequence[str]) -> str:
        """The columns beside each other, of a row whose cells fit."""
        return GAP.join(_padded(row[at], width) for at, width in zip(self.beside, self.widths, strict=True)).rstrip()

    def lines(self, row: Sequence[str]) -> Iterator[list[Piece]]:
        """A row in as many lines as it takes."""
        words = [row[column].partition(" ")[0] if column else "" for column in self.beside]
        folded = [self._folded(row[at], at, width) for at, width in zip(self.beside, self.widths, strict=True)]
        for number in range(max(map(len, folded))):
            cells = [parts[number] if number < len(parts) else "" for parts in folded]
            yield self._pieces(cells, words)
        last = len(self.titles) - 1
        note = row[last] if last in self.below else ""
        for text, word in ((note, ""), ("; ".join(self._titled(row)), "below")):
            yield from ([(f"{INDENT}{part}", word)] for part in wrapped(text, self.width - len(INDENT)) if part)

    def _folded(self, cell: str, column: int, width: int) -> list[str]:
        return wrapped(cell, width) if column in (0, len(self.titles) - 1) else [cell]

    def _pieces(self, cells: Sequence[str], words: Sequence[str]) -> list[Piece]:
        shown = max((place for place, cell in enumerate(cells) if cell), default=0)
        pieces: list[Piece] = []
        for place, (cell, width, word) in enumerate(zip(cells, self.widths, words, strict=True)):
            if place <= shown:
                pieces += [(cell, word), ("" if place == shown else " " * (width - columns(cell)) + GAP, "")]
        return pieces

    def _titled(self, row: Sequence[str]) -> Iterator[str]:
        """What stands below, each behind its title, but for the last column, which speaks for itself."""
        for column in self.below:
            if column != len(self.titles) - 1 and row[column] not in ("", "-"):
                yield f"{self.titles[column].lower()} {row[column]}"


def wrapped(text: str, width: int) -> list[str]:
    """In lines of so many columns, one at least: broken at blanks, a word that is too long wherever it must."""
    width = max(1, width)
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns(joined) <= width:
            lines[-1] = joined
            continue
        parts = _cut(word, width)
        lines = lines + parts if lines[-1] else parts if len(lines) == 1 else lines[:-1] + parts
    return lines


def _cut(word: str, width: int) -> list[str]:
    """A word in parts that fit: split after a dash or the like, if there is one in the second half of a part."""
    parts = []
    while columns(word) > width:
        at = len(word)
        while at > 1 and columns(word[:at]) > width:
            at -= 1
        joint = 1 + max(word.rfind(mark, 0, at) for mark in JOINTS)
        at = joint if joint > at // 2 else at
        parts.append(word[:at])
        word = word[at:]
    return [*parts, word]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - columns(cell))


def _pages(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """The rows, the titles before them."""
    remaining = iter(rows)
    for first in remaining:
        yield [titles, first, *islice(remaining, AT_A_TIME)]
        break
    while page := list(islice(remaining, AT_A_TIME)):
        yield page


def _by_column(widths: Sequence[int], page: Sequence[Sequence[str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    return zip(widths, zip(*page, strict=True), strict=True)
