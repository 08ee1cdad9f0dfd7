"""The record in an SQLite file: one host, no set-up. The statements are in `sql/sqlite`, under the same names.

Leases are kept on CLOCK_BOOTTIME of the boot that wrote them, beside the wall clock: a clock that is set cannot end
them, and a holder from before the host was started again is dead.

The rollback journal, not WAL: a user who may only read the file can then read it, and with synchronous=FULL and
journal_mode=TRUNCATE a commit survives a power cut (an unlinked journal could come back and roll a claim back).
A claimer that is stopped inside its transaction holds the file: others are told so within BUSY, and go on when it ends.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from once.clock import Clock
from once.errors import Busy, NotInitialised, OnceError, StoreUnusable, Unreachable
from once.instants import EPOCH
from once.store import migrations, sqlite_file
from once.store.queries import statements
from once.store.session import Row

Values = Mapping[str, object] | None

BUSY = timedelta(seconds=2)
PATIENCE = timedelta(milliseconds=50)
"""How long SQLite itself waits for the file. It looks ever less often, so that one who waits long would lose it to
newcomers for ever: it is asked again from the start, until BUSY has passed."""
MICROSECOND = timedelta(microseconds=1)

HELD = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL))
LATER = {
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk failed to read or write",
    sqlite3.SQLITE_NOMEM: "there is no memory left",
}


class SqliteDatabase:
    """A Database in a file. `path` is absolute; `makes_directory`: its directory is ours to make."""

    dialect = "sqlite"

    def __init__(
        self, path: str, *, name: str, clock: Clock, makes_directory: bool = False, busy: timedelta = BUSY
    ) -> None:
        self._path = path
        self._makes_directory = makes_directory
        self._clock = clock
        self.busy = busy
        self._connection: sqlite3.Connection | None = None
        self.name = name

    def session(self) -> SqliteSession:
        return SqliteSession(self, self._connected())

    @contextmanager
    def transaction(self, *, answer_within: timedelta | None = None) -> Iterator[SqliteSession]:
        del answer_within  # nothing here waits for a network
        session = self.session()
        session.script(statements(self.dialect)["begin"])
        try:
            yield session
        except BaseException:
            self.close()
            raise
        session.script("COMMIT")

    def grants(self, role: str) -> list[str]:
        del role  # the file's mode and group say who may
        return []

    def bound(self, answer_within: timedelta) -> None:
        del answer_within  # as above

    def close(self) -> None:
        """Close the file; what was under way is rolled back."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def failed(self, error: sqlite3.Error) -> OnceError:
        """What to raise for a driver's error. The connection is given up, unless the schema is still to be made."""
        if str(error).startswith("no such table"):
            return NotInitialised(store=self.name)
        self.close()
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in HELD:
            return Busy(store=self.name, why="another process holds it")
        if code in LATER:
            return Unreachable(store=self.name, why=LATER[code])
        why, repair = self._unusable(error, code)
        return StoreUnusable(store=self.name, why=why, repair=repair)

    def _unusable(self, error: sqlite3.Error, code: int) -> tuple[str, str]:
        directory = os.path.dirname(self._path)
        if code == sqlite3.SQLITE_NOTADB:
            return "it is no SQLite database", "another file"
        if code == sqlite3.SQLITE_CORRUPT:
            return "it is damaged", "sqlite3 FILE .recover, or another file"
        if os.path.isdir(self._path):
            return "it is a directory", f"sqlite:{os.path.join(self._path, 'once.db')}"
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            what = directory if os.access(self._path, os.W_OK) else self._path
            return f"{what} cannot be written ({error})", "another directory, or its owner"
        return str(error), "another file"

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            sqlite_file.make_ready(self._path, store=self.name, makes_directory=self._makes_directory)
            try:
                self._connection = self._opened()
                self._set_up(self._connection)
                self._bring_up_to_date(self._connection)
                # Making the schema may have taken a connection of its own.
                self._connection.execute(
                    f"PRAGMA busy_timeout = {min(PATIENCE, self.busy) // timedelta(milliseconds=1)}"
                )
            except sqlite3.Error as error:
                raise self.failed(error) from error
            except BaseException:
                self.close()
                raise
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._path,
            timeout=self.busy.total_seconds(),
            isolation_level=None,
            detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES,
        )

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = _row
        connection.create_function("once_now", 0, lambda: (self._clock.now() - EPOCH) // MICROSECOND)
        connection.create_function("once_boottime", 0, lambda: round(self._clock.boottime() * 1_000_000))
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = FULL")

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        """The schema makes itself, and takes the steps that it lacks. Raises StoreUnusable for a foreign database."""
        tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and not tables >= {"store", "migration", "task", "run"}:
            raise StoreUnusable(store=self.name, why="it is another program's database", repair="another file")
        schema = connection.execute(statements(self.dialect)["schema"]).fetchone() if tables else None
        if schema is not None:
            migrations.check(protocol=schema["protocol"], store=self.name)
        if schema is None or schema["schema"] < migrations.SCHEMA:
            migrations.migrate(self, clock=self._clock, tries_for=timedelta())


class SqliteSession:
    """A Session over one connection."""

    def __init__(self, database: SqliteDatabase, connection: sqlite3.Connection) -> None:
        self._database = database
        self._connection = connection
        self._statements = statements(database.dialect)

    def rows(self, statement: str, values: Values = None) -> list[Row]:
        return self._run(self._statements[statement], values)[0]

    def row(self, statement: str, values: Values = None) -> Row | None:
        return next(iter(self.rows(statement, values)), None)

    def write(self, statement: str, values: Values = None) -> int:
        return self._run(self._statements[statement], values)[1]

    def script(self, sql: str) -> None:
        # executescript() would commit what is under way, so the statements are told apart here.
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self._run(statement, None)
                statement = ""
        self._run(statement, None)

    def _run(self, sql: str, values: Values) -> tuple[list[Row], int]:
        """Rows and the number of rows written. The rows are fetched at once: an open read would hold writers up."""
        plain = {name: _plain(value) for name, value in (values or {}).items()}
        try:
            return self._executed(sql, plain, until=time.monotonic() + self._database.busy.total_seconds())
        except sqlite3.Error as error:
            raise self._database.failed(error) from error
        except BaseException:
            self._database.close()
            raise

    def _executed(self, sql: str, plain: dict[str, object], *, until: float) -> tuple[list[Row], int]:
        while True:
            try:
                cursor = self._connection.execute(sql, plain)
                return cursor.fetchall(), cursor.rowcount
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise


def _row(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def _plain(value: object) -> object:
    """Instants and durations as whole microseconds, a list as JSON."""
    if isinstance(value, datetime):
        return (value - EPOCH) // MICROSECOND
    if isinstance(value, list):
        import json

        return json.dumps(value)
    return value // MICROSECOND if isinstance(value, timedelta) else value


# By the declared type of a column, or by the name of an answer: `"now [instant]"`.
sqlite3.register_converter("instant", lambda text: EPOCH + timedelta(microseconds=int(text)))
sqlite3.register_converter("duration", lambda text: timedelta(microseconds=int(text)))
