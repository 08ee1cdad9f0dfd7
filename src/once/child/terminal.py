"""The controlling terminal, if there is one.

With a terminal the command stays in the group of `once`: Ctrl-Z then stops both and `fg` continues both, the command
may read, and the shell sees one job. In a group of its own it would be in the background: its reads would hang.
Descriptor 0 is not asked: sudo and ssh read the terminal whatever their input is.
"""

from __future__ import annotations

import os
import signal

FROM_THE_KEYBOARD = frozenset((signal.SIGINT, signal.SIGQUIT))
"""What the terminal sends to its whole foreground group when keys are pressed."""


def foreground_group() -> int | None:
    """The process group in the foreground of the controlling terminal; None without one, or after a hang-up."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.tcgetpgrp(terminal)
    except OSError:
        return None
    finally:
        os.close(terminal)


def has_told(signum: int) -> bool:
    """Whether the terminal has sent this signal to the command as well, so that it must not come twice."""
    return signum in FROM_THE_KEYBOARD and foreground_group() == os.getpgrp()
