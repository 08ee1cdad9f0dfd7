"""Results to text or JSON. On a terminal: tables that fit, in colour. Into a pipe: plain, complete, never cut.

A verb returns an Answer; what it holds is data and is never taken for markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from once import table
from once.errors import OutputRefused
from once.instants import in_words, rfc3339
from once.voice import escaped

STYLES = {
    "succeeded": "green",
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "stuck": "bold red",
    "stopped": "yellow",
    "cancelled": "yellow",
    "running": "cyan",
    "missed": "bold red",
    "overlap": "bold magenta",
    "idle": "dim",
    "skipped": "dim",
    "excused": "dim",
    "title": "bold",
    "below": "dim",
}
"""By the word in the cell, so that an outcome looks the same in every table. Nothing depends on the colours."""


Cell = str | datetime | None
"""A cell of a table. An instant is written as there is room for it; None: there is none."""

ANOTHER_YEAR = timedelta(days=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a verb has found. `items` is the contract for programs; heading, titles, rows and lines are for people.

    `gives_way` names the titles of the columns that a narrow terminal does without first: they stand below their row.
    `beside` is what else programs get, under keys of their own.

    `picture` is lines of text in pieces, each with the word that decides about its colour. `raw` is bytes to be written
    as they are, instead of all that.
    """

    verb: str
    items: Iterable[dict[str, Any]] = ()
    beside: Mapping[str, Sequence[dict[str, Any]]] = field(default_factory=dict)
    heading: Sequence[str] = ()
    titles: Sequence[str] = ()
    rows: Iterable[Sequence[Cell]] = ()
    gives_way: Sequence[str] = ()
    lines: Sequence[str] = ()
    picture: Sequence[Sequence[tuple[str, str]]] = ()
    raw: bytes | None = None
    as_json: bool = False
    status: int = field(default=0)


def show(answer: Answer) -> int:
    """Print it; the exit status. Raises OutputRefused; BrokenPipeError when the reader has seen enough."""
    try:
        _show(answer)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputRefused(why=error.strerror) from error
    return answer.status


def _show(answer: Answer) -> None:
    if answer.raw is not None:
        _write(answer.raw)
    elif answer.as_json:
        _show_json(answer)
    elif sys.stdout is not None and sys.stdout.isatty():
        _show_on_terminal(answer)
    else:
        _show_plain(answer)


def moment(at: datetime | None) -> str:
    """An instant for people: local to the reader, with its offset; to the second."""
    return at.astimezone().isoformat(" ", "seconds") if at else "-"


def short_moment(at: datetime | None, now: datetime) -> str:
    """An instant where there is little room: with the year, the seconds and the offset only if they matter.

    The offset matters if it is not today's.
    """
    if at is None:
        return "-"
    local, here = at.astimezone(), now.astimezone()
    day = f"{local:%b %d}" if abs(at - now) < ANOTHER_YEAR else f"{local:%Y-%m-%d}"
    clock = local.time().isoformat("seconds" if local.second else "minutes")
    return f"{day} {clock}" + ("" if local.utcoffset() == here.utcoffset() else local.isoformat()[-6:])


def interval(length: timedelta | None) -> str:
    """An interval for people."""
    return in_words(length) if length is not None else "-"


def plain(value: object) -> Any:
    """A value as JSON has it: times RFC 3339 in UTC, durations in seconds."""
    match value:
        case datetime():
            return rfc3339(value)
        case timedelta():
            return value.total_seconds()
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case tuple() | list():
            return [plain(part) for part in value]
        case _:
            return value


def _show_json(answer: Answer) -> None:
    """One object, written item by item: history may be long."""
    _write(f'{{"once": "{answer.verb}/1", "items": ['.encode())
    separator = b"\n  "
    for item in answer.items:
        _write(separator + json.dumps(plain(item), ensure_ascii=True).encode("ascii"))
        separator = b",\n  "
    _write(b"\n]")
    for key, values in answer.beside.items():
        _write(f', "{key}": {json.dumps(plain(values))}'.encode("ascii"))
    _write(b"}\n")


def _show_plain(answer: Answer) -> None:
    for text in answer.heading:
        _write_text(text)
    for line in table.plain(answer.titles, (list(map(_in_pipe, row)) for row in answer.rows)):
        _write_text(line)
    for pieces in answer.picture:
        _write_text(shown("".join(piece for piece, _ in pieces)).rstrip())
    for text in answer.lines:
        _write_text("\t".join(map(shown, text.split("\t"))))


def _show_on_terminal(answer: Answer) -> None:
    import shutil

    from rich.console import Console
    from rich.text import Text

    width = shutil.get_terminal_size().columns  # with COLUMNS=0 the console would print nothing at all
    console = Console(highlight=False, markup=False, emoji=False, width=width)

    def say(pieces: Sequence[table.Piece]) -> None:
        parts = ((shown(piece), STYLES.get(word, "")) for piece, word in pieces)
        console.print(Text.assemble(*parts), soft_wrap=True)

    now = datetime.now(UTC)
    rows = ([_on_terminal(cell, now) for cell in row] for row in answer.rows)
    for text in answer.heading:
        say([(text, "")])
    for line in table.fitted(answer.titles, rows, width, answer.gives_way):
        say(line)
    for pieces in answer.picture:
        say(pieces)
    for text in answer.lines:
        say([(text, "")])


def _in_pipe(cell: Cell) -> str:
    return shown(cell) if isinstance(cell, str) else moment(cell)


def _on_terminal(cell: Cell, now: datetime) -> str:
    return shown(cell) if isinstance(cell, str) else short_moment(cell, now)


def shown(text: str) -> str:
    """The text as one line can show it, with escapes for control characters and for what the output's encoding lacks.

    So a cell can neither break its table nor drive the terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return escaped(text).encode(encoding(), errors="backslashreplace").decode(encoding())


def encoding() -> str:
    """The encoding of standard output."""
    return (sys.stdout and sys.stdout.encoding) or "utf-8"


def _write_text(line: str) -> None:
    _write(f"{line}\n".encode(encoding(), errors="backslashreplace"))


def _write(data: bytes) -> None:
    if sys.stdout is not None:  # closed at the start: whoever did that wants the exit status alone
        out: BinaryIO = sys.stdout.buffer
        out.write(data)
