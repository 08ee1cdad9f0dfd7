"""The entry of the command. The handlers come before every import that takes time: PID 1 gets no second signal."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from once.signals import Arrivals, Interrupted, leave_at_once
from once.stdio import STDERR, plug

BROKEN, UNKNOWN = 125, 3
"""What says that nothing was run, and to a monitor that nothing is known."""


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
    except Exception as error:
        # An installation that is broken, or no memory even to tell of it. 1 would be the command's, or a finding's.
        if os.environ.get("ONCE_DEBUG"):
            raise
        told = f"once: internal error, {type(error).__name__}: {error}. Try: ONCE_DEBUG=1 for the traceback\n"
        with suppress(OSError):
            os.write(STDERR, told.encode(errors="backslashreplace"))
        os._exit(UNKNOWN if sys.argv[1:2] == ["check"] else BROKEN)


if __name__ == "__main__":
    main()
