"""Random lives of a task: starts, beats, ends and clocks in any order; what must hold, holds after every step."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta

import pytest

from once.errors import Unreachable
from once.lease import Lease
from once.run import Hold, Outcome
from once.store.base import Recorded, Store
from once.verdict import Go
from tests.conformance.claims import LEASE, claim, ending, holder, slot
from tests.conformance.conftest import Bench

STEPS = 60
HOSTS = 3
SLOTS = 4
ENDS = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT)


@dataclass
class Working:
    """A holder at work, as it knows itself: which slot, and until when it trusts its lease."""

    hold: Hold
    slot: int
    lease: Lease


class Life:
    """Several hosts, each with a connection of its own, and one task."""

    def __init__(self, bench: Bench, hosts: list[Store], seed: int) -> None:
        self.bench, self.hosts, self.random = bench, hosts, random.Random(seed)
        self.working: list[Working] = []
        self.succeeded: set[int] = set()
        self.told: list[str] = []

    def step(self) -> None:
        """One thing happens."""
        act = self.random.choice((self.start, self.start, self.beat, self.end, self.pass_time, self.prune))
        host = self.random.randrange(HOSTS)
        self.told.append(f"{act.__name__} by {host}")
        act(host)

    def start(self, host: int) -> None:
        """A host's cron fires for one of the last slots; its claim's answer may be lost, and asked for again."""
        number = self.random.randrange(SLOTS)
        wanted = claim(slot(number - SLOTS), attempts=3, by=holder(f"host{host}"))
        sent = self.bench.clock.boottime()
        for _ in range(self.random.choice((1, 1, 2))):
            claimed = self.hosts[host].claim(wanted)
        if claimed.hold is None:
            return
        assert isinstance(claimed.verdict, Go)
        assert number not in self.succeeded, "a slot that has succeeded was run again"
        self.working.append(Working(claimed.hold, number, Lease(LEASE, sent)))

    def beat(self, host: int) -> None:
        """A holder extends its lease, or learns that it has none."""
        for worker in self._some_worker():
            sent = self.bench.clock.boottime()
            if self.hosts[host].beat(worker.hold, LEASE).ours:
                worker.lease = worker.lease.extended(sent=sent)
            else:
                self.working.remove(worker)

    def end(self, host: int) -> None:
        """A holder's command ends, and its outcome arrives; perhaps twice."""
        for worker in self._some_worker():
            outcome = self.random.choice(ENDS)
            recorded = self.hosts[host].finish(worker.hold, ending(outcome))
            again = self.hosts[host].finish(worker.hold, ending(outcome))
            self.working.remove(worker)
            if outcome is Outcome.SUCCEEDED:
                self.succeeded.add(worker.slot)

            assert recorded in (Recorded.AS_ENDED, Recorded.INSTEAD_OF_LOST, Recorded.LATE)
            assert again is Recorded.ALREADY

    def pass_time(self, host: int) -> None:
        """Less than a lease, or more."""
        del host
        self.bench.let_pass(self.random.choice((LEASE / 7, LEASE / 2, LEASE + timedelta(seconds=1))))

    def prune(self, host: int) -> None:
        """An operator forgets what is older than an hour, or nearly everything."""
        self.hosts[host].prune("report", self.random.choice((timedelta(hours=1), LEASE / 9)), page=5)

    def check(self) -> None:
        """What must hold at every moment."""
        now = self.bench.clock.boottime()
        runs = list(self.hosts[0].runs("report"))
        started = [(run.slot, run.attempt) for run in runs if run.outcome.was_started]
        trusted = [worker.hold.number for worker in self.working if worker.lease.trusted_at(now)]
        alive = {run.number for run in runs if run.outcome is Outcome.RUNNING}

        assert len(trusted) <= 1, "two holders trust themselves"
        assert len(alive) <= 1, "two rows say running"
        assert set(trusted) <= alive, "a trusted holder has lost its row"
        assert len(started) == len(set(started))
        assert [run.number for run in runs] == sorted({run.number for run in runs}, reverse=True)

    def _some_worker(self) -> list[Working]:
        return self.random.sample(self.working, k=min(1, len(self.working)))


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), id="some"),
        pytest.param(range(4, 150), id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_what_must_hold_holds_after_every_step(bench: Bench, seeds: range) -> None:
    """A failure names its seed and what came before it."""
    hosts = [bench.open() for _ in range(HOSTS)]
    for seed in seeds:
        life = Life(bench, hosts, seed)
        for step in range(STEPS):
            try:
                life.step()
                life.check()
            except (AssertionError, Unreachable) as broken:
                pytest.fail(f"seed {seed}, step {step}: {broken}\n" + "\n".join(life.told))
        bench.let_pass(LEASE)

        assert hosts[0].claim(claim(slot(SLOTS))).verdict == Go(attempt=1), f"seed {seed}: nobody can start"
        _forget(bench)


def _forget(bench: Bench) -> None:
    for table in ("run", "schedule", "sighting", "task"):
        bench.meddle(f"DELETE FROM once.{table}")
