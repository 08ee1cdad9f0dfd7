"""What `once` says while it wraps a command: on stderr alone, one line at a time, and never a failure of its own."""

from __future__ import annotations

import os

from once.noun import Noun

STDERR = 2

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
    """One line to stderr, whole, whatever its characters; a closed or full stderr is nobody's failure.

    Control characters are shown, not sent: what an operator gave as a reason must not drive anybody's terminal.

    Written past Python's buffers in one call, so that lines of several hosts' logs do not mix. A reader who does not
    read is not waited for: a command is watched over meanwhile, and its time limit, its lease go on.
    """
    line = " ".join(line.splitlines())
    if not line.isprintable():
        line = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
    rest = line.encode(errors="backslashreplace") + b"\n"
    try:
        while rest and _has_room():
            rest = rest[os.write(STDERR, rest[:TAKEN_WHOLE]) :]
    except OSError:
        return


def _has_room() -> bool:
    """Whether a write to stderr will not block; after a moment's patience."""
    import select

    writable = select.poll()
    writable.register(STDERR, select.POLLOUT)
    return bool(writable.poll(PATIENCE))
