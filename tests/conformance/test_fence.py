"""`once.assert_holder`: a job's own transaction that holds its task, and what claims make of it. PostgreSQL only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import errors

from once.run import Outcome
from once.store.base import Beat, Recorded, Store
from once.store.postgres import PostgresSession, Values
from once.store.session import Row
from once.verdict import Go, Reason, Skip
from tests.conformance.claims import LEASE, claim, ending, held, slot
from tests.conformance.conftest import Bench
from tests.databases import Server

ASSERT = "SELECT once.assert_holder('report', 1)"


@pytest.fixture(params=["postgres", "pgbouncer"])
def store_kind(request: pytest.FixtureRequest) -> str:
    """SQLite has no fence."""
    kind: str = request.param
    return kind


@pytest.fixture
def job(server: Server, database: str) -> Iterator[psycopg.Connection]:
    """The connection of the job that `once` runs."""
    with psycopg.connect(server.address(database)) as connection:
        yield connection
        connection.rollback()


def blocker(store: Store, at: float) -> tuple[Reason, int] | None:
    """Why the next slot may not start, and whose fault it is."""
    verdict = store.claim(claim(slot(at))).verdict
    return (verdict.reason, verdict.run.number) if isinstance(verdict, Skip) and verdict.run else None


def test_the_holder_passes(store: Store, job: psycopg.Connection) -> None:
    """As often as it likes."""
    held(store)

    for _ in range(2):
        job.execute(ASSERT)


def test_a_run_that_never_was_does_not_pass(store: Store, job: psycopg.Connection) -> None:
    """One clear error with a state of its own, which no retry loop takes for a hiccup."""
    held(store)

    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="run 7 does not hold task report any more"):
        job.execute("SELECT once.assert_holder('report', 7)")


def test_a_run_that_has_ended_does_not_pass(store: Store, job: psycopg.Connection) -> None:
    """Its task may have another holder any moment."""
    store.finish(held(store), ending())

    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        job.execute(ASSERT)


def test_a_lost_run_does_not_pass(bench: Bench, store: Store, job: psycopg.Connection) -> None:
    """A claim came by in the meantime."""
    held(store)
    bench.let_pass(LEASE)
    held(store, claim(slot(1)))

    with pytest.raises(errors.ObjectNotInPrerequisiteState):
        job.execute(ASSERT)


def test_beats_pass_the_fence_and_claims_do_not(bench: Bench, store: Store, job: psycopg.Connection) -> None:
    """A run whose lease has ended is alive while its transaction is open; it is lost afterwards."""
    hold = held(store)
    job.execute(ASSERT)
    beats = [store.beat(hold, LEASE) for _ in range(3)]
    bench.let_pass(LEASE)
    same, newer = store.claim(claim(attempts=2)).verdict, blocker(store, 1)
    job.commit()
    after = store.claim(claim(slot(2))).verdict

    assert beats == [Beat(ours=True)] * 3
    assert isinstance(same, Skip) and same.reason is Reason.HELD
    assert newer == (Reason.OVERLAP, 1)
    assert after == Go(attempt=1)
    assert store.run("report", 1).outcome is Outcome.LOST


def test_a_fenced_transaction_that_outlives_its_run_is_alive(store: Store, job: psycopg.Connection) -> None:
    """The command has ended, its work at the server has not."""
    hold = held(store)
    job.execute(ASSERT)
    recorded = store.finish(hold, ending())
    during = blocker(store, 1)
    job.commit()

    assert recorded is Recorded.AS_ENDED
    assert during == (Reason.OVERLAP, 1)
    assert store.claim(claim(slot(2))).verdict == Go(attempt=1)


def test_an_end_that_is_just_being_written_is_no_fence(
    store: Store, job: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the run's row until it is on disk: a start in that moment would skip its slot for good."""
    held(store)
    job.execute("UPDATE once.run SET outcome = 'succeeded'")
    ask = PostgresSession.row

    def ask_or_commit(session: PostgresSession, statement: str, values: Values = None) -> Row | None:
        if statement == "let_a_moment_pass":
            job.commit()
        return ask(session, statement, values)

    monkeypatch.setattr(PostgresSession, "row", ask_or_commit)

    assert store.claim(claim(slot(1))).verdict == Go(attempt=1)


def test_a_run_that_is_told_afterwards_hides_no_fence(store: Store, job: psycopg.Connection) -> None:
    """An unguarded one gets a higher number than the run whose transaction is still open."""
    hold = held(store)
    job.execute(ASSERT)
    store.finish(hold, ending(Outcome.FAILED))
    store.record_unguarded(claim(slot(-1)), ending())

    assert blocker(store, 1) == (Reason.OVERLAP, 1)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "lost"])
def test_a_late_assert_on_an_old_snapshot_fails(
    bench: Bench, store: Store, job: psycopg.Connection, level: str, ended: bool
) -> None:
    """The snapshot still sees the run as running; the claim has touched its row."""
    hold = held(store)
    job.execute(f"BEGIN ISOLATION LEVEL {level}")
    job.execute("SELECT count(*) FROM once.run")
    if ended:
        store.finish(hold, ending())
    bench.let_pass(LEASE)
    held(store, claim(slot(1)))

    with pytest.raises(errors.SerializationFailure):
        job.execute(ASSERT)


def test_a_savepoint_that_is_rolled_back_drops_the_fence(bench: Bench, store: Store, job: psycopg.Connection) -> None:
    """As the page says."""
    held(store)
    job.execute("SAVEPOINT s")
    job.execute(ASSERT)
    job.execute("ROLLBACK TO SAVEPOINT s")
    bench.let_pass(LEASE)

    assert store.claim(claim(slot(1))).verdict == Go(attempt=1)


def test_a_role_needs_no_rights_on_the_tables(server: Server, store: Store, database: str, role: str) -> None:
    """The function is the owner's; a temporary table of the caller's does not mislead it."""
    held(store)
    with server.connect(database) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA once TO {role}")
        connection.execute(f"SET ROLE {role}")
        connection.execute("CREATE TEMPORARY TABLE run (task text, number bigint, outcome text)")
        connection.execute(ASSERT)

        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("SELECT FROM once.run")


def test_a_dead_client_is_noticed_while_it_holds_the_fence(store: Store, job: psycopg.Connection) -> None:
    """Keepalives for this transaction, and for no other."""
    held(store)
    before = job.execute("SHOW tcp_keepalives_idle").fetchone()
    job.execute(ASSERT)
    during = job.execute("SHOW tcp_keepalives_idle").fetchone()
    job.commit()

    assert during == ("60",)
    assert job.execute("SHOW tcp_keepalives_idle").fetchone() == before


def test_no_unique_index_contains_the_lease(bench: Bench) -> None:
    """Such an index would make every beat wait for the fence."""
    indexes = bench.meddle("SELECT indexdef FROM pg_indexes WHERE schemaname = 'once' AND tablename = 'run'")
    unique = [index for (index,) in indexes if "UNIQUE" in index]

    assert len(unique) >= 2
    assert [index for index in unique if "lease" in index] == []


def test_a_claim_that_another_one_holds_up_gives_in(
    server: Server, database: str, store: Store, store_factory: Callable[..., Store]
) -> None:
    """A fenced row is skipped, not waited for: the loser's answer comes although the lock stays."""
    held(store)
    with server.connect(database) as connection, connection.transaction():
        connection.execute(ASSERT)

        assert blocker(store_factory(), 1) == (Reason.OVERLAP, 1)
