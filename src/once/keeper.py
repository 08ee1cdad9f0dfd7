"""The keeper: the thread that beats. The only thread, so that nothing the command does can hold up a beat.

It beats every fifth of the lease, sooner after a failure, and at once when asked. What it learns it puts into `lease`,
`gone` and `stop_asked`, and wakes the main thread, which alone decides what that means for the command.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from once.clock import LONGEST_WAIT, Clock, jittered
from once.lease import Lease
from once.store.base import Beat


class Keeper:
    """Keeps one lease until it is stopped or the run is no longer ours.

    `beat` sends one beat and answers it; what it raises counts as no answer, and is kept in `trouble`.
    """

    def __init__(self, lease: Lease, *, beat: Callable[[], Beat], clock: Clock, news: Callable[[], None]) -> None:
        self.lease = lease
        self.gone: Beat | None = None
        self.stop_asked: str | None = None
        self.trouble: Exception | None = None
        self._beat, self._clock, self._news = beat, clock, news
        self._due = lease.sent + lease.beat_every.total_seconds()
        self._asked = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._keep, name="once-keeper", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def ask(self) -> None:
        """Beat now: trust has ended and the main thread wants to know."""
        self._asked.set()

    def stop(self) -> None:
        """No further beat is begun. One that is under way is not waited for: it names a run that has ended."""
        self._stopped = True
        self._asked.set()

    def wait_for_end(self) -> None:
        """Until the thread is gone, a beat that is under way included: before a fork there must be one thread."""
        self._thread.join()

    def _keep(self) -> None:
        while self.gone is None:
            if self._asked.wait(min(LONGEST_WAIT, max(0.0, self._due - self._clock.boottime()))):
                self._asked.clear()
                self._due = self._clock.boottime()
            if self._stopped:
                return
            if self._clock.boottime() >= self._due:
                self._beat_once()

    def _beat_once(self) -> None:
        sent = self._clock.boottime()
        try:
            answer = self._beat()
        except Exception as error:  # noqa: BLE001 — a beat that failed in any way is a beat without an answer
            self.trouble = error
            self._due = self._clock.boottime() + self._soon()
            return
        self.trouble = None
        if answer.ours:
            self.stop_asked = answer.stop
            self.lease = self.lease.extended(sent=sent)
            self._due = sent + self.lease.beat_every.total_seconds()
        else:
            self.gone = answer
        self._news()

    def _soon(self) -> float:
        """Seconds until the next try after a failure: a quarter of the usual distance, at most 5 s, with jitter."""
        return jittered(min(self.lease.beat_every.total_seconds() / 4, 5.0))
