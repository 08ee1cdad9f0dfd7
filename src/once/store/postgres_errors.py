"""What PostgreSQL's errors mean to us, by SQLSTATE (appendix A of its manual): try later, or say what is wrong."""

from __future__ import annotations

import psycopg

from once.errors import AddressInvalid, Busy, OnceError, RightsMissing, StoreUnusable, Unreachable

LATER_CLASSES = (
    "08",  # connection exceptions; a pooler's own refusals come as 08P01
    "53",  # insufficient resources: disk full, out of memory, too many connections
    "57P",  # shutting down, crashed, starting up, idle session ended
)
LATER = frozenset(
    (
        "25006",  # read only: this server is no primary any more
        "25P03",  # we idled in the transaction: stopped, or starved
        "25P04",  # transaction_timeout of the role or of the database
        "40001",  # serialization failure
        "40P01",  # deadlock
        "57014",  # statement_timeout of the role or of the pooler
        "58030",  # the server's own disk failed it
    )
)
OTHER_SCHEMA = frozenset(("3F000", "42P01", "42703", "42883"))
"""A schema, table, column or function is not there: nothing was made yet, or another version made it."""

LOCKED = "55P03"
"""We have waited for a lock as long as lock_timeout allows."""

DENIED = "42501"

REPAIRS = {"42704": "CREATE ROLE … LOGIN first, or the name of a role that is there"}
"""Of what no step of the schema mends. Of the objects that we name, the role to be granted alone may be missing."""

GRANTS = {
    "schema": ("use schema {0}", "GRANT USAGE ON SCHEMA {0}"),
    "table": ("use table once.{0}", "GRANT SELECT, INSERT, UPDATE, DELETE ON once.{0}"),
    "function": ("call once.{0}()", "GRANT EXECUTE ON FUNCTION once.{0}"),
    "database": ("make schema once", "GRANT CREATE ON DATABASE {0}"),
}


def refused_connection(error: psycopg.Error, store: str) -> OnceError:
    """What a failure to connect means. Hardly any has a SQLSTATE, and nearly all may be over in a minute."""
    if isinstance(error, psycopg.ProgrammingError):
        # libpq quotes the part that it could not read: it may be the password.
        return AddressInvalid(
            why="libpq cannot read the address", repair="postgresql://USER@HOST/DB or host=… dbname=…"
        )
    why = _first_line(error).removeprefix("connection failed: ").removeprefix("connection is bad: ")
    if "definition of service" in why:
        return AddressInvalid(why=why, repair="~/.pg_service.conf, or PGSERVICEFILE=/etc/pg_service.conf")
    return Unreachable(store=store, why=why)


def translated(error: psycopg.Error, *, store: str, role: str) -> OnceError:
    """What the failure of a statement means."""
    state = error.sqlstate
    why = error.diag.message_primary or _first_line(error)
    if state is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return Unreachable(store=store, why=why)
    if state == LOCKED:
        return Busy(store=store, why="another transaction holds what this needs")
    if state is not None and (state in LATER or state.startswith(LATER_CLASSES)):
        return Unreachable(store=store, why=why)
    if state == DENIED:
        what, repair = _denied(why, role)
        return RightsMissing(role=role, what=what, store=store, repair=repair)
    repair = REPAIRS.get(state or "", "once init --dry-run")
    return StoreUnusable(store=store, why=f"{why} ({state or type(error).__name__})", repair=repair)


def _denied(message: str, role: str) -> tuple[str, str]:
    """`permission denied for table run` as what it kept us from, and what mends it."""
    kind, _, name = message.rpartition("permission denied for ")[2].partition(" ")
    if kind not in GRANTS:
        return f"do this ({message})", "once init as the role that owns the schema once"
    what, grant = (text.format(name) for text in GRANTS[kind])
    repair = f"once init --grant {role}, as the schema's owner"
    if kind == "database":  # there is no schema yet that could have an owner
        repair = f"once init as the database's owner, or {grant} TO {role}"
    return f"{what} (missing: {grant})", repair


def _first_line(error: psycopg.Error) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
