"""A connection to PostgreSQL whose every answer is waited for with a deadline, and how our values travel over it.

A stopped server answers nothing while TCP stays up, and statement_timeout is the server's own affair: so the waiting
itself is bounded, here. Nothing is prepared and no setting is left behind: a pooler in transaction mode must do.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from select import POLLIN, POLLOUT, poll
from time import monotonic
from typing import Any, Self

import psycopg
from psycopg import pq
from psycopg.abc import RV, PQGen
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.waiting import Ready, Wait

CONNECTS_WITHIN = range(2, 6)
"""Seconds that a host has to take a connection: as many as an answer, within these. libpq makes 2 of 1."""

CALLS_OFF_WITHIN = 1.0
"""Seconds at most, and a quarter of the wait for the answer, to tell the server that nobody waits for it any more."""

DEFAULTS = {
    "target_session_attrs": "read-write",
    "client_encoding": "utf8",
    "fallback_application_name": "once",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
}
"""What an address gets unless it says otherwise. A server that was a primary and is none any more must not be used."""

BY_ENVIRONMENT = {"connect_timeout": "PGCONNECT_TIMEOUT", "target_session_attrs": "PGTARGETSESSIONATTRS"}

TOLD_BY_SERVICES = ("host", "hostaddr", "port", "connect_timeout", "target_session_attrs")
"""Where a service is, and what it says that we would say otherwise; libpq's own default, `any`, is not its word."""

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
INFINITE = 2**63 - 1
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, tzinfo=UTC)


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


class BoundedConnection(psycopg.Connection[DictRow]):
    """Raises NoAnswer when a statement has no answer within so many seconds; what became of it is then unknown.

    `calls_off`: the server is then told that nobody waits for it any more.
    """

    answer_within = 10.0
    calls_off = False

    @classmethod
    def to(cls, conninfo: str, *, answer_within: timedelta) -> Self:
        """Connect, in 5 s a host at most unless the address says otherwise.

        Raises psycopg.ProgrammingError when libpq cannot read the address.
        """
        given = {**_where_the_service_is(conninfo), **conninfo_to_dict(conninfo)}
        seconds = min(max(math.ceil(answer_within.total_seconds()), CONNECTS_WITHIN[0]), CONNECTS_WITHIN[-1])
        defaults = {"connect_timeout": str(seconds), **DEFAULTS}
        defaults = {key: value for key, value in defaults.items() if BY_ENVIRONMENT.get(key, "") not in os.environ}
        connection = cls.connect(
            make_conninfo("", **{**defaults, **given}),
            autocommit=True,
            prepare_threshold=None,
            context=ADAPTERS,
            row_factory=dict_row,
        )
        connection.answer_within = answer_within.total_seconds()
        return connection

    def wait(self, gen: PQGen[RV], *_args: Any, **_options: Any) -> RV:
        """Drive one of psycopg's generators, as its own `wait` does, and no longer than `answer_within`.

        Not all versions of psycopg look up while they wait, so the loop is ours.
        """
        give_up_at = monotonic() + self.answer_within
        try:
            wanted = next(gen)
            while ready := _ready(self.pgconn.socket, wanted, give_up_at - monotonic()):
                wanted = gen.send(ready)
        except StopIteration as done:
            value: RV = done.value
            return value
        if self.calls_off:
            self._call_off()
        raise NoAnswer(f"no answer within {self.answer_within:g} s")

    def _call_off(self) -> None:
        """Ask the server to let it be: a backend that waits for a lock does not notice that its client has gone.

        It would wait on, and one more with each try, until the server takes no connection any more.
        """
        if psycopg.capabilities.has_cancel_safe():  # the request of an older libpq is not bounded in time
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=min(self.answer_within / 4, CALLS_OFF_WITHIN))


def _where_the_service_is(conninfo: str) -> dict[str, str]:
    """The hosts of the service that the address or PGSERVICE names, for psycopg to look up and to try one by one.

    libpq would look them up within one call that holds up all threads: while the name servers are away no command
    would be frozen, stopped or signalled. And the first host that is silent would use up the time of all. With an
    sslmode that it does not know it only tells what it has read.
    """
    if "service" not in conninfo and "PGSERVICE" not in os.environ:
        return {}
    told = pq.PGconn.connect_start(make_conninfo(conninfo, sslmode="-").encode())
    found = {option.keyword.decode(): option.val.decode() for option in told.info if option.val}
    told.finish()
    return {key: found[key] for key in TOLD_BY_SERVICES if found.get(key, "any") != "any"}


def _ready(descriptor: int, wanted: Wait, seconds: float) -> Ready:
    """What the connection is ready for, if anything; an end or an error counts as all of it, so that libpq finds it."""
    waiting = poll()
    waiting.register(descriptor, (POLLIN if wanted & Wait.R else 0) | (POLLOUT if wanted & Wait.W else 0))
    for _, event in waiting.poll(max(seconds, 0) * 1000):
        return Ready(Ready.R * bool(event & POLLIN) | Ready.W * bool(event & POLLOUT)) or Ready(wanted)
    return Ready.NONE


class InstantLoader(Loader):
    """timestamptz as the server keeps it, microseconds since 2000, so that no session's zone has a say in it."""

    format = pq.Format.BINARY

    def load(self, data: Buffer) -> datetime:
        microseconds = int.from_bytes(data, "big", signed=True)
        if abs(microseconds) >= INFINITE:
            return LAST if microseconds > 0 else FIRST
        return EPOCH + timedelta(microseconds=microseconds)


class DurationDumper(Dumper):
    """An interval without days: a day of the calendar may have 23 hours, one of a lease may not."""

    oid = psycopg.adapters.types["interval"].oid

    def dump(self, obj: timedelta) -> bytes:
        return b"%d microseconds" % (obj // timedelta(microseconds=1))


ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_loader("timestamptz", InstantLoader)
ADAPTERS.register_dumper(timedelta, DurationDumper)
