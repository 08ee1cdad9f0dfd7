"""`once init`: create or upgrade the schema."""

from __future__ import annotations

import click

from once.commands.opening import place
from once.commands.options import database
from once.render import Answer
from once.store.base import Migration

NOT_MADE = "sqlite:{file} is not there yet, and the first run makes it; for PostgreSQL: once init --db ADDRESS"
"""Where nobody named a file, that run says that other hosts will not see it: it must be the one that makes it."""


@click.command(short_help="Create or upgrade the schema in the database.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
@click.option("--show-sql", is_flag=True, help="Print the SQL instead of running it.")
@click.option("--grant", metavar="ROLE", help="Grant this role the rights that once needs.")
@click.option("--force", is_flag=True, help="Upgrade even if hosts with an older once were seen lately.")
@database
def init(*, dry_run: bool, show_sql: bool, grant: str | None, force: bool, db: str | None) -> Answer:
    """Create or upgrade the schema `once` in the database, as a role that may.

    \b
    Example:
      once init --db postgresql://ops@db1/ops --grant cron
    """
    where = place(db)
    if where.is_missing and (where.by_default or dry_run or show_sql):
        line = NOT_MADE.format(file=where.file)
        return Answer(verb="init", lines=[f"-- {line}" if show_sql else line])
    store = where.open()
    pending = store.pending()
    grants = store.grants(grant) if grant else []
    if show_sql:
        script = [migration.script for migration in pending] + [f"{grant};" for grant in grants]
        return Answer(verb="init", lines=[line for statement in script for line in statement.splitlines()])
    if dry_run:
        return Answer(verb="init", lines=_plan(store.name, pending, grants))
    done = store.migrate(despite_old_hosts=force)
    if grant:
        store.grant(grant)
    lines = [f"{store.name}: applied {migration.number:04} {migration.name}" for migration in done]
    lines = lines or [f"{store.name}: the schema is up to date"]
    return Answer(verb="init", lines=lines + ([f"{store.name}: {_granted(grant, grants)}"] if grant else []))


def _granted(role: str, grants: list[str]) -> str:
    return f"{role} may run once" if grants else "a file has no roles; its mode and group say who may run once"


def _plan(name: str, pending: list[Migration], grants: list[str]) -> list[str]:
    is_new = any(migration.number == 1 for migration in pending)
    lines = [f"{name}: would apply {_told(migration, is_new=is_new)}" for migration in pending]
    lines = lines or [f"{name}: the schema is up to date"]
    return lines + [f"{name}: would run {statement}" for statement in grants]


def _told(migration: Migration, *, is_new: bool) -> str:
    """The step, and what it holds up in a database that has a history."""
    told = f"{migration.number:04} {migration.name}"
    return f"{told} (meanwhile {migration.meanwhile})" if migration.meanwhile and not is_new else told
