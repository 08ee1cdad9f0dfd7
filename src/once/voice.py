"""What `once` says while it wraps a command: on stderr alone, one line at a time, and never a failure of its own."""

from __future__ import annotations

import os

from once.noun import Noun


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

    Written past Python's buffers in one call, so that lines of several hosts' logs do not mix.
    """
    try:
        os.write(2, " ".join(line.splitlines()).encode(errors="backslashreplace") + b"\n")
    except OSError:
        return
