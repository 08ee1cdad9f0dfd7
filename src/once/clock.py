"""The clocks: wall time for slots, CLOCK_BOOTTIME for durations and deadlines, and when this process was started.

CLOCK_BOOTTIME counts the time a host was suspended, so a laptop that wakes up finds its lease ended. Where the
system has none (macOS), CLOCK_MONOTONIC stands in.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

from once.noun import Noun

BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

LONGEST_WAIT = 1.0
"""Seconds. The timeouts of poll(2) and of threads do not count suspend, so no single wait may be long."""

OLDEST_START = 5.0
"""Seconds. A shell that works for an hour and then execs `once` hands down its age; more than this is not start-up."""


class Clock(Protocol):
    """What the time is. A port, so that tests can inject it."""

    def now(self) -> datetime:
        """The host's wall clock, aware, in UTC."""
        ...

    def boottime(self) -> float:
        """Seconds since boot, suspend included."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait. A signal may end it early by raising."""
        ...


class SystemClock:
    """The clocks of this host."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def boottime(self) -> float:
        return time.clock_gettime(BOOTTIME)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def jittered(seconds: float) -> float:
    """Half to one and a half times as long, at random, so that a fleet of hosts does not act in step."""
    return seconds * (0.5 + os.urandom(1)[0] / 255)


class Fired(Noun):
    """When this process was started: by the wall clock once, and carried forward by CLOCK_BOOTTIME from then on."""

    at: datetime
    boottime: float

    def carried_to(self, boottime: float) -> datetime:
        """What the host's clock would say at this CLOCK_BOOTTIME had nobody set it since the start."""
        return self.at + timedelta(seconds=boottime - self.boottime)


def fired(clock: Clock) -> Fired:
    """The instant at which cron, or whoever it was, started this process; to be asked first thing.

    The correction by the process's age is at most OLDEST_START seconds: the age survives exec.
    """
    age = min(max(_age_of_this_process(clock.boottime()), 0.0), OLDEST_START)
    return Fired(clock.now() - timedelta(seconds=age), clock.boottime() - age)


def _age_of_this_process(boottime: float) -> float:
    """Seconds since the fork that made this process (proc(5), field 22 of stat); 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
    except OSError:
        return 0.0
    return boottime - ticks / os.sysconf("SC_CLK_TCK")
