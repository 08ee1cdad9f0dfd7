"""The three descriptors that every process is given, and what to do where one was not."""

from __future__ import annotations

import os

STDERR = 2


def plug() -> None:
    """Open /dev/null onto those of the descriptors 0 to 2 that were closed at the start: first thing in main.

    Else the next file that is opened, a database perhaps, would become the standard output. These stand-ins are not
    inherited, so the command finds closed what was closed.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(opened)
