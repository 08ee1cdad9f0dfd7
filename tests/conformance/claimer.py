"""A start as a process of its own, for tests that stop or kill one: it claims, and waits for a line inside the claim.

python -m tests.conformance.claimer ADDRESS HOST
"""

from __future__ import annotations

import sys
from pathlib import Path

from once.clock import SystemClock
from once.store import claiming
from once.store.connect import open_store
from once.verdict import Facts, Verdict, Wish, decide
from tests.conformance.claims import claim, holder


def decide_after_a_line(wish: Wish, facts: Facts) -> Verdict:
    """The task is locked by now, and nothing is written."""
    print("inside", flush=True)
    sys.stdin.readline()
    return decide(wish, facts)


def main() -> None:
    address, host = sys.argv[1:]
    claiming.decide = decide_after_a_line
    store = open_store(address, clock=SystemClock(), state_dir=Path("/nowhere"))
    claimed = store.claim(claim(by=holder(host)))
    print(claimed.verdict, flush=True)


if __name__ == "__main__":
    main()
