"""A bench: one store, as many connections to it as a test likes, and a clock that only the test moves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from once.store.base import Store
from tests.conformance.claims import NOON
from tests.databases import Server

SET_CLOCK = """
    CREATE OR REPLACE FUNCTION once.now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT timestamptz '{}' $$
"""


@dataclass
class HeldClock:
    """A clock that stands still until it is moved; both of its hands move together."""

    time: datetime = NOON
    uptime: float = 1000.0

    def now(self) -> datetime:
        return self.time

    def boottime(self) -> float:
        return self.uptime

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        self.uptime += seconds


@dataclass
class Bench:
    """The store under test with its time in the test's hand. `meddle` runs SQL that no verb would."""

    kind: str
    open_with: Callable[[HeldClock], Store]
    meddle: Callable[..., list[tuple[Any, ...]]]
    clock: HeldClock = field(default_factory=HeldClock)

    def open(self) -> Store:
        """One more connection to the store."""
        return self.open_with(self.clock)

    def let_pass(self, time: timedelta) -> None:
        """Move every clock on."""
        self.clock.sleep(time.total_seconds())
        self._tell_server()

    def start_server_clock(self) -> None:
        """Take the server's clock in hand."""
        self._tell_server()

    def _tell_server(self) -> None:
        if self.kind != "sqlite":
            self.meddle(SET_CLOCK.format(self.clock.time.isoformat()))


@pytest.fixture
def bench(store_kind: str, address: str, store_factory: Callable[..., Store], request: pytest.FixtureRequest) -> Bench:
    """The store under test, its time in the test's hand."""
    if store_kind == "sqlite":
        meddle = _in_sqlite(address.removeprefix("sqlite:"))
    else:
        meddle = _in_postgres(request.getfixturevalue("server"), address.rpartition("/")[2])
    made = Bench(store_kind, store_factory, meddle)
    made.open().connect()
    made.start_server_clock()
    return made


@pytest.fixture
def store(bench: Bench) -> Store:
    """One connection to the bench's store."""
    return bench.open()


def _in_sqlite(path: str) -> Callable[..., list[tuple[Any, ...]]]:
    def meddle(sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            return connection.execute(sql.replace("once.", "")).fetchall()
        finally:
            connection.close()

    return meddle


def _in_postgres(server: Server, database: str) -> Callable[..., list[tuple[Any, ...]]]:
    def meddle(sql: str) -> list[tuple[Any, ...]]:
        with server.connect(database) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    return meddle
