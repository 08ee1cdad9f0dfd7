"""Many processes, the same slots: each slot is won once, and the rows say the same."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from once.run import Outcome
from once.store.base import Store

ROOT = Path(__file__).parents[2]


def race(address: str, *, processes: int, slots: int) -> list[int]:
    """Every win that the processes told of."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.racer", address, str(seed), str(slots)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(processes)
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [racer.communicate()[0].split() for racer in racers]

    assert [racer.returncode for racer in racers] == [0] * processes
    return [int(number) for numbers in won for number in numbers]


@pytest.mark.parametrize(
    ("processes", "slots"),
    [
        pytest.param(8, 12, id="a hundred claims"),
        pytest.param(8, 1250, id="ten thousand claims", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_every_slot_is_won_once(address: str, store: Store, processes: int, slots: int) -> None:
    """From shuffled sides, with the losers asking again while another slot is at work."""
    won = race(address, processes=processes, slots=slots)
    rows = [row for task in store.tasks() for row in store.runs(task.name)]

    assert sorted(won) == list(range(slots))
    assert Counter(row.outcome for row in rows) == {Outcome.SUCCEEDED: slots}
    assert sum(task.last_number for task in store.tasks()) == slots


def test_no_slot_is_won_twice_while_history_is_forgotten(address: str, store_factory: Callable[[], Store]) -> None:
    """Somebody forgets every run as soon as it has ended, from among those that claim, beat and finish."""
    store = store_factory()
    forgotten = 0
    with ThreadPoolExecutor(1) as racing:
        racers = racing.submit(race, address, processes=4, slots=64)
        while not racers.done():
            for task in store.tasks():
                forgotten += store.prune(task.name, timedelta(microseconds=1)).runs
    won = racers.result()

    assert forgotten > 0
    assert len(won) == len(set(won))
