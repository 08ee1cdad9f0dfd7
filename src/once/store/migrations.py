"""The schema's numbered steps: SQL files, forward only, each run in one transaction together with its record.

`SCHEMA` is the highest step that this once knows, `NEEDS` the lowest that it can do without the later ones: those
make it faster, and a database may wait for them until its owner comes by. `PROTOCOL` changes only when an older once
must not touch the tables any more: a claim reads it under the task's lock, so an upgrade that raises it on every task
row lets the claims under way come to their end and stops those that follow.
"""

from __future__ import annotations

import os
from datetime import timedelta

from once import __version__
from once.clock import Clock
from once.errors import HostsStillOld, NotInitialised, SchemaTooNew, SchemaTooOld, StoreUnusable, Unreachable
from once.store.base import Migration
from once.store.queries import SQL, statements
from once.store.session import Database

SCHEMA = 3
NEEDS = 3
PROTOCOL = 1

TRIES_FOR = timedelta(minutes=1)
"""A try waits a second at most for a lock: a step that queued behind a fenced job would hold every beat up."""

TRIES_EVERY = 0.5
WORKS_FOR = timedelta(minutes=10)
"""A step may have to rewrite a long history."""


def check(*, protocol: int, store: str, schema: int = SCHEMA) -> None:
    """Raises SchemaTooNew when the store's protocol is not ours, SchemaTooOld when it lacks steps that we need."""
    if protocol > PROTOCOL:
        raise SchemaTooNew(store=store, found=protocol, known=PROTOCOL)
    if schema < NEEDS:
        raise SchemaTooOld(store=store, found=schema, known=NEEDS)


def steps(dialect: str) -> list[Migration]:
    """Every step of a dialect, in order."""
    directory = os.path.join(SQL, dialect, "migrations")
    return [_step(dialect, directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".sql")]


def pending(database: Database) -> list[Migration]:
    """The steps that the database lacks."""
    schema, _ = _found(database)
    return [step for step in steps(database.dialect) if step.number > schema]


def migrate(
    database: Database, *, clock: Clock, tries_for: timedelta = TRIES_FOR, despite_old_hosts: bool = False
) -> list[Migration]:
    """Take the steps that are pending, and say which they were. Raises HostsStillOld, RightsMissing, SchemaTooNew."""
    schema, protocol = _found(database)
    check(protocol=protocol, store=database.name)
    if 0 < protocol < PROTOCOL and not despite_old_hosts:
        hosts = [row["host"] for row in database.session().rows("old_hosts", {"protocol": PROTOCOL})]
        if hosts:
            raise HostsStillOld(hosts=", ".join(hosts))
    missing = [step for step in steps(database.dialect) if step.number > schema]
    return [step for step in missing if _taken(database, step, clock=clock, tries_for=tries_for)]


def grant(database: Database, grants: list[str], *, clock: Clock) -> None:
    """Run these statements, one grantor at a time: two would write the same row of the catalogue (XX000)."""
    give_up_at = clock.boottime() + TRIES_FOR.total_seconds()
    while True:
        try:
            with database.transaction() as session:
                session.write("lock_migrations")
                session.script(";\n".join(grants))
        except Unreachable:
            _pause(clock, give_up_at)
        else:
            return


def _taken(database: Database, step: Migration, *, clock: Clock, tries_for: timedelta) -> bool:
    """Take one step, in several tries if others hold locks; False when somebody else has taken it."""
    give_up_at = clock.boottime() + tries_for.total_seconds()
    while _found(database)[0] < step.number:
        try:
            return _take(database, step)
        except Unreachable:
            _pause(clock, give_up_at)
        except StoreUnusable:
            # Two that make the same schema at once meet in the catalogue's unique keys.
            if _found(database)[0] < step.number:
                raise
    return False


def _pause(clock: Clock, give_up_at: float) -> None:
    """Before the next try. Raises the error that is being handled when it is too late for one."""
    if clock.boottime() >= give_up_at:
        raise  # noqa: PLE0704 — called by handlers alone
    clock.sleep(TRIES_EVERY)


def _take(database: Database, step: Migration) -> bool:
    with database.transaction(answer_within=WORKS_FOR) as session:
        if step.number > 1:
            session.write("lock_migrations")
            row = session.row("schema")
            if row is not None and row["schema"] >= step.number:
                return False
        session.script(step.sql)
        record = {"number": step.number, "name": step.name, "once_version": __version__}
        session.write("note_migration", record)
        session.write("note_schema", record)
    return True


def _found(database: Database) -> tuple[int, int]:
    """Schema and protocol of the database; zeros where there is none."""
    try:
        row = database.session().row("schema")
    except NotInitialised:
        return 0, 0
    return (row["schema"], row["protocol"]) if row is not None else (0, 0)


def _step(dialect: str, directory: str, name: str) -> Migration:
    number, _, rest = name.removesuffix(".sql").partition("_")
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        sql = file.read()
    return Migration(int(number), rest, sql, _script(dialect, int(number), rest, sql))


def _script(dialect: str, number: int, name: str, sql: str) -> str:
    """The step for a shell of the database. SQLite's has no once_now(), and no need: that file makes itself."""
    head = f"-- {number:04} {name}\n"
    if dialect != "postgres":
        return head + sql
    named = statements(dialect)
    values = {"number": number, "name": f"'{name}'", "once_version": f"'{__version__}'"}
    record = "\n".join(f"{named[note] % values};" for note in ("note_migration", "note_schema"))
    return f"{head}BEGIN;\n\n{sql.strip()}\n\n{record}\n\nCOMMIT;\n"
