"""A bench: one store, as many connections to it as a test likes, and a clock that only the test moves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from once.store.base import Store
from tests.conformance.claims import NOON
from tests.databases import Server

HOLD_CLOCK = """
    CREATE UNLOGGED TABLE IF NOT EXISTS held_clock (at timestamptz NOT NULL);
    INSERT INTO held_clock VALUES ('epoch');
    CREATE OR REPLACE FUNCTION once.now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT at FROM public.held_clock'
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
    """The store under test with its time in the test's hand.

    `meddle` runs SQL that no verb would, `holding` does in a transaction that stays open meanwhile.
    """

    kind: str
    open_with: Callable[[HeldClock], Store]
    meddle: Callable[..., list[tuple[Any, ...]]]
    holding: Callable[[str], AbstractContextManager[None]]
    clock: HeldClock = field(default_factory=HeldClock)

    def open(self) -> Store:
        """One more connection to the store."""
        return self.open_with(self.clock)

    def let_pass(self, time: timedelta) -> None:
        """Move every clock on."""
        self.clock.sleep(time.total_seconds())
        self._tell_server()

    def begin_again(self) -> None:
        """Set every clock to its first instant."""
        self.clock.time, self.clock.uptime = NOON, HeldClock.uptime
        self._tell_server()

    def hold_server_clock(self) -> None:
        """Take the server's clock in hand."""
        if self.kind != "sqlite":
            self.meddle(HOLD_CLOCK)
            self._tell_server()

    def _tell_server(self) -> None:
        if self.kind != "sqlite":
            self.meddle(f"UPDATE public.held_clock SET at = '{self.clock.time.isoformat()}'")


@pytest.fixture
def bench(
    store_kind: str, address: str, store_factory: Callable[..., Store], request: pytest.FixtureRequest
) -> Iterator[Bench]:
    """The store under test, its time in the test's hand."""
    if store_kind == "sqlite":
        connect = partial(sqlite3.connect, address.removeprefix("sqlite:"), isolation_level=None)
    else:
        server: Server = request.getfixturevalue("server")
        connect = partial(server.connect, address.rpartition("/")[2])
    store_factory().connect()
    with closing(connect()) as connection:
        made = Bench(store_kind, store_factory, partial(_executed, connection), partial(_holding, connect))
        made.hold_server_clock()
        yield made


@pytest.fixture
def store(bench: Bench) -> Store:
    """One connection to the bench's store."""
    return bench.open()


@contextmanager
def _holding(connect: Callable[[], Any], sql: str) -> Iterator[None]:
    with closing(connect()) as connection:
        _executed(connection, "BEGIN")
        _executed(connection, sql)
        yield
        _executed(connection, "ROLLBACK")


def _executed(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    plain = sql.replace("once.", "") if isinstance(connection, sqlite3.Connection) else sql
    cursor = connection.execute(plain)
    return cursor.fetchall() if cursor.description else []
