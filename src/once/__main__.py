"""The entry of the command. The handlers come before every import that takes time: PID 1 gets no second signal."""

from __future__ import annotations

import gc
import os
import sys

from once.signals import Arrivals


def main() -> None:
    """Run `once` with the arguments of this process and exit. Does not return."""
    arrivals = Arrivals()
    arrivals.catch()
    gc.disable()
    from once.cli import main as run

    status = run(sys.argv[1:], arrivals)
    # Tearing the interpreter down costs as much as a sixth of a losing start, and a beat that hangs on a dead
    # network must not hold up the exit.
    os._exit(status)


if __name__ == "__main__":
    main()
