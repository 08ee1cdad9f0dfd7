"""The record in PostgreSQL: connections, transactions, and what errors mean; the statements are in `sql/postgres`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import cast

import psycopg
from psycopg.rows import DictRow

from once.errors import NotInitialised, OnceError, Unreachable
from once.store import migrations
from once.store.postgres_connection import BoundedConnection
from once.store.postgres_errors import OTHER_SCHEMA, refused_connection, translated
from once.store.queries import statements
from once.store.session import Row

Values = Mapping[str, object] | None

CALLED_OFF = frozenset(("look", "beat"))
"""What starts and holders ask over and over, and lose nothing by when it is called off.

No other write is: one that waits for a synchronous standby would then be kept without it, and be told as written.
"""

WRITTEN_BY_ROLES = "once.task, once.schedule, once.run, once.pause, once.sighting, once.event"


class PostgresDatabase:
    """A Database in PostgreSQL, directly or through a pooler in transaction mode."""

    dialect = "postgres"

    def __init__(self, conninfo: str, *, name: str, answer_within: timedelta) -> None:
        self._conninfo = conninfo
        self._answer_within = answer_within
        self._connection: BoundedConnection | None = None
        self.name = name

    def session(self) -> PostgresSession:
        return PostgresSession(self, self._connected())

    @contextmanager
    def transaction(self, *, answer_within: timedelta | None = None) -> Iterator[PostgresSession]:
        connection = self._connected()
        connection.answer_within = (answer_within or self._answer_within).total_seconds()
        session = PostgresSession(self, connection)
        session.script(statements(self.dialect)["begin"])
        try:
            yield session
        except BaseException:
            self.close()
            raise
        session.commit()
        connection.answer_within = self._answer_within.total_seconds()

    def grants(self, role: str) -> list[str]:
        quoted = '"' + role.replace('"', '""') + '"'
        return [
            f"GRANT USAGE ON SCHEMA once TO {quoted}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA once TO {quoted}",
            f"GRANT INSERT, UPDATE, DELETE ON {WRITTEN_BY_ROLES} TO {quoted}",
            f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA once TO {quoted}",
        ]

    def bound(self, answer_within: timedelta) -> None:
        self._answer_within = answer_within
        if self._connection is not None:
            self._connection.answer_within = answer_within.total_seconds()

    def close(self) -> None:
        """Drop the connection; the server rolls back what was under way."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def failed(self, error: psycopg.Error, connection: BoundedConnection, *, sql: str) -> OnceError:
        """What to raise for a driver's error. The connection is given up: what it was doing is unknown."""
        role = connection.info.user if not connection.closed else "?"
        self.close()
        if error.sqlstate in OTHER_SCHEMA:
            return self._other_schema(error, role, asked=sql == statements(self.dialect)["schema"])
        return translated(error, store=self.name, role=role)

    def _other_schema(self, error: psycopg.Error, role: str, *, asked: bool) -> OnceError:
        """Something that we know is not there: ask how far the schema has come, unless that was the question."""
        if asked:
            return NotInitialised(store=self.name)
        try:
            row = self.session().row("schema")
            assert row is not None
            migrations.check(schema=row["schema"], protocol=row["protocol"], store=self.name)
        except OnceError as known:
            return known
        return translated(error, store=self.name, role=role)

    def _connected(self) -> BoundedConnection:
        if self._connection is None:
            try:
                self._connection = BoundedConnection.to(self._conninfo, answer_within=self._answer_within)
            except psycopg.Error as error:
                raise refused_connection(error, self.name) from error
        return self._connection


class PostgresSession:
    """A Session over one connection."""

    def __init__(self, database: PostgresDatabase, connection: BoundedConnection) -> None:
        self._database = database
        self._connection = connection
        self._statements = statements(database.dialect)

    def rows(self, statement: str, values: Values = None) -> list[Row]:
        return cast("list[Row]", self._named(statement, values).fetchall())

    def row(self, statement: str, values: Values = None) -> Row | None:
        return self._named(statement, values).fetchone()

    def write(self, statement: str, values: Values = None) -> int:
        return self._named(statement, values).rowcount

    def script(self, sql: str) -> None:
        self._run(sql, None, binary=False)

    def commit(self) -> None:
        """Commit. A server that rolled back instead says so in its answer, not by an error."""
        answer = self._run("COMMIT", None).statusmessage
        if answer != "COMMIT":
            self._database.close()
            raise Unreachable(store=self._database.name, why=f"it answered COMMIT with {answer}")

    def _named(self, statement: str, values: Values) -> psycopg.Cursor[DictRow]:
        return self._run(self._statements[statement], values, calls_off=statement in CALLED_OFF)

    def _run(
        self, sql: str, values: Values, *, binary: bool = True, calls_off: bool = False
    ) -> psycopg.Cursor[DictRow]:
        self._connection.calls_off = calls_off
        try:
            return self._connection.execute(sql, values, binary=binary)
        except psycopg.Error as error:
            raise self._database.failed(error, self._connection, sql=sql) from error
        except BaseException:
            self._database.close()
            raise
