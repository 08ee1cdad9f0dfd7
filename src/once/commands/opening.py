"""From a verb's --db to the store: the flag, the settings, or the embedded default and its refusals."""

from __future__ import annotations

import os
from datetime import timedelta

from once import embedded, settings
from once.clock import SystemClock
from once.errors import AddressInvalid, NoRecordYet
from once.lease import ANSWERS_WITHIN
from once.noun import Noun
from once.settings import Settings
from once.store import connect
from once.store.base import Store

WITHHELD = "withheld:"
"""What a command finds in ONCE_DB instead of an address that carries a password; it names no database on purpose."""

FIRST_RUN = "once run --help: the first run makes it"
ANOTHER_USER = "sudo, where root runs the jobs: each user has a record of its own, which the first run makes"


class Place(Noun):
    """Where the record is. `by_default`: nobody set it, and this host may keep its own."""

    address: str
    by_default: bool
    settings: Settings

    def open(self, answer_within: timedelta = ANSWERS_WITHIN) -> Store:
        """A store there; nothing is connected before its first verb."""
        return connect.open_store(
            self.address, clock=SystemClock(), state_dir=self.settings.state_dir, answer_within=answer_within
        )

    @property
    def journal(self) -> str:
        """The directory in which outcomes wait for it."""
        return os.path.join(self.settings.state_dir, "journal")

    @property
    def shown(self) -> str:
        """The address without any password."""
        return connect.display(self.address)

    @property
    def file(self) -> str | None:
        """The path of an embedded record; None for one that other hosts may share."""
        return connect.file_of(self.address, self.settings.state_dir)

    @property
    def is_missing(self) -> bool:
        """Whether nobody has made the file yet: the first run does. One that may not be looked for may be there."""
        if self.file is None:
            return False
        try:
            os.stat(self.file)
        except PermissionError:
            return False
        except OSError:
            return True
        return False

    def no_record(self) -> NoRecordYet:
        """What is said where the file is missing."""
        is_of_one_user = self.address == "local" and os.geteuid() != 0
        return NoRecordYet(store=self.file, repair=ANOTHER_USER if is_of_one_user else FIRST_RUN)

    def read(self) -> Store:
        """A store to be told from. Looking makes no file. Raises NoRecordYet."""
        if self.is_missing:
            raise self.no_record()
        return self.open()


def place(db: str | None, *, known: Settings | None = None) -> Place:
    """Where the record of this start is. Raises SettingInvalid, NoDatabaseSet, AddressInvalid.

    An empty --db is a variable that cron has dropped, an empty `db` in a file a template that was not filled in: they
    are addresses that name nothing, not ones that were not given.
    """
    found = known or settings.resolve(os.environ)
    address = found.db if db is None else db
    if address == WITHHELD:
        raise AddressInvalid(
            why="ONCE_DB carried a password, so it was not handed to a command that once runs",
            repair="set db in /etc/once.toml, or --db file:PATH of a file that holds the address",
        )
    if address is None:
        return Place(address=embedded.default_address(found, os.environ), by_default=True, settings=found)
    return Place(address=address, by_default=False, settings=found)
