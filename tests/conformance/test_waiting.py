"""Who waits for whom: row locks held by hand in PostgreSQL, the one write lock in SQLite. The real clock runs here."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from once.clock import SystemClock
from once.errors import Busy, Unreachable
from once.event import Operator
from once.store.base import Beat, Recorded, Store
from once.store.connect import open_store
from once.verdict import Reason, Skip
from tests.conformance.claims import LEASE, NOON, claim, ending, held, slot
from tests.databases import Server

ALICE = Operator("alice", "web1")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LOCK_TASK = "SELECT FROM once.task FOR NO KEY UPDATE"
LOCK_RUN = "SELECT FROM once.run FOR UPDATE"
WAITERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

only_postgres = pytest.mark.parametrize("store_kind", ["postgres", "pgbouncer"], indirect=True)


@pytest.fixture
def store_kind(request: pytest.FixtureRequest) -> str:
    """As the test says."""
    kind: str = request.param
    return kind


@pytest.fixture
def store(store_factory: Callable[..., Store]) -> Store:
    """One connection, on real time."""
    return store_factory()


@pytest.fixture
def locks(server: Server, database: str) -> Iterator[psycopg.Connection]:
    """A transaction of somebody else's, which takes the locks that a test names."""
    with psycopg.connect(server.address(database)) as connection:
        yield connection
        connection.rollback()


@only_postgres
def test_a_locked_task_holds_claims_up_for_a_second_and_nothing_else(store: Store, locks: psycopg.Connection) -> None:
    """Losers read, holders beat and finish, while somebody else claims or prunes."""
    hold = held(store)
    locks.execute(LOCK_TASK)
    facts = store.look(claim())
    beat = store.beat(hold, LEASE)
    with pytest.raises(Unreachable, match="busy: another transaction holds"):
        store.claim(claim(slot(1)))

    assert (facts.latest_alive, beat) == (True, Beat(ours=True))
    assert store.finish(hold, ending()) is Recorded.AS_ENDED


WAIT: dict[str, Callable[[Store], object]] = {
    "claim": lambda store: store.claim(claim(slot(1))),
    "cancel": lambda store: store.cancel("report", by=ALICE),
    "excuse": lambda store: store.excuse([claim(slot(1))], by=ALICE),
    "pause": lambda store: store.pause("report", by=ALICE),
    "resume": lambda store: store.resume("report", by=ALICE),
    "retire": lambda store: store.retire("report", by=ALICE),
}
DO_NOT_WAIT: dict[str, Callable[[Store], object]] = {
    "look": lambda store: store.look(claim(slot(1))),
    "sight": lambda store: store.sight(claim(slot(1))),
    "prune": lambda store: store.prune("report", timedelta()),
    "pause of all": lambda store: store.pause(None, by=ALICE),
    "resume of all": lambda store: store.resume(None, by=ALICE),
    "events": lambda store: store.events("report", since=NOON),
    "tasks": lambda store: store.tasks(),
    "runs": lambda store: list(store.runs("report")),
    "run": lambda store: store.run("report"),
    "newest": lambda store: store.newest(),
    "running": lambda store: store.running(),
    "slots": lambda store: list(store.slots(["report"], since=NOON, until=NOON + LEASE)),
    "crossing": lambda store: store.crossing(["report"], since=NOON, until=NOON + LEASE, now=NOON + LEASE),
    "vitals": lambda store: store.vitals(),
}


@only_postgres
@pytest.mark.parametrize("verb", WAIT)
def test_what_changes_a_task_waits_for_its_lock_and_then_says_who_is_in_the_way(
    store: Store, locks: psycopg.Connection, verb: str
) -> None:
    """For a second at a time; nothing is half done, and it can be asked for again."""
    held(store)
    store.pause("report", by=ALICE, length=timedelta(days=1) if verb == "resume" else timedelta())
    before = store.events("report", since=EPOCH)
    locks.execute(LOCK_TASK)
    with pytest.raises(Busy, match="another transaction holds"):
        WAIT[verb](store)
    after = store.events("report", since=EPOCH)
    locks.rollback()
    WAIT[verb](store)

    assert after == before


@only_postgres
@pytest.mark.parametrize("verb", DO_NOT_WAIT)
def test_what_tells_does_not_wait_for_a_task_that_is_locked(store: Store, locks: psycopg.Connection, verb: str) -> None:
    """Nor does what has time, as a prune, or is no task's, as a pause of all."""
    held(store)
    locks.execute(LOCK_TASK)

    DO_NOT_WAIT[verb](store)


@only_postgres
def test_a_late_end_waits_for_the_lock_and_is_not_lost(store: Store, locks: psycopg.Connection) -> None:
    """Whether it was repeated has to be known; the end waits in the journal meanwhile."""
    hold = held(store)
    locks.execute("UPDATE once.run SET outcome = 'lost'")
    locks.commit()
    locks.execute(LOCK_TASK)
    with pytest.raises(Busy):
        store.finish(hold, ending())
    locks.rollback()

    assert store.finish(hold, ending()) is Recorded.INSTEAD_OF_LOST


@only_postgres
def test_a_locked_task_is_in_no_other_tasks_way(store: Store, locks: psycopg.Connection) -> None:
    """Each has its own row."""
    store.finish(held(store), ending())
    locks.execute(LOCK_TASK)

    assert held(store, claim(task="other")).number == 1


@only_postgres
def test_a_locked_run_is_alive_to_claims_and_open_to_looks(store: Store, locks: psycopg.Connection) -> None:
    """Whoever holds its row, the claim does not wait."""
    store.finish(held(store), ending())
    locks.execute(LOCK_RUN)
    facts = store.look(claim())
    verdict = store.claim(claim(slot(1))).verdict

    assert facts.succeeded
    assert isinstance(verdict, Skip) and verdict.run is not None
    assert (verdict.reason, verdict.run.number) == (Reason.OVERLAP, 1)


@only_postgres
def test_a_beat_that_must_wait_gives_up_in_time(
    address: str, store: Store, locks: psycopg.Connection, tmp_path: Path
) -> None:
    """The keeper sets the bound; the answer is then unknown, and the next beat finds out."""
    keeper = open_store(address, clock=SystemClock(), state_dir=tmp_path, answer_within=timedelta(seconds=0.5))
    hold = held(store)
    locks.execute(LOCK_RUN)
    with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
        keeper.beat(hold, LEASE)
    locks.rollback()

    assert keeper.beat(hold, LEASE) == Beat(ours=True)
    keeper.close()


@only_postgres
def test_a_beat_that_waited_writes_a_lease_that_is_short_and_never_long(
    store_factory: Callable[..., Store], store: Store, locks: psycopg.Connection
) -> None:
    """It counts from a moment between its sending and its answer."""
    hold = held(store)
    sent, answered = _while_waiting(locks, LOCK_RUN, lambda: store.beat(hold, LEASE), store_factory())
    row = store.run("report", 1)

    assert row is not None and row.lease_until is not None
    assert sent <= row.lease_until - LEASE <= answered


@only_postgres
def test_a_claim_that_waited_leases_from_after_the_wait(
    store_factory: Callable[..., Store], store: Store, locks: psycopg.Connection
) -> None:
    """`now()` would be the time at which its transaction began."""
    store.finish(held(store), ending())
    released: list[datetime] = []
    clock = store_factory()
    _, answered = _while_waiting(
        locks, LOCK_TASK, lambda: store.claim(claim(slot(1))), clock, on_release=lambda: released.append(clock.now())
    )
    row = store.run("report", 2)

    assert row is not None and row.lease_until is not None
    assert released[0] <= row.lease_until - LEASE <= answered


@pytest.mark.parametrize("store_kind", ["sqlite"], indirect=True)
class TestSqlite:
    """One writer at a time; readers go on until it commits."""

    def test_a_writer_holds_writes_up_and_not_looks(self, address: str, store: Store) -> None:
        """And what waits in vain says who is in the way."""
        hold = held(store)
        with _writing(address):
            facts = store.look(claim())
            for write in (lambda: store.beat(hold, LEASE), lambda: store.claim(claim(slot(1)))):
                with pytest.raises(Unreachable, match="another process holds it"):
                    write()

        assert facts.latest_alive
        assert store.beat(hold, LEASE) == Beat(ours=True)

    def test_a_claim_that_waited_leases_from_after_the_wait(self, address: str, store: Store) -> None:
        """Its transaction begins with the lock."""
        store.finish(held(store), ending())
        waiting = threading.Thread(target=_claim_elsewhere, args=(address,))
        with _writing(address):
            waiting.start()
            waiting.join(0.3)
            released = SystemClock().now()
        waiting.join()
        row = store.run("report", 2)

        assert row is not None and row.lease_until is not None
        assert row.lease_until - LEASE >= released


def _claim_elsewhere(address: str) -> None:
    """In another thread, so with a connection of its own."""
    other = open_store(address, clock=SystemClock(), state_dir=Path("/nowhere"))
    held(other, claim(slot(1)))
    other.close()


def _while_waiting(
    locks: psycopg.Connection,
    lock: str,
    act: Callable[[], object],
    clock: Store,
    *,
    on_release: Callable[[], None] = lambda: None,
) -> tuple[datetime, datetime]:
    """Let something wait for a lock, then have it; when it was sent and when it was answered, by the store's clock."""
    locks.execute(lock)
    sent = clock.now()
    acting = threading.Thread(target=act)
    acting.start()
    with psycopg.connect(locks.info.dsn, autocommit=True) as watching:
        deadline = time.monotonic() + 30
        while watching.execute(WAITERS).fetchone() == (0,):
            assert time.monotonic() < deadline
    on_release()
    locks.rollback()
    acting.join()
    return sent, clock.now()


@contextmanager
def _writing(address: str) -> Iterator[None]:
    connection = sqlite3.connect(address.removeprefix("sqlite:"), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()
