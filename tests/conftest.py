"""The stores that tests run on: SQLite, PostgreSQL, and PostgreSQL through PgBouncer in transaction mode."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from once.clock import Clock, SystemClock
from once.store.base import Store
from once.store.connect import open_store
from tests import databases
from tests.databases import Server

TEMPLATE = "once_template"
KINDS = ("sqlite", "postgres", "pgbouncer")

_caretaker = pytest.StashKey[databases.Caretaker]()


def pytest_configure(config: pytest.Config) -> None:
    """The process that begins the session keeps the servers' room; its workers find it in their environment.

    A session in the background of a script has inherited INT and QUIT as ignored, and `once` would respect that.
    """
    for signum in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(signum) is signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)
    if databases.ROOM not in os.environ:
        config.stash[_caretaker] = databases.open_room()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _caretaker in config.stash:
        databases.close_room(config.stash[_caretaker])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Behind a pooler everything is the server's once more, which takes minutes."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec and callspec.params.get("store_kind") == "pgbouncer":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def server() -> Server:
    """A PostgreSQL server, with the template of a migrated database."""
    server = databases.postgres()
    databases.shared("template", lambda: _make_template(server))
    return server


@pytest.fixture(scope="session")
def bouncer() -> Server:
    """PgBouncer in transaction mode in front of it."""
    return databases.bouncer()


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The name of a migrated database of one's own."""
    yield from _database(server, TEMPLATE)


@pytest.fixture
def empty_database(server: Server) -> Iterator[str]:
    """The address of a PostgreSQL database without the schema."""
    for name in _database(server, "template0"):
        yield server.address(name)


@pytest.fixture
def role(server: Server, database: str) -> Iterator[str]:
    """A role that may log in and nothing more; what it is given in the test's database goes with it."""
    name = f"once_role_{secrets.token_hex(6)}"
    with server.connect() as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
    yield name
    with server.connect(database) as connection:
        connection.execute(f"DROP OWNED BY {name}")
        connection.execute(f"DROP ROLE {name}")


@pytest.fixture(params=KINDS)
def store_kind(request: pytest.FixtureRequest) -> str:
    """On which store the test runs."""
    kind: str = request.param
    return kind


@pytest.fixture
def address(store_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store of one's own, migrated."""
    if store_kind == "sqlite":
        return f"sqlite:{tmp_path}/once.db"
    server: Server = request.getfixturevalue("server" if store_kind == "postgres" else "bouncer")
    return server.address(request.getfixturevalue("database"))


@pytest.fixture
def store_factory(address: str, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Opens the store under test, as often as one likes; each has a connection of its own."""
    opened: list[Store] = []

    def open_one(clock: Clock | None = None) -> Store:
        opened.append(open_store(address, clock=clock or SystemClock(), state_dir=tmp_path))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(store_factory: Callable[..., Store]) -> Store:
    """The store under test."""
    return store_factory()


def _make_template(server: Server) -> None:
    with server.connect() as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {TEMPLATE} ENCODING 'UTF8' TEMPLATE template0")
    store = open_store(server.address(TEMPLATE), clock=SystemClock(), state_dir=Path("/nowhere"))
    store.migrate()
    store.close()


def _database(server: Server, template: str) -> Iterator[str]:
    name = f"once_test_{secrets.token_hex(6)}"
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield name
    with server.connect() as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
