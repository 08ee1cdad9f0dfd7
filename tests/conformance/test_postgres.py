"""PostgreSQL as it is met: servers that end, stop, or are no primary; roles without rights; poolers; settings."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest

from once.clock import SystemClock
from once.errors import (
    AddressInvalid,
    NotInitialised,
    OnceError,
    RightsMissing,
    SchemaTooNew,
    SchemaTooOld,
    Unreachable,
)
from once.event import Operator
from once.run import Outcome
from once.store.base import Beat, Store
from once.store.connect import open_store
from once.verdict import Go, Overlap
from tests.conformance.claims import LEASE, NOON, claim, ending, held, slot
from tests.databases import Server, free_port

NOWHERE = Path("/nowhere")
PATIENCE = 30.0
"""Seconds after which an event that does not come is a failure."""
OURS = "FROM pg_stat_activity WHERE application_name = 'once' AND datname = current_database()"


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of services, to be written."""
    path = tmp_path / "services"
    monkeypatch.setenv("PGSERVICEFILE", str(path))
    return path


@pytest.fixture
def opened() -> Iterator[Callable[..., Store]]:
    """Opens an address, and closes it after the test."""
    stores: list[Store] = []

    def open_one(address: str, **how: timedelta) -> Store:
        stores.append(open_store(address, clock=SystemClock(), state_dir=NOWHERE, **how))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(server: Server, database: str, opened: Callable[..., Store]) -> Store:
    """A store straight on the server."""
    return opened(server.address(database))


@pytest.fixture
def admin(server: Server, database: str) -> Iterator[psycopg.Connection]:
    """The owner's own connection to the same database."""
    with server.connect(database) as connection:
        yield connection


class TestPooler:
    """Nothing may be prepared, set or held: the next statement may run on another connection."""

    def test_six_wrappers_beat_thirty_times_through_five_connections(
        self, bouncer: Server, database: str, opened: Callable[..., Store]
    ) -> None:
        """Else psycopg would prepare a statement at its sixth execution, and the pooler would lose it."""
        answers: list[Beat] = []

        def wrapper(task: str) -> None:
            store = opened(bouncer.address(database))
            hold = held(store, claim(task=task))
            answers.extend(store.beat(hold, LEASE) for _ in range(30))
            store.finish(hold, ending())

        wrappers = [threading.Thread(target=wrapper, args=(f"task{number}",)) for number in range(6)]
        for thread in wrappers:
            thread.start()
        for thread in wrappers:
            thread.join()

        assert answers == [Beat(ours=True)] * 180

    def test_no_setting_outlives_its_transaction(
        self, bouncer: Server, database: str, opened: Callable[..., Store]
    ) -> None:
        """The pooler hands the connection to somebody else as it is."""
        store = opened(bouncer.address(database))
        with psycopg.connect(bouncer.address(database), prepare_threshold=None, autocommit=True) as other:
            settings = "SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'application_name'"
            before = other.execute(settings).fetchall()
            store.finish(held(store), ending())

            assert other.execute(settings).fetchall() == before


class TestDurability:
    """A claim must survive a crash, also where the database has been told to be fast."""

    def test_what_is_written_is_written_for_good(self, store: Store, admin: psycopg.Connection) -> None:
        """synchronous_commit is raised where it is off, for our own transactions."""
        name = admin.info.dbname
        admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        admin.execute("CREATE TABLE public.seen (number serial, how text)")
        admin.execute(
            "CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " INSERT INTO public.seen (how) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$"
        )
        admin.execute(
            "CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON once.run"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see()"
        )
        hold = held(store)
        store.beat(hold, LEASE)
        store.finish(hold, ending())

        assert admin.execute("SELECT how FROM public.seen").fetchall() == [("on",)] * 3

    def test_a_higher_level_is_left_as_it_is(self, store: Store, admin: psycopg.Connection) -> None:
        """Somebody wants to wait for the standby's replay."""
        admin.execute(f"ALTER DATABASE {admin.info.dbname} SET synchronous_commit = remote_apply")
        with store._database.transaction() as session:
            found = session._connection.execute("SHOW synchronous_commit").fetchone()

        assert found == {"synchronous_commit": "remote_apply"}


class TestBrokenConnections:
    """Breakage is Unreachable; the next verb connects anew."""

    def test_a_connection_that_was_terminated_is_made_anew(self, store: Store, admin: psycopg.Connection) -> None:
        """A restart or a failover between two beats."""
        hold = held(store)
        admin.execute(f"SELECT pg_terminate_backend(pid) {OURS}")
        with pytest.raises(Unreachable):
            store.beat(hold, LEASE)

        assert store.beat(hold, LEASE) == Beat(ours=True)

    def test_a_transaction_that_the_server_cuts_short(
        self, server: Server, database: str, store: Store, admin: psycopg.Connection
    ) -> None:
        """The next try may be quicker: it waited for a lock."""
        if admin.info.server_version < 170000:
            pytest.skip("this server has no transaction_timeout")
        store.finish(held(store), ending())
        admin.execute(f"ALTER DATABASE {admin.info.dbname} SET transaction_timeout = '300ms'")
        store.close()
        with server.connect(database) as other:
            other.execute("SET transaction_timeout = 0")
            with other.transaction():
                other.execute("SELECT FROM once.task FOR UPDATE")
                with pytest.raises(Unreachable, match="transaction timeout"):
                    store.claim(claim(slot(1)))

        assert store.claim(claim(slot(1))).verdict == Go(attempt=1)

    def test_a_server_that_is_stopped_is_given_up_in_time(
        self, server: Server, database: str, admin: psycopg.Connection, opened: Callable[..., Store]
    ) -> None:
        """TCP stays up, and nothing comes."""
        store = opened(server.address(database), answer_within=timedelta(seconds=0.3))
        hold = held(store)
        (pid,) = admin.execute(f"SELECT pid {OURS}").fetchone()
        try:
            os.kill(pid, signal.SIGSTOP)
        except (ProcessLookupError, PermissionError):
            pytest.skip("the server is not ours to stop")
        try:
            with pytest.raises(Unreachable, match=r"no answer within 0\.3 s"):
                store.beat(hold, LEASE)
        finally:
            os.kill(pid, signal.SIGCONT)

        assert store.beat(hold, LEASE) == Beat(ours=True)

    def test_a_server_that_never_greets_is_given_up_in_time(self, opened: Callable[..., Store]) -> None:
        """It accepts the connection, and that is all."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            store = opened(f"postgresql://ops@127.0.0.1:{silent.getsockname()[1]}/ops?connect_timeout=2")

            with pytest.raises(Unreachable, match="timeout"):
                store.connect()

    def test_a_port_where_nobody_listens(self, opened: Callable[..., Store]) -> None:
        """In one line that names the place and no password."""
        store = opened(f"postgresql://ops:s3cret@127.0.0.1:{free_port()}/ops")
        with pytest.raises(Unreachable) as told:
            store.look(claim())

        assert "Connection refused" in str(told.value)
        assert "s3cret" not in str(told.value) + repr(told.value)
        assert "\n" not in str(told.value)

    def test_an_unknown_host_and_an_unknown_database(self, server: Server, opened: Callable[..., Store]) -> None:
        """Either may be there in a minute."""
        for address in ("postgresql://ops@no-such-host.invalid/ops", server.address("no_such_database")):
            with pytest.raises(Unreachable, match=r"no.such"):
                opened(address).connect()

    def test_of_several_hosts_the_one_that_answers(
        self, server: Server, database: str, opened: Callable[..., Store]
    ) -> None:
        """As in psql."""
        store = opened(
            f"host={server.host},{server.host} port={free_port()},{server.port} user={server.user} dbname={database}"
        )

        assert store.claim(claim()).verdict == Go(attempt=1)

    def test_of_the_hosts_of_a_service_the_one_that_answers(
        self, server: Server, database: str, opened: Callable[..., Store], services: Path
    ) -> None:
        """Though the first takes the connection and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            hosts = f"host=127.0.0.1,{server.host}\nport={silent.getsockname()[1]},{server.port}"
            services.write_text(f"[ops]\n{hosts}\nuser={server.user}\ndbname={database}\n")
            store = opened("service=ops connect_timeout=2")

            assert store.claim(claim()).verdict == Go(attempt=1)

    def test_a_service_may_say_which_server_will_do(
        self, server: Server, database: str, opened: Callable[..., Store], services: Path
    ) -> None:
        """As an address may: our default is for those that say nothing."""
        where = f"host={server.host}\nport={server.port}\nuser={server.user}\ndbname={database}"
        services.write_text(f"[ops]\n{where}\ntarget_session_attrs=standby\n")
        with pytest.raises(Unreachable, match="not in hot standby mode"):
            opened("service=ops").connect()

    @pytest.mark.parametrize("address", ["service=ops", "dbname=ops"])
    def test_the_hosts_of_a_service_are_looked_up_by_us(
        self, address: str, opened: Callable[..., Store], services: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In libpq it would hold up every thread, and name servers that are away take long."""
        services.write_text("[ops]\nhost=db1.invalid\n")
        monkeypatch.setenv("PGSERVICE", "ops")
        looked_up = []

        def away(host: str, *_more: object, **_how: object) -> NoReturn:
            looked_up.append(host)
            raise OSError("no name server answers")

        monkeypatch.setattr("socket.getaddrinfo", away)
        with pytest.raises(Unreachable, match="no name server answers"):
            opened(address).connect()

        assert looked_up == ["db1.invalid"]

    def test_a_server_that_only_reads_is_not_the_one(
        self, server: Server, database: str, admin: psycopg.Connection, opened: Callable[..., Store]
    ) -> None:
        """After a failover the old primary answers for a while."""
        admin.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        with pytest.raises(Unreachable, match="read-only"):
            opened(server.address(database)).look(claim())
        with pytest.raises(Unreachable, match="read-only"):
            opened(f"{server.address(database)}?target_session_attrs=any").claim(claim())

    def test_a_service_that_is_not_defined(self, opened: Callable[..., Store]) -> None:
        """No later try can succeed."""
        with pytest.raises(AddressInvalid, match="no-such-service"):
            opened("service=no-such-service").connect()

    def test_what_libpq_cannot_read_is_not_repeated(self, opened: Callable[..., Store]) -> None:
        """Its own message may quote the password."""
        with pytest.raises(AddressInvalid) as told:
            opened("host=db1 pasword=s3cret").connect()

        assert "s3cret" not in str(told.value)


class TestRights:
    """A role without rights is told which GRANT is missing; with ours it can do all that a host does."""

    def test_what_is_missing_is_named(
        self, server: Server, database: str, role: str, admin: psycopg.Connection, opened: Callable[..., Store]
    ) -> None:
        """First the schema, then a table, then what a claim writes."""
        store = opened(_as(role, server, database))
        missing = []
        for grant in (f"USAGE ON SCHEMA once TO {role}", f"SELECT ON ALL TABLES IN SCHEMA once TO {role}", None):
            with pytest.raises(RightsMissing) as told:
                store.claim(claim())
            missing.append(str(told.value).partition("missing: ")[2].partition(")")[0])
            if grant:
                admin.execute(f"GRANT {grant}")

        assert missing == [
            "GRANT USAGE ON SCHEMA once",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON once.task",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON once.task",
        ]
        assert role in str(told.value)

    def test_with_the_grants_a_host_can_do_its_work(
        self, server: Server, database: str, role: str, store: Store, opened: Callable[..., Store]
    ) -> None:
        """And nothing beyond: the schema's own record stays the owner's."""
        store.grant(role)
        hosts = opened(_as(role, server, database))
        hold = held(hosts)
        hosts.beat(hold, LEASE)
        hosts.finish(hold, ending())
        hosts.sight(claim())
        with psycopg.connect(_as(role, server, database)) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("UPDATE once.store SET protocol = 7")
            connection.rollback()

        assert hosts.run("report", 1).outcome is Outcome.SUCCEEDED

    def test_with_the_grants_an_operator_can_do_theirs(
        self, server: Server, database: str, role: str, store: Store, opened: Callable[..., Store]
    ) -> None:
        """Whoever may run `once` on a host may do by hand what its verbs do."""
        store.grant(role)
        here, by = opened(_as(role, server, database)), Operator("alice", "web1")
        here.finish(held(here, claim(slot(-2))), ending())
        hold = held(here, claim(slot(-1)))
        here.claim(claim(overlap=Overlap.REPLACE))
        cancelled = here.cancel("report", by=by)
        stop = here.beat(hold, LEASE).stop
        here.finish(hold, ending(Outcome.CANCELLED))
        done = [
            here.pause("report", by=by),
            here.resume("report", by=by),
            here.pause(None, by=by),
            here.resume(None, by=by),
            here.retire("report", by=by),
        ]
        excused = here.excuse([claim()], by=by)
        here.note_rerun(held(here, claim(rerun=True)), slot().at, by=by)

        assert (len(cancelled.asked), stop) == (1, f"replaced by slot {NOON:%Y-%m-%dT%H:%M:%SZ}")
        assert (done, excused.slots) == ([True] * 5, (NOON,))
        assert len(here.events("report", since=NOON)) == 8

    def test_a_role_that_may_not_make_a_schema(
        self, server: Server, empty_database: str, role: str, opened: Callable[..., Store]
    ) -> None:
        """`once init` is for the owner."""
        name = empty_database.rpartition("/")[2]

        with pytest.raises(RightsMissing, match=f"GRANT CREATE ON DATABASE {name}"):
            opened(_as(role, server, name)).migrate()

    def test_a_role_is_quoted(self, store: Store) -> None:
        """A name is data."""
        assert (
            store.grants('a"; DROP SCHEMA once; --')[0] == 'GRANT USAGE ON SCHEMA once TO "a""; DROP SCHEMA once; --"'
        )


class TestOtherSchemas:
    """Made by nobody, by an older once, by a newer one."""

    def test_nothing_was_made(self, empty_database: str, opened: Callable[..., Store]) -> None:
        """Every verb says how to make it."""
        store = opened(empty_database)
        for verb in (lambda: store.look(claim()), lambda: store.claim(claim()), store.tasks, store.now, store.identity):
            with pytest.raises(NotInitialised, match="once init"):
                verb()

    def test_a_newer_protocol_is_refused(self, store: Store, admin: psycopg.Connection) -> None:
        """In the look; and in the claim under the task's lock, which an upgrade takes as well."""
        held(store)
        admin.execute("UPDATE once.task SET protocol = 2")
        with pytest.raises(SchemaTooNew):
            store.claim(claim(slot(1)))
        admin.execute("UPDATE once.store SET protocol = 2")
        with pytest.raises(SchemaTooNew, match="protocol 2"):
            store.look(claim())

    def test_a_newer_schema_of_our_protocol_is_fine(self, store: Store, admin: psycopg.Connection) -> None:
        """An additive step is taken while hosts still run the older once."""
        admin.execute("UPDATE once.store SET schema = 99")

        assert store.claim(claim()).verdict == Go(attempt=1)

    def test_an_older_schema_needs_once_init(self, store: Store, admin: psycopg.Connection) -> None:
        """Whether its number tells, or a column that is not there."""
        admin.execute("UPDATE once.store SET schema = 0")
        with pytest.raises(SchemaTooOld, match="once init"):
            store.look(claim())
        admin.execute("ALTER TABLE once.run DROP COLUMN late_outcome")
        with pytest.raises(SchemaTooOld):
            store.look(claim())


def test_a_database_in_another_encoding_takes_everything(server: Server, opened: Callable[..., Store]) -> None:
    """SQL_ASCII converts nothing, and does not have to."""
    with server.connect() as connection:
        connection.execute(
            f"CREATE DATABASE once_ascii_{os.getpid()} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
        )
    try:
        store = opened(server.address(f"once_ascii_{os.getpid()}"))
        store.migrate()
        held(store, claim(task="日本語"))

        assert store.task("日本語").name == "日本語"
    finally:
        with server.connect() as connection:
            connection.execute(f"DROP DATABASE once_ascii_{os.getpid()} WITH (FORCE)")


def _as(role: str, server: Server, database: str) -> str:
    return Server(server.host, server.port, role).address(database)


def test_grants_that_come_at_once_wait_for_each_other(
    database: str, server: Server, role: str, opened: Callable[..., Store]
) -> None:
    """The second is let in when the first has committed: neither finds the catalogue changed under its hands."""
    trouble: list[OnceError] = []

    def grant() -> None:
        try:
            opened(server.address(database)).grant(role)
        except OnceError as error:
            trouble.append(error)

    with server.connect(database) as other, server.connect(database) as watch:
        with other.transaction():
            other.execute(f"GRANT USAGE ON SCHEMA once TO {role}")
            other.execute("LOCK TABLE once.migration IN SHARE ROW EXCLUSIVE MODE")
            grantors = [threading.Thread(target=grant) for _ in range(6)]
            for grantor in grantors:
                grantor.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'once.migration'::regclass AND NOT granted"
            while watch.execute(waiting).fetchone() != (6,):
                pass
        for grantor in grantors:
            grantor.join()

    assert trouble == []


def test_an_answer_is_waited_for_as_long_as_the_store_was_bound(
    database: str, server: Server, opened: Callable[..., Store]
) -> None:
    """Over a connection that was there before, and over one that is made for it."""
    store = opened(server.address(database))
    store.connect()
    store.bound(timedelta(milliseconds=300))
    told = []
    with server.connect(database) as other, other.transaction():
        other.execute("LOCK TABLE once.store IN ACCESS EXCLUSIVE MODE")
        for _ in range(2):
            with pytest.raises(Unreachable) as refusal:
                store.identity()
            told.append(refusal.value.message.partition("out of reach: ")[2])

    assert told == ["no answer within 0.3 s"] * 2


def test_who_has_given_up_leaves_nobody_waiting_at_the_server(
    database: str, server: Server, opened: Callable[..., Store]
) -> None:
    """A backend that waits for a lock does not notice that its client has gone; with each try there was one more."""
    if not psycopg.capabilities.has_cancel_safe():
        pytest.skip("this libpq cannot call off a statement within a time")
    store = opened(server.address(database), answer_within=timedelta(milliseconds=400))
    hold = held(store)
    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'once.run'::regclass AND NOT granted"
    with server.connect(database) as other, server.connect(database) as watch, other.transaction():
        other.execute("LOCK TABLE once.run IN ACCESS EXCLUSIVE MODE")
        for _ in range(3):
            with pytest.raises(Unreachable, match=r"no answer within 0\.4 s"):
                store.beat(hold, LEASE)
        give_up_at = time.monotonic() + PATIENCE
        while watch.execute(waiting).fetchone() != (0,):
            assert time.monotonic() < give_up_at, "somebody waits still"

    assert store.beat(hold, LEASE) == Beat(ours=True)
