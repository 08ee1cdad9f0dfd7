"""The nouns: a task, its runs and their outcomes; exit status from wait status and back.

All instants are aware UTC datetimes, all intervals timedeltas.
"""

from __future__ import annotations

import os
import zlib
from datetime import datetime, timedelta
from enum import StrEnum

from once.errors import TaskNameInvalid
from once.noun import Noun

LONGEST_NAME = 200
"""Characters of a task's name, scope included."""


class Outcome(StrEnum):
    """What became of a run. Only RUNNING may change, save that a LOST run's own late end may still arrive."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LOST = "lost"
    SKIPPED = "skipped"
    EXCUSED = "excused"

    @property
    def was_started(self) -> bool:
        """Whether a command was, or may have been, started: skips and excuses hold a row without one."""
        return self not in (Outcome.SKIPPED, Outcome.EXCUSED)


class Slot(Noun):
    """One instant of a schedule: the identity of a scheduled run.

    `local` is the wall clock time in the schedule's zone without offset (`2026-10-25T02:30`), `fold` its PEP 495
    fold. They are stored to notice two hosts whose zone data differ.
    """

    at: datetime
    local: str
    fold: int


class Line(Noun):
    """A schedule as written: expression, zone and who fires it (`cron` or `kubernetes`)."""

    expression: str
    zone: str
    engine: str = "cron"


class Holder(Noun):
    """Who starts a command. `machine` is None where nothing proves that two starts share a machine (containers).

    `booted_at` is by this host's clock. Copies of one machine share its name and its id, and have boots of their own: a
    holder of another boot is gone only if nothing was heard of it since ours began.
    """

    host: str
    machine: str | None
    boot: str | None
    pid: int
    user: str
    booted_at: datetime | None = None


class Hold(Noun):
    """What names a holder's own run in every write: the number and the secret token."""

    task: str
    number: int
    token: str


class Ending(Noun):
    """How a run ended, as its holder saw it. `signal` is the signal that killed the command, if one did.

    `retry_at` is set when the holder itself will retry: until then nobody else may take the slot.
    """

    outcome: Outcome
    finished_at: datetime
    reason: str | None = None
    exit_status: int | None = None
    signal: int | None = None
    started_at: datetime | None = None
    duration: timedelta | None = None
    retry_at: datetime | None = None
    tail: bytes = b""
    tail_dropped: int = 0


class Run(Noun):
    """One attempt to run the command: one row of the table. `attempts` is how many its slot has; 0: any number."""

    task: str
    number: int
    outcome: Outcome
    reason: str | None = None
    slot: datetime | None = None
    slot_local: str | None = None
    fold: int | None = None
    attempt: int = 1
    attempts: int = 1
    retry_at: datetime | None = None
    host: str = ""
    pid: int = 0
    boot: str | None = None
    user: str = ""
    command: tuple[str, ...] = ()
    command_hash: str = ""
    fired_at: datetime | None = None
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    beat_at: datetime | None = None
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    duration: timedelta | None = None
    exit_status: int | None = None
    signal: int | None = None
    late_outcome: Outcome | None = None
    late_status: int | None = None
    late_at: datetime | None = None
    tail: bytes = b""
    tail_dropped: int = 0
    clock_offset: timedelta | None = None
    by_hand: bool = False
    stop_asked: str | None = None
    caught_up: bool = False
    once_version: str = ""


class Task(Noun):
    """A task and what is known of it apart from its runs. The notes say who paused or retired it, and why."""

    name: str
    last_number: int = 0
    settled_through: datetime | None = None
    paused_at: datetime | None = None
    paused_until: datetime | None = None
    pause_note: str | None = None
    retired_at: datetime | None = None
    retire_note: str | None = None
    line: Line | None = None
    in_force_since: datetime | None = None

    def is_paused(self, now: datetime) -> bool:
        """Whether a pause keeps it from starting at this time."""
        return self.paused_at is not None and (self.paused_until is None or self.paused_until > now)


def exit_status_of(wait_status: int) -> tuple[int, int | None]:
    """The exit status a shell would report, and the signal that killed the command, if one did.

    128+n for a death by signal n, as sh(1) does.
    """
    if os.WIFSIGNALED(wait_status):
        signal = os.WTERMSIG(wait_status)
        return 128 + signal, signal
    return os.WEXITSTATUS(wait_status), None


def task_name(text: str, *, scope: str = "") -> str:
    """The full name of a task: the scope and a slash, then what was typed, all in NFC. Raises TaskNameInvalid.

    A name that already begins with the scope is left as it is, so that a name can be typed as the verbs print it.
    """
    name = f"{scope}/{text}" if scope and not text.startswith(f"{scope}/") else text
    shown = ascii(text) if len(text) <= LONGEST_NAME else f"{text[:20]!a}…"
    if not name.isascii():
        name = _composed(name, shown)
    if not text or text != text.strip():
        raise TaskNameInvalid(name=shown, why="it is empty" if not text.strip() else "it begins or ends with a blank")
    if text.startswith("-"):
        raise TaskNameInvalid(name=shown, why="it begins with a dash")
    if name.isascii() and not name.isprintable():
        raise TaskNameInvalid(name=shown, why="it has a control character")
    if len(name) > LONGEST_NAME:
        raise TaskNameInvalid(name=shown, why=f"it has {len(name)} characters, more than {LONGEST_NAME}")
    return name


def _composed(name: str, shown: str) -> str:
    """The name in NFC, so that two ways to encode a letter name one task. Raises TaskNameInvalid."""
    import unicodedata

    for character in name:
        match unicodedata.category(character):
            case "Cs":
                raise TaskNameInvalid(name=shown, why="it is not UTF-8")
            case "Cc" | "Zl" | "Zp":
                raise TaskNameInvalid(name=shown, why="it has a control character")
    return unicodedata.normalize("NFC", name)


def fingerprint(argv: tuple[str, ...]) -> str:
    """A checksum by which hosts notice that their commands differ. It guards against nobody, so CRC-32 will do."""
    return f"{zlib.crc32(chr(0).join(argv).encode(errors='surrogateescape')):08x}"
