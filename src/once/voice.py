"""What `once` says while it wraps a command: on stderr only, one line at a time, and never a failure of its own."""

from __future__ import annotations

import os

from once.noun import Noun
from once.stdio import STDERR

TAKEN_WHOLE = 4096
"""Bytes that a pipe takes at once if it polls as writable (pipe(7), PIPE_BUF)."""

PATIENCE = 1000
"""Milliseconds."""


class Voice(Noun):
    """How much is said. Quiet by default, so that cron sends no mail; on a terminal every skip speaks."""

    verb: str
    task: str
    verbose: bool = False
    quiet: bool = False
    on_terminal: bool = False

    def say(self, line: str) -> None:
        """Something the reader has to know; --quiet silences it."""
        if not self.quiet:
            self.insist(line)

    def mention(self, line: str) -> None:
        """Something that explains a silence: said on a terminal and with --verbose."""
        if self.verbose or self.on_terminal:
            self.say(line)

    def detail(self, line: str) -> None:
        """Something for whoever looks for the reason: said with --verbose."""
        if self.verbose:
            self.say(line)

    def insist(self, line: str) -> None:
        """Why the exit status is not the command's own: said always."""
        write_line(f"{self.verb}: {self.task}: {line}")


def write_line(line: str) -> None:
    """Write one line to stderr, whatever its characters. A stderr that is closed or full is not a failure.

    Written past Python's buffers in one call, so that lines of several processes in one log do not mix. A reader who
    does not read is given up after a moment: a command is being supervised meanwhile, and its time limit and its lease
    go on.
    """
    rest = escaped(" ".join(line.splitlines())).encode(errors="backslashreplace") + b"\n"
    try:
        while rest and _has_room():
            rest = rest[os.write(STDERR, rest[:TAKEN_WHOLE]) :]
    except OSError:
        return


def escaped(text: str) -> str:
    """The text with control characters as escapes: nothing that was recorded may drive the reader's terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _has_room() -> bool:
    """Whether a write to stderr will not block, now or within PATIENCE."""
    import select

    writable = select.poll()
    writable.register(STDERR, select.POLLOUT)
    return bool(writable.poll(PATIENCE))
