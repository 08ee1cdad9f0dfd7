"""The entry of the command. The handlers come before every import that takes time: PID 1 gets no second signal."""

from __future__ import annotations

import gc
import os
import sys

from once.signals import Arrivals, Interrupted, leave_at_once
from once.stdio import plug


def main() -> None:
    """Run `once` with the arguments of this process and exit. Does not return.

    Tearing the interpreter down would cost as much as a sixth of a losing start, and a beat that hangs on a dead
    network must not hold up the exit.
    """
    arrivals = Arrivals(leave_at_once)
    try:
        arrivals.catch()
        plug()
        gc.disable()
        from once.cli import main as run

        os._exit(run(sys.argv[1:], arrivals))
    except Interrupted as interrupted:
        os._exit(128 + interrupted.signum)


if __name__ == "__main__":
    main()
