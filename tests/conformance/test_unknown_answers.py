"""Faults in the middle of a verb: lost answers, stopped claimers, broken connections."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from once.clock import SystemClock
from once.errors import Unreachable
from once.store.base import Claimed, Store
from once.store.connect import open_store
from once.verdict import Go, Reason, Skip
from tests.conformance.claims import claim
from tests.conformance.proxy import LosesAnswer

ROOT = Path(__file__).parents[2]
TRIES = 100


def claimed_in_the_end(store: Store, **how: object) -> Claimed:
    """What comes of a claim that is tried again as long as the store is out of reach."""
    wanted = claim(**how)
    for _ in range(TRIES):
        try:
            return store.claim(wanted)
        except Unreachable:
            continue
    pytest.fail(f"out of reach {TRIES} times")


@pytest.fixture
def claimer(address: str, store: Store) -> Iterator[subprocess.Popen[str]]:
    """Another start's process, inside its claim's transaction; it goes on when it reads a line."""
    store.connect()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.claimer", address, "b"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "inside\n"
    yield process
    process.kill()
    process.communicate()


def test_the_answer_to_commit_is_lost(store_kind: str, address: str, tmp_path: Path) -> None:
    """The claim raises, nobody believes it to be ours, and asking again finds our own token."""
    with _losing_an_answer(store_kind, address, tmp_path) as store:
        wanted = claim()
        with pytest.raises(Unreachable):
            store.claim(wanted)
        again = store.claim(wanted)

        assert (again.verdict, again.hold and again.hold.token) == (Go(attempt=1), wanted.token)
        assert [run.number for run in store.runs("report")] == [1]


def test_a_run_that_is_found_again_has_used_up_no_attempt_before(store: Store) -> None:
    """Or its holder would think that this is the last one."""
    wanted = claim(attempts=2)
    store.claim(wanted)

    assert store.claim(wanted).facts.used == 0


def test_a_claimer_that_is_stopped_inside_its_transaction(
    store_kind: str, store: Store, claimer: subprocess.Popen[str]
) -> None:
    """PostgreSQL ends its transaction, and others go on within seconds. An SQLite file can only be waited for."""
    claimer.send_signal(signal.SIGSTOP)
    if store_kind == "sqlite":
        with pytest.raises(Unreachable, match="another process holds it"):
            store.claim(claim())
        claimer.kill()
    claimed = claimed_in_the_end(store)

    assert claimed.verdict == Go(attempt=1)
    assert store.run("report", 1).host == "a"


def test_a_stopped_claimer_that_wakes_up_has_claimed_nothing(
    store_kind: str, store: Store, claimer: subprocess.Popen[str]
) -> None:
    """Its transaction is gone; the error says so, and the winner's row is the only one."""
    if store_kind == "sqlite":
        pytest.skip("nobody else can have claimed meanwhile")
    claimer.send_signal(signal.SIGSTOP)
    claimed_in_the_end(store)
    claimer.send_signal(signal.SIGCONT)
    _, told = claimer.communicate("\n")

    assert "Unreachable" in told
    assert [run.host for run in store.runs("report")] == ["a"]


def test_a_claimer_that_is_killed_inside_its_transaction_leaves_nothing(
    store: Store, claimer: subprocess.Popen[str]
) -> None:
    """The next one has the slot's first attempt."""
    claimer.kill()
    claimer.wait()
    claimed = claimed_in_the_end(store)

    assert (claimed.verdict, claimed.hold and claimed.hold.number) == (Go(attempt=1), 1)


def test_a_start_meanwhile_waits_for_the_claim_under_way(store: Store, claimer: subprocess.Popen[str]) -> None:
    """An uncommitted claim is neither ignored nor taken for granted: the loser finds it when it is there."""
    with pytest.raises(Unreachable):
        store.claim(claim())
    out, _ = claimer.communicate("\n")
    verdict = claimed_in_the_end(store).verdict

    assert out == "Go(attempt=1)\n"
    assert isinstance(verdict, Skip) and verdict.run is not None
    assert (verdict.reason, verdict.run.host) == (Reason.HELD, "b")


@contextmanager
def _losing_an_answer(kind: str, address: str, tmp_path: Path) -> Iterator[Store]:
    """A store whose first COMMIT is carried out and not answered."""
    if kind == "sqlite":
        store = open_store(address, clock=SystemClock(), state_dir=tmp_path)
        _lose_in_process(store)
        yield store
    else:
        head, _, rest = address.rpartition(":")
        port, _, database = rest.partition("/")
        proxy = LosesAnswer("127.0.0.1", int(port))
        store = open_store(f"{head}:{proxy.port}/{database}", clock=SystemClock(), state_dir=tmp_path)
        yield store
        proxy.close()
    store.close()


def _lose_in_process(store: Store) -> None:
    """SQLite answers in the same process: after its first COMMIT the error is put in its place."""
    database = store._database
    transaction, lost = database.transaction, []

    @contextmanager
    def losing(**how: object) -> Iterator[object]:
        with transaction(**how) as session:
            yield session
        if not lost:
            lost.append(True)
            database.close()
            raise Unreachable(store=store.name, why="the answer was lost")

    database.transaction = losing
