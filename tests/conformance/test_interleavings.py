"""Random lives of a task: starts, beats, ends, operators and clocks in any order; what must hold, holds at every step.

What can happen in a life, and what must hold, is told in `tests.conformance.life`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.conformance.conftest import Bench
from tests.conformance.life import HOSTS, Life


@pytest.mark.parametrize(
    ("number", "steps"),
    [
        pytest.param(50, 30, id="some"),
        pytest.param(10_000, 12, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
        pytest.param(200, 60, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_what_must_hold_holds_after_every_step(bench: Bench, number: int, steps: int) -> None:
    """Of so many lives, each an interleaving of its own. One with a fault in it is shortened to what it takes."""
    stores = [bench.open() for _ in range(HOSTS)]
    names = (f"report{life:07}" for life in itertools.count())
    lived = itertools.count()

    @settings(
        max_examples=number,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def live(data: st.DataObject) -> None:
        def choose(those: Sequence[Any]) -> Any:
            return those[data.draw(st.integers(0, len(those) - 1))] if len(those) > 1 else those[0]

        life = Life(bench, stores, next(names), choose)
        try:
            for _ in range(steps):
                life.step()
            life.end_well()
        finally:
            note("\n".join(life.told))
        next(lived)

    live()

    assert next(lived) >= number
