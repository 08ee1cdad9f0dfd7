"""The journal: outcomes that wait on disk until the database can be told.

One file an outcome, complete or absent (written aside, synced, renamed), in a directory that only its user can read:
it holds the run's token and the end of its output. Entries name the store they belong to by its identity, so that a
changed address or password still finds it, and another database never gets it. Delivering twice does no harm.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from once.clock import Clock
from once.noun import Noun
from once.run import Ending, Hold, Outcome
from once.store.base import Recorded, Store

SUFFIX, BROKEN, UNKNOWN = ".json", ".broken", ".unknown"
VERSION = 1
"""Of what is written in a file."""


class Entry(Noun):
    """One outcome that waits: which store, which run, how it ended. `store` is the address as messages show it."""

    identity: str
    store: str
    hold: Hold
    ending: Ending


class Unread(Noun):
    """A file in which an outcome may wait, and why it cannot be read. `broken`: nobody ever will."""

    path: str
    why: str
    broken: bool


class Delivery(Noun):
    """What a delivery came to: outcomes recorded, left for another store, and set aside because no row knows them."""

    recorded: tuple[Entry, ...] = ()
    elsewhere: int = 0
    unknown: tuple[Entry, ...] = ()


class Journal:
    """The entries in one directory. Making the object touches no disk."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def keep(self, entry: Entry) -> None:
        """Write the entry down so that it survives a crash. Raises OSError; keeping it again changes nothing."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        path = self._path(entry)
        draft = f"{path}.{os.getpid()}"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
                file.write(_written(entry))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError:
            _remove(draft)
            raise
        _sync_directory(self.directory)

    def drop(self, entry: Entry) -> None:
        """The outcome has been recorded, or is given up."""
        _remove(self._path(entry))

    def waiting(self) -> int:
        """How many outcomes wait."""
        return sum(1 for _ in self.entries())

    def entries(self) -> Iterator[Entry]:
        """What waits, oldest first. A file that cannot be read is passed over and stays."""
        return (found for found in map(_read, self._files()) if isinstance(found, Entry))

    def unread(self) -> list[Unread]:
        """The files that cannot be read, which `waiting` does not count."""
        return [found for found in map(_read, self._files()) if isinstance(found, Unread)]

    def set_aside(self, unread: Unread) -> str:
        """Rename a broken file so that nobody looks at it again; its new path."""
        aside = unread.path.removesuffix(SUFFIX) + BROKEN
        os.rename(unread.path, aside)
        return aside

    def deliver(self, store: Store, *, clock: Clock, within: timedelta | None = None) -> Delivery:
        """Record what waits for this store, oldest first, for so long. Raises what the store raises; no entry is lost.

        An outcome whose run the store does not know is set aside under another suffix: it can never be recorded, and
        it may be all that is left of a run.
        """
        recorded: list[Entry] = []
        unknown: list[Entry] = []
        elsewhere = 0
        until = None if within is None else clock.boottime() + within.total_seconds()
        waiting = list(self.entries())
        identity = store.identity() if waiting else ""
        for entry in waiting:
            if until is not None and clock.boottime() > until:
                break
            if entry.identity != identity:
                elsewhere += 1
            elif store.finish(entry.hold, entry.ending) is Recorded.UNKNOWN:
                os.rename(self._path(entry), self._path(entry).removesuffix(SUFFIX) + UNKNOWN)
                unknown.append(entry)
            else:
                self.drop(entry)
                recorded.append(entry)
        return Delivery(recorded=tuple(recorded), elsewhere=elsewhere, unknown=tuple(unknown))

    def _files(self) -> list[str]:
        try:
            names = [entry.name for entry in os.scandir(self.directory) if entry.name.endswith(SUFFIX)]
        except OSError:
            return []
        return [os.path.join(self.directory, name) for name in sorted(names)]

    def _path(self, entry: Entry) -> str:
        stamp = entry.ending.finished_at.strftime("%Y%m%dT%H%M%S")
        return os.path.join(self.directory, f"{stamp}-{entry.hold.token}{SUFFIX}")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _written(entry: Entry) -> str:
    import json

    ending, hold = entry.ending, entry.hold
    return json.dumps(
        {
            "journal": VERSION,
            "identity": entry.identity,
            "store": entry.store,
            "task": hold.task,
            "number": hold.number,
            "token": hold.token,
            "outcome": ending.outcome,
            "reason": ending.reason,
            "exit_status": ending.exit_status,
            "signal": ending.signal,
            "started_at": ending.started_at.isoformat() if ending.started_at else None,
            "finished_at": ending.finished_at.isoformat(),
            "duration": ending.duration.total_seconds() if ending.duration is not None else None,
            "tail": ending.tail.hex(),
            "tail_dropped": ending.tail_dropped,
        }
    )


def _read(path: str) -> Entry | Unread:
    import json

    try:
        with open(path, "rb") as file:
            kept: dict[str, Any] = json.load(file)
        if kept["journal"] > VERSION:
            return Unread(path, "a newer once wrote it", broken=False)
        ending = Ending(
            outcome=Outcome(kept["outcome"]),
            reason=kept["reason"],
            exit_status=kept["exit_status"],
            signal=kept["signal"],
            started_at=datetime.fromisoformat(kept["started_at"]) if kept["started_at"] else None,
            finished_at=datetime.fromisoformat(kept["finished_at"]),
            duration=timedelta(seconds=kept["duration"]) if kept["duration"] is not None else None,
            tail=bytes.fromhex(kept["tail"]),
            tail_dropped=kept["tail_dropped"],
        )
        return Entry(kept["identity"], kept["store"], Hold(kept["task"], kept["number"], kept["token"]), ending)
    except OSError as error:
        return Unread(path, error.strerror or str(error), broken=False)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Unread(path, "it holds no outcome", broken=True)
