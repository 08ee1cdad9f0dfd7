"""From a verb's --db to the store: the flag, the settings, or the embedded default and its refusals."""

from __future__ import annotations

import os
from dataclasses import dataclass

from once import embedded, settings
from once.clock import Clock, SystemClock
from once.settings import Settings
from once.store.base import Store
from once.store.connect import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the record is. `by_default`: nobody set it, and this host may keep its own."""

    address: str
    by_default: bool
    settings: Settings

    def open(self, clock: Clock | None = None) -> Store:
        """A store there; nothing is connected before its first verb."""
        return open_store(self.address, clock=clock or SystemClock(), state_dir=self.settings.state_dir)


def place(db: str | None, *, known: Settings | None = None) -> Place:
    """Where the record of this start is. Raises SettingInvalid, NoDatabaseSet."""
    found = known or settings.resolve(os.environ)
    address = db or found.db
    if address:
        return Place(address=address, by_default=False, settings=found)
    return Place(address=embedded.default_address(found, os.environ), by_default=True, settings=found)
