"""A database that is not what it was, or not what it should be: one line, the right status, and two never run."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.conftest import Host, MinuteSlot, ended, put_down, shifted, until
from tests.acceptance.own_server import OwnServer
from tests.acceptance.test_bad_input import refused
from tests.acceptance.test_one_slot import run_line
from tests.acceptance.test_signals import SIGNALS
from tests.databases import Server


@pytest.fixture
def host(tmp_path: Path, server: Server, database: str) -> Iterator[Host]:
    """A host whose record is in a PostgreSQL database of its own."""
    root = tmp_path / "host"
    root.mkdir()
    one = Host(root, server.address(database))
    yield one
    put_down(one)


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_between_claim_and_spawn_is_recorded_as_stopped(
    host: Host, server: Server, database: str, this_minute: MinuteSlot, signum: signal.Signals
) -> None:
    """It arrives while the claim waits for the task's row; the claim comes through, and the command never begins."""
    host.once("lock", "--task", "report", "--", "true")
    with server.connect(database) as other, other.transaction():
        other.execute("select 1 from once.task for update")
        process = host.start(*run_line(this_minute), "--", "touch", "ran")
        with server.connect(database) as watch:
            waits = (
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            )
            until(lambda: watch.execute(waits).fetchone() == (1,), every=0.002)
        process.send_signal(signum)
    ran = ended(process)
    run = host.runs("report")[1]

    assert ran.status == 128 + signum
    assert (run["outcome"], run["reason"]) == ("stopped", "once was stopped before the command began")
    assert not (host.root / "ran").exists()


def test_a_name_that_does_not_resolve_is_75(lone_host: Host, this_minute: MinuteSlot) -> None:
    """DNS may be back later."""
    address = "postgresql://ops@no-such-host.invalid/ops"
    ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s"), "--", "touch", "ran")

    refused(ran, 75, "NOT run", "no-such-host.invalid")
    assert not (lone_host.root / "ran").exists()


def test_an_early_start_tries_as_long_as_a_late_one(lone_host: Host) -> None:
    """Until the next slot, an hour at most: the one that it is about to reach is its own."""
    to_the_hour = timedelta(seconds=3600 - time.time() % 3600)
    line = ("run", "--task", "report", "--schedule", "0 * * * *", "--tz", "UTC", "-v", "--db", "host=127.0.0.1 port=1")
    process = lone_host.start(*line, "--", "true", environ=shifted(to_the_hour - timedelta(seconds=3)))
    assert process.stderr is not None
    told = next(line for line in process.stderr if b"trying" in line)
    process.terminate()
    ended(process)

    assert re.search(rb"; trying for another (59m|1h)", told), told


def test_a_read_only_server_is_the_wrong_server(
    host: Host, server: Server, database: str, this_minute: MinuteSlot
) -> None:
    """As a standby, or an old primary that answers for a while: nothing runs unclaimed."""
    with server.connect() as connection:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    ran = host.once(*run_line(this_minute, "--db-wait", "1s"), "--", "touch", "ran")

    refused(ran, 75, "NOT run")
    assert not (host.root / "ran").exists()


def test_a_claim_that_waits_for_a_standby_is_not_kept_without_it(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """Called off, it would be there for the next try to find, and gone after a failover."""
    with psycopg.connect(own_server.address(), autocommit=True) as owner:
        owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    own_server.stop()
    own_server.start()
    ran = own_host.once(*run_line(this_minute, "--db-wait", "1s"), "--", "touch", "ran")
    waiting = own_server.ask("SELECT query FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    known = own_server.ask("SELECT number FROM once.run")

    refused(ran, 75, "no answer within")
    assert (waiting, known) == ([("COMMIT",)], [])
    assert not (own_host.root / "ran").exists()


def test_of_several_hosts_the_dead_ones_are_passed_over(lone_host: Host, server: Server, database: str) -> None:
    """As psql does it."""
    address = f"postgresql://{server.user}@127.0.0.1:1,{server.host}:{server.port}/{database}"
    ran = lone_host.once("lock", "--task", "t", "--db", address, "--", "true")

    assert (ran.status, ran.err) == (0, "")


def test_a_role_without_rights_is_told_which_and_how_to_get_them(
    lone_host: Host, server: Server, database: str, role: str, this_minute: MinuteSlot
) -> None:
    """And `once init --grant` gives them."""
    theirs = Server(server.host, server.port, role).address(database)
    before = lone_host.once(*run_line(this_minute, "--db", theirs), "--", "touch", "ran")
    granted = lone_host.once("init", "--db", server.address(database), "--grant", role)
    after = lone_host.once(*run_line(this_minute, "--db", theirs), "--", "true")

    refused(before, 125, "NOT run", role, f"once init --grant {role}")
    assert not (lone_host.root / "ran").exists()
    assert (granted.status, after.status, after.err) == (0, 0, "")


def test_a_role_that_is_not_there_is_to_be_made_first(lone_host: Host, server: Server, database: str) -> None:
    """No other look at the schema would help."""
    ran = lone_host.once("init", "--db", server.address(database), "--grant", "no_such_role")

    refused(ran, 2, 'role "no_such_role" does not exist', "Try: CREATE ROLE … LOGIN first")


def test_a_schema_of_a_newer_once_is_refused(
    host: Host, server: Server, database: str, this_minute: MinuteSlot
) -> None:
    """An old host must not decide by rules that have changed."""
    with server.connect(database) as connection:
        connection.execute("update once.store set protocol = protocol + 1")
    ran = host.once(*run_line(this_minute), "--", "touch", "ran")

    refused(ran, 125, "NOT run", "upgrade once-run on this host")
    assert not (host.root / "ran").exists()


def test_init_makes_the_schema_and_says_what_it_did(lone_host: Host, empty_database: str) -> None:
    """First what it would do, then the SQL, then the deed, then nothing more to do."""
    at = ["--db", empty_database]
    dry = lone_host.once("init", "--dry-run", *at)
    sql = lone_host.once("init", "--show-sql", *at)
    made = lone_host.once("init", *at)
    again = lone_host.once("init", *at)

    assert [one.status for one in (dry, sql, made, again)] == [0] * 4
    assert b"would apply 0001" in dry.out
    assert b"CREATE TABLE once.run" in sql.out
    assert b"applied 0001" in made.out
    assert again.out.endswith(b"the schema is up to date\n")


def test_the_shown_sql_makes_the_schema_too(lone_host: Host, empty_database: str) -> None:
    """For whoever may not run `once` as the owner: psql does."""
    script = lone_host.once("init", "--show-sql", "--db", empty_database).out.decode()
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(script)  # type: ignore[call-overload]
    again = lone_host.once("init", "--db", empty_database)
    ran = lone_host.once("lock", "--task", "t", "--db", empty_database, "--", "true")

    assert again.out.endswith(b"the schema is up to date\n")
    assert ran.status == 0


class Pair:
    """A primary and a standby that follows it."""

    def __init__(self) -> None:
        self.primary = OwnServer()
        self.standby = OwnServer.following(self.primary)
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        self.address = f"postgresql://postgres@{hosts}/postgres"

    def fail_over(self) -> None:
        self.primary.stop()
        self.standby.promote()

    def stop(self) -> None:
        self.primary.stop()
        self.standby.stop()


@pytest.fixture
def pair() -> Iterator[Pair]:
    two = Pair()
    yield two
    two.stop()


def test_a_failover_while_the_command_runs_is_followed(lone_host: Host, pair: Pair, this_minute: MinuteSlot) -> None:
    """The end of the run lands on the new primary."""
    script = ["--", "sh", "-c", "echo up; read _; exit 3"]
    process = lone_host.start(*run_line(this_minute, "--db", pair.address), *script, stdin=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"up\n"
    until(lambda: pair.standby.ask("select outcome from once.run") == [("running",)])
    pair.fail_over()
    process.communicate(b"\n")
    ((outcome, status),) = pair.standby.ask("select outcome, exit_status from once.run")

    assert process.returncode == 3
    assert (outcome, status) == ("failed", 3)


def test_a_password_on_the_command_line_is_warned_of(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Every user of the host can read it there."""
    address = "postgresql://ops:s3cret@127.0.0.1:1/ops"
    ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s", "-v"), "--", "true")

    assert "the password in --db shows in the list of processes" in ran.err
    assert "s3cret" not in ran.err


def test_init_on_a_file_grants_nothing_and_says_so(lone_host: Host) -> None:
    """There are no roles: mode and group say who may."""
    ran = lone_host.once("init", "--grant", "cron")

    assert ran.status == 0
    assert b"cron may run once" not in ran.out
    assert b"its mode and group" in ran.out


def test_a_role_that_may_not_make_the_schema_is_told_who_may(
    lone_host: Host, server: Server, empty_database: str, role: str
) -> None:
    """No schema has an owner yet, so nobody could grant anything in it."""
    theirs = Server(server.host, server.port, role).address(empty_database.rpartition("/")[2])
    ran = lone_host.once("init", "--db", theirs)

    refused(
        ran,
        2,
        "may not make schema once (missing: GRANT CREATE ON DATABASE",
        "once init as the database's owner, or GRANT CREATE ON",
    )
    assert "--grant" not in ran.err


def test_init_tells_beforehand_what_an_upgrade_holds_up(
    lone_host: Host, server: Server, database: str, empty_database: str
) -> None:
    """Not where there is no history yet."""
    with server.connect(database) as connection:
        connection.execute("update once.store set schema = 1")
    upgrade = lone_host.once("init", "--dry-run", "--db", server.address(database)).out
    new = lone_host.once("init", "--dry-run", "--db", empty_database).out

    assert (
        b"would apply 0002 reports (meanwhile starts, beats and ends wait, for about 5 s a million runs)\n" in upgrade
    )
    assert b"would apply 0002 reports\n" in new
