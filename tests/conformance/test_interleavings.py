"""Random lives of a task: starts, beats, ends, operators and clocks in any order; what must hold, holds at every step.

What can happen in a life is told in `tests.conformance.life`, and what must hold in `tests.conformance.story`.
"""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.conformance.conftest import Bench
from tests.conformance.life import HOSTS, Life

LIVES, LIVES_ON_A_SERVER = {"sqlite": 10_000}, 1_000
"""In the slow ring. `make test-long` has ten thousand on each store, which takes a server a quarter of an hour."""

Live = Callable[[Callable[[Sequence[Any]], Any]], Life]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is such a place: no life here has a power cut in it."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


@pytest.fixture
def disk_not_waited_for(store_kind: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """Nor on the tests' own server: with a busy disk its commits are most of what ten thousand lives take."""
    if store_kind == "sqlite" or "ONCE_TEST_DB" in os.environ:
        yield
        return
    with request.getfixturevalue("server").connect() as server:
        server.execute("ALTER SYSTEM SET fsync = off")
        server.execute("SELECT pg_reload_conf()")
        yield
        server.execute("ALTER SYSTEM RESET fsync")
        server.execute("SELECT pg_reload_conf()")


@pytest.fixture
def life(bench: Bench) -> Live:
    """The next life, of a task of its own."""
    stores = [bench.open() for _ in range(HOSTS)]
    names = (f"report{number:07}" for number in itertools.count())
    return lambda choose: Life(bench, stores, next(names), choose)


def live(life: Life, *, steps: int) -> None:
    """From its first step to its end."""
    for _ in range(steps):
        life.step()
    life.end_well()


def test_what_must_hold_holds_after_every_step(life: Live) -> None:
    """A life with a fault in it is shortened to what the fault takes."""

    @settings(
        max_examples=50,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def lives(data: st.DataObject) -> None:
        def choose(those: Sequence[Any]) -> Any:
            return those[data.draw(st.integers(0, len(those) - 1))] if len(those) > 1 else those[0]

        one = life(choose)
        try:
            live(one, steps=30)
        finally:
            note("\n".join(one.told))

    lives()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("disk_not_waited_for")
@pytest.mark.parametrize("steps", [6, 60], ids=["many", "long"])
def test_what_must_hold_holds_in_so_many_interleavings(life: Live, store_kind: str, steps: int) -> None:
    """A failure names its seed, and what came before it."""
    many = int(os.environ.get("ONCE_LIVES", LIVES.get(store_kind, LIVES_ON_A_SERVER)))
    for seed in range(many if steps == 6 else many // 100):
        one = life(random.Random(seed).choice)
        try:
            live(one, steps=steps)
        except Exception as broken:  # noqa: BLE001 — whatever it is, the seed has to be known
            pytest.fail(f"seed {seed}: {broken!r}\n" + "\n".join(one.told))
