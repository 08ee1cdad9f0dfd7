"""What ends a wait for the command: a signal, the end of a child, or another thread.

One pipe does for all three. The interpreter writes a byte into it when a signal arrives (set_wakeup_fd), `ring` does
when a thread has news. What the byte says does not matter: whoever hears it looks at everything.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import FrameType


class Bell:
    """The pipe, and what has to be so that the end of a child writes into it: SIGCHLD handled, and not blocked.

    That also mends a SIGCHLD that was inherited as ignored: the kernel would throw the command's status away.
    `inherited_mask` are the signals that were blocked before, which is what the command shall find.
    """

    def __init__(self) -> None:
        self.ear, self._clapper = os.pipe()
        os.set_blocking(self.ear, False)
        os.set_blocking(self._clapper, False)
        self._closing = threading.RLock()
        self._rung = False
        self._before = signal.set_wakeup_fd(self._clapper, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _heard)
        self.inherited_mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])

    def ring(self) -> None:
        """Wake the main thread; from any thread, or from a handler."""
        self._rung = True
        with self._closing:
            if self._clapper < 0:
                return
            with suppress(BlockingIOError):  # full: there is enough to hear
                os.write(self._clapper, b"\0")

    def was_rung(self) -> bool:
        """Whether `ring` was called since this was last asked."""
        rung, self._rung = self._rung, False
        return rung

    def hush(self) -> None:
        """Empty the pipe."""
        with suppress(BlockingIOError):
            while os.read(self.ear, 4096):
                pass

    def close(self) -> None:
        """Take the pipe down. A thread that rings later is not heard, and writes into nobody else's descriptor."""
        with self._closing:
            clapper, self._clapper = self._clapper, -1
            if clapper < 0:
                return
            signal.set_wakeup_fd(self._before)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_BLOCK, self.inherited_mask & {signal.SIGCHLD})
            os.close(clapper)
            os.close(self.ear)


def _heard(_signum: int, _frame: FrameType | None) -> None:
    """Nothing: the byte in the pipe is what counts."""
