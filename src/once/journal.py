"""The journal: outcomes that wait on disk until the database can be told.

One file an outcome, complete or absent (written aside, synced, renamed), in a directory that only its user can read:
it holds the run's token and the end of its output. Entries name the store they belong to by its identity, so that a
changed address or password still finds it, and another database never gets it. Delivering twice does no harm.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from once.clock import Clock
from once.entry import REFUSED_FOR_GOOD, Entry, Unread, read, written
from once.errors import Busy
from once.noun import Noun
from once.run import Outcome
from once.store.base import Recorded, Store

SUFFIX, BROKEN, UNKNOWN = ".json", ".broken", ".unknown"


class Delivery(Noun):
    """What a delivery came to: the outcomes that were recorded, and those set aside because no row knows them."""

    recorded: tuple[Entry, ...] = ()
    unknown: tuple[Entry, ...] = ()


class Journal:
    """The entries in one directory. Making the object touches no disk."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._alone: int | None = None

    def keep(self, entry: Entry) -> None:
        """Write the entry down so that it survives a crash. Raises OSError; keeping it again changes nothing."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        path = self._path(entry)
        draft = f"{path}.{os.getpid()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(written(entry).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            _remove(draft)
            raise
        _sync_directory(self.directory)

    def drop(self, entry: Entry) -> None:
        """The outcome has been recorded, or is given up. Raises OSError where nothing can be removed."""
        _remove(self._path(entry))

    def waiting(self) -> int:
        """How many outcomes wait."""
        return sum(1 for _ in self.entries())

    def is_closed(self) -> bool:
        """Whether the directory is another user's, so that what waits in it cannot be seen."""
        try:
            os.scandir(self.directory).close()
        except PermissionError:
            return True
        except OSError:
            return False
        return False

    def entries(self) -> Iterator[Entry]:
        """What waits, oldest first. A file that cannot be read is passed over and stays."""
        return (found for found in map(read, self._files()) if isinstance(found, Entry))

    def has_run(self, task: str, slot: datetime) -> bool:
        """Whether a run of this slot waits here. One that a signal stopped leaves the slot to another start."""
        stopped = Outcome.STOPPED
        return any((e.hold.task, e.slot) == (task, slot) and e.ending.outcome is not stopped for e in self.entries())

    def hold_alone(self, task: str) -> bool:
        """Become the only process on this host that runs the task unguarded, until it ends; False if another one is.

        Where nothing can be written, processes cannot know of each other, and each is told that it is the only one.
        """
        import fcntl

        path = os.path.join(self.directory, f"{zlib.crc32(task.encode(errors='surrogateescape')):08x}.unguarded")
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            self._alone = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def unread(self) -> list[Unread]:
        """The files that cannot be read, which `waiting` does not count."""
        return [found for found in map(read, self._files()) if isinstance(found, Unread)]

    def set_aside(self, unread: Unread) -> str:
        """Rename a broken file so that nobody looks at it again; its new path."""
        aside = unread.path.removesuffix(SUFFIX) + BROKEN
        os.rename(unread.path, aside)
        return aside

    def deliver(self, store: Store, *, clock: Clock, within: timedelta | None = None) -> Delivery:
        """Record what waits for this store, oldest first. Raises what the store raises; no entry is lost.

        An outcome whose run the store does not know is set aside under another suffix: it can never be recorded, and
        it may be all that is left of a run. `within`: a delivery in passing, which begins no entry after that time,
        and leaves to the next start what another transaction holds up.
        """
        recorded: list[Entry] = []
        unknown: list[Entry] = []
        until = None if within is None else clock.boottime() + within.total_seconds()
        waiting = list(self.entries())
        identity = store.identity() if waiting else ""
        for entry in waiting:
            if until is not None and clock.boottime() > until:
                break
            if not entry.is_for(store, identity=identity):
                continue
            answer = _recorded(entry, store, in_passing=within is not None)
            if answer is None:
                continue
            with suppress(OSError):  # another start has done it, or the disk is read-only: it is delivered again
                if answer is Recorded.UNKNOWN:
                    os.rename(self._path(entry), self._path(entry).removesuffix(SUFFIX) + UNKNOWN)
                    unknown.append(entry)
                else:
                    recorded.append(entry)
                    self.drop(entry)
        return Delivery(recorded=tuple(recorded), unknown=tuple(unknown))

    def _files(self) -> list[str]:
        try:
            names = [entry.name for entry in os.scandir(self.directory) if entry.name.endswith(SUFFIX)]
        except OSError:
            return []
        return [os.path.join(self.directory, name) for name in sorted(names)]

    def _path(self, entry: Entry) -> str:
        stamp = entry.ending.finished_at.strftime("%Y%m%dT%H%M%S")
        return os.path.join(self.directory, f"{stamp}-{entry.hold.token}{SUFFIX}")


def _recorded(entry: Entry, store: Store, *, in_passing: bool) -> Recorded | None:
    """What came of it; None for one that another transaction holds up, when it is delivered in passing.

    What is refused for good counts as unknown, or whatever waits behind it would never be delivered.
    """
    try:
        return entry.record_in(store)
    except REFUSED_FOR_GOOD:
        return Recorded.UNKNOWN
    except Busy:
        if not in_passing:
            raise
        return None


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
