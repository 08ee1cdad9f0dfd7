"""One of several processes that want the same slots of a few tasks, each in an order of its own.

    python -m tests.conformance.racer ADDRESS SEED SLOTS

It connects, says `ready`, waits for a line, and prints the number of every slot that it won, as it wins it.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from once.clock import SystemClock
from once.errors import Unreachable
from once.store.base import Claim, Claimed, Store
from once.store.connect import open_store
from once.verdict import Go, Overlap, Wait
from tests.conformance.claims import claim, ending, holder, slot

TASKS = 8
LONG_AGO = -100_000
"""Hours. The slots lie in the past of any clock."""


def settled(store: Store, wanted: Claim) -> Claimed:
    """The answer to a claim, asked for until there is one."""
    while True:
        try:
            claimed = store.claim(wanted)
        except Unreachable:
            continue
        if not isinstance(claimed.verdict, Wait):
            return claimed


def main() -> None:
    address, seed, slots = sys.argv[1:]
    numbers = list(range(int(slots)))
    random.Random(int(seed)).shuffle(numbers)
    store = open_store(address, clock=SystemClock(), state_dir=Path("/nowhere"))
    store.connect()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in numbers:
        task, by = f"task{number % TASKS}", holder(f"host{seed}")
        wanted = claim(slot(LONG_AGO + number), task=task, token=f"{seed}-{number}", by=by, overlap=Overlap.WAIT)
        claimed = settled(store, wanted)
        if isinstance(claimed.verdict, Go) and claimed.hold is not None:
            print(number, flush=True)
            _finish(store, claimed)
    store.close()


def _finish(store: Store, claimed: Claimed) -> None:
    assert claimed.hold is not None
    while True:
        try:
            store.finish(claimed.hold, ending())
        except Unreachable:
            continue
        return


if __name__ == "__main__":
    main()
