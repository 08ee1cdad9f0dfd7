"""The port below the store: named statements and transactions, which is all that the two databases have to differ in.

What a claim, a beat or a report is stands once, in `claiming` and `ledger`, and is told over this port. Values go in
and come out as the nouns have them: aware datetimes in UTC, timedeltas, bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, Protocol

Row = Mapping[str, Any]


class Session(Protocol):
    """Runs named statements. Raises Unreachable, RightsMissing, NotInitialised and their like, no driver's error."""

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """Everything that the statement answers."""
        ...

    def row(self, statement: str, values: Mapping[str, object] | None = None) -> Row | None:
        """The first row of the answer."""
        ...

    def write(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        """How many rows the statement wrote."""
        ...

    def script(self, sql: str) -> None:
        """Run statements that have no name: a migration, or grants."""
        ...


class Database(Protocol):
    """One connection at most, made by the first use. After an error it is dropped, and the next use makes another."""

    dialect: str
    """The folder of its statements: `postgres` or `sqlite`."""

    name: str
    """The address without any password."""

    def session(self) -> Session:
        """Each statement is a transaction of its own."""
        ...

    def transaction(self, *, answer_within: timedelta | None = None) -> AbstractContextManager[Session]:
        """The claim's transaction: one writer at a time per task at least; committed on leaving, or an error is raised.

        `answer_within` bounds the wait for each answer, where the database is across a network.
        """
        ...

    def grants(self, role: str) -> list[str]:
        """The SQL that lets a role run once, without semicolons; empty where there are no roles."""
        ...

    def bound(self, answer_within: timedelta) -> None:
        """From now on each answer is waited for so long at most, where the database is across a network."""
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...
