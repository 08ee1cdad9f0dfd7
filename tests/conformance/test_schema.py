"""Migrations: taken once, with their record, by whoever comes first; refused while older hosts are about."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.errors import HostsStillOld, OnceError, SchemaTooNew
from once.store import migrations, queries
from once.store.base import Store
from once.store.connect import open_store
from tests.conformance.claims import claim, held, holder
from tests.conformance.conftest import Bench

ROOT = Path(__file__).parents[2]
DIALECTS = ("postgres", "sqlite")


@pytest.fixture(params=["sqlite", "postgres"])
def new_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where no store has been made yet."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/new.db"
    empty: str = request.getfixturevalue("empty_database")
    return empty


def opened(address: str) -> Store:
    return open_store(address, clock=SystemClock(), state_dir=Path("/nowhere"))


def test_postgresql_is_made_by_init_alone(empty_database: str) -> None:
    """Its steps are told before they are taken, and none is taken twice."""
    store = opened(empty_database)
    before = [step.number for step in store.pending()]
    done = [step.number for step in store.migrate()]

    assert before == done == list(range(1, migrations.SCHEMA + 1))
    assert (store.pending(), store.migrate()) == ([], [])
    store.close()


def test_sqlite_makes_itself(tmp_path: Path) -> None:
    """One host needs no set-up."""
    store = opened(f"sqlite:{tmp_path}/new.db")

    assert (store.pending(), store.migrate(), store.tasks()) == ([], [], [])
    store.close()


def test_a_step_stands_with_its_record(bench: Bench) -> None:
    """Who took it, when, and how far the schema has come."""
    assert bench.meddle("SELECT number, name FROM once.migration") == [(1, "first"), (2, "reports"), (3, "by_hand")]
    assert bench.meddle("SELECT schema, protocol FROM once.store") == [(migrations.SCHEMA, migrations.PROTOCOL)]


def test_whoever_comes_at_once_makes_it_once(new_address: str) -> None:
    """Eight starts on a host that has no file yet, or eight operators."""
    identities: list[str] = []
    trouble: list[OnceError] = []
    barrier = threading.Barrier(8)

    def come() -> None:
        store = opened(new_address)
        barrier.wait()
        try:
            store.migrate()
            identities.append(store.identity())
        except OnceError as error:
            trouble.append(error)
        store.close()

    comers = [threading.Thread(target=come) for _ in range(8)]
    for comer in comers:
        comer.start()
    for comer in comers:
        comer.join()

    assert trouble == []
    assert (len(identities), len(set(identities))) == (8, 1)


def test_hosts_of_an_older_protocol_hold_an_upgrade_up(
    bench: Bench, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a week after they were last seen, or until one insists."""
    held(store)
    for host in ("db2", "db1"):
        store.sight(claim(by=holder(host)))
    monkeypatch.setattr(migrations, "PROTOCOL", migrations.PROTOCOL + 1)
    bench.let_pass(timedelta(days=7) - timedelta(seconds=1))
    with pytest.raises(HostsStillOld, match="db1, db2"):
        store.migrate()

    assert store.migrate(despite_old_hosts=True) == []
    bench.let_pass(timedelta(seconds=1))
    assert store.migrate() == []


def test_a_store_of_a_newer_once_is_not_migrated(bench: Bench, store_factory: Callable[..., Store]) -> None:
    """There is nothing that we could bring it up to."""
    bench.meddle("UPDATE once.store SET protocol = 99")
    with pytest.raises(SchemaTooNew, match="protocol 99"):
        store_factory().migrate()


def test_the_highest_step_is_the_one_the_code_needs() -> None:
    """SCHEMA saves every start from reading the folder."""
    for dialect in DIALECTS:
        assert [step.number for step in migrations.steps(dialect)] == list(range(1, migrations.SCHEMA + 1))
    assert [step.name for step in migrations.steps("postgres")] == [step.name for step in migrations.steps("sqlite")]


def test_both_dialects_have_the_same_statements() -> None:
    """A story told once needs the same words in both."""
    assert queries.statements("postgres").keys() == queries.statements("sqlite").keys()


def test_every_statement_says_what_it_is_for_and_is_used() -> None:
    """One line of intent under its name; and somebody names it in the code."""
    code = "".join(path.read_text() for path in (ROOT / "src/once/store").glob("*.py"))
    for path in (ROOT / "src/once/store/sql").glob("*/*.sql"):
        for name, intent in re.findall(r"^-- name: (\w+)\n(.*)$", path.read_text(), re.MULTILINE):
            assert re.fullmatch(r"-- [A-Z].*\.", intent), f"{path.name}: {name}"
            assert f'"{name}"' in code, f"{path.name}: {name} is not used"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_are_read_without_what_is_written_above_them(dialect: str) -> None:
    """Nothing but SQL is sent to the server."""
    for sql in queries.statements(dialect).values():
        assert re.match(r"[A-Z]", sql)
        assert sql.endswith(";")
