"""A life of one task: starts, beats, ends, operators and clocks in any order.

Several hosts have a connection each. What they know of themselves is kept here as `once` would keep it: which run a
host holds, until when it trusts its lease, which ends wait in its journal, which claims had no answer. Each step is
held to what it may change, by `tests.conformance.story`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from once.event import Operator
from once.lease import Lease
from once.run import Ending, Hold, Holder, Outcome
from once.store.base import Claim, Claimed, Recorded, Store
from once.verdict import Go, Overlap, Wait, decide
from tests.conformance.claims import LEASE, NOON, claim, ending, holder, slot
from tests.conformance.conftest import Bench
from tests.conformance.story import Story

T = TypeVar("T")

HOSTS, SLOTS = 3, 3
RETRY_DELAY = LEASE / 5
ALICE = Operator("alice", "web1")
ENDS = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED)
BY_BEAT = {"beat_at", "lease_until", "started_at"}
LATE = {"late_outcome", "late_status", "late_at"}


@dataclass
class Working:
    """A holder at work, as it knows itself. `claim` is how it came to hold, `journal` its end if that waits on disk."""

    hold: Hold
    claim: Claim
    host: int
    lease: Lease
    stop: str | None = None
    journal: Ending | None = None
    may_be_recorded: bool = False


@dataclass
class Asked:
    """A claim whose answer was lost, and when it was sent first."""

    claim: Claim
    host: int
    sent: float


class Life:
    """One task's life, on a bench whose stores it shares with the lives before it.

    Everything that is left to chance is chosen by `choose`, one of several; `told` is what has happened.
    """

    def __init__(self, bench: Bench, stores: list[Store], task: str, choose: Callable[[Sequence[Any]], Any]) -> None:
        self.bench, self.stores, self.task, self.choose = bench, stores, task, choose
        self.working: list[Working] = []
        self.journal: list[Working] = []
        self.retrying: list[Working] = []
        self.unanswered: list[Asked] = []
        self.boots = [0] * HOSTS
        self.booted_at = [NOON] * HOSTS
        self.story = Story(bench, stores[0], task)
        self.told: list[str] = []
        bench.begin_again()

    def step(self) -> None:
        """One thing happens that can happen now."""
        act = self.choose(self._possible())
        self.told.append(act.__name__)
        act()

    def end_well(self) -> None:
        """Whatever has happened, somebody can start in the end."""
        for name in self.story.pauses():
            self.stores[0].resume(name, by=ALICE, scope=self.task)
        self.bench.let_pass(LEASE + RETRY_DELAY)

        wanted = self._wanted(0, SLOTS)
        assert decide(wanted.wish, self.stores[0].look(wanted)) == Go(attempt=1), "nobody can start"

    def _possible(self) -> list[Callable[[], None]]:
        """What is likely stands here more than once."""
        at_work: list[Callable[[], None]] = [self.beat, self.beat, self.end, self.end, self.end, self.cancel]
        return [
            self.start, self.start, self.start, self.start, self.start_beside, self.start_without_an_answer,
            self.let_pass, self.let_pass, self.let_pass, self.rerun, self.restart, self.pause,
            *(at_work if self.working else ()),
            *([self.ask_again] * 2 if self.unanswered else ()),
            *([self.retry, self.cancel] if self.retrying else ()),
            *([self.deliver] * 2 if self.journal else ()),
            *([self.resume] * 3 if self.story.paused else ()),
            *([self.excuse, self.prune] if self.story.last_number else ()),
        ]  # fmt: skip

    # What happens.

    def start(self) -> None:
        """A host's cron fires for one of the last slots, or it catches up one that nobody ran."""
        overlap = self.choose((Overlap.SKIP, Overlap.WAIT, Overlap.REPLACE, Overlap.REPLACE))
        attempts, catches_up = self.choose((1, 3, 3, None)), self.choose((False, False, True))
        self._claim(self._host(), overlap=overlap, attempts=attempts, catches_up=catches_up)

    def start_beside(self) -> None:
        """A start that may overlap."""
        self._claim(self._host(), overlap=Overlap.ALLOW, attempts=3)

    def rerun(self) -> None:
        """An operator wants the slot's next attempt."""
        self._claim(self._host(), rerun=True, again=self.choose((False, True)), attempts=None)

    def start_without_an_answer(self) -> None:
        """The claim was carried out, and its answer was lost."""
        host = self._host()
        wanted = self._wanted(host, attempts=self.choose((1, 3)))
        self.unanswered.append(Asked(wanted, host, self.bench.clock.boottime()))
        self._claimed(host, wanted)

    def ask_again(self) -> None:
        """It is asked again under the same token, however much later."""
        asked = self._one_of(self.unanswered)
        self.unanswered.remove(asked)
        own = {number for number in self.story.alive() if self.story.tokens[number] == asked.claim.token}
        self._hold(asked.host, asked.claim, sent=asked.sent)

        assert not own or {worker.hold.number for worker in self.working} & own, "a claim did not find its own run"

    def retry(self) -> None:
        """A holder makes its next attempt itself."""
        worker = self._one_of(self.retrying)
        self.retrying.remove(worker)
        token, by = claim().token, self._holder(worker.host)
        self._hold(worker.host, worker.claim.replaced(token=token, retry_of=worker.claim.token, holder=by))

    def beat(self) -> None:
        """A holder extends its lease, or learns that it has none; or its answer is lost."""
        worker = self._one_of(self.working)
        sent, said_running = self.bench.clock.boottime(), self._says_running(worker)
        beat = self.stores[worker.host].beat(worker.hold, LEASE)

        self.story.compare({worker.hold.number: BY_BEAT if said_running else set()})
        assert beat.ours is said_running, "a beat was told another story than the row tells"
        if not self.choose((True, True, False)):
            self.told.append("… and its answer was lost")
        elif beat.ours:
            worker.lease, worker.stop = worker.lease.extended(sent=sent), beat.stop
        else:
            self.working.remove(worker)
            worker.journal = ending(Outcome.LOST, exit_status=137, finished_at=self.bench.clock.now())
            self.journal.append(worker)

    def end(self) -> None:
        """A holder's command ends; its end is recorded, or waits in the journal."""
        worker = self._one_of(self.working)
        self.working.remove(worker)
        outcome = self.choose(ENDS if worker.stop is None else (Outcome.CANCELLED, Outcome.SUCCEEDED))
        arrives, now = self.choose((True, True, False)), self.bench.clock.now()
        is_to_be_repeated = (
            arrives and outcome in (Outcome.FAILED, Outcome.TIMED_OUT) and worker.claim.wish.attempts == 3
        )
        retry_at = now + RETRY_DELAY if is_to_be_repeated else None
        worker.journal = ending(outcome, finished_at=now, reason=worker.stop, retry_at=retry_at)
        if not arrives:
            self.told.append(f"… as {outcome}, in the journal")
            self.journal.append(worker)
        elif self._finish(worker) is Recorded.AS_ENDED and is_to_be_repeated:
            self.retrying.append(worker)

    def deliver(self) -> None:
        """A journal's entry reaches the table, however late; without an answer it is kept and delivered again."""
        worker = self._one_of(self.journal)
        self._finish(worker)
        worker.may_be_recorded = True
        if self.choose((True, True, False)):
            self.journal.remove(worker)

    def cancel(self) -> None:
        """An operator ends all that runs, or one of it."""
        host, running = self._host(), self.story.running()
        number = self.choose((None, *running))
        concerned = running if number is None else [number]
        waiting = [run.number for run in self.story.kept() if number is None]
        told = self.stores[host].cancel(self.task, number, by=ALICE, boot=self._holder(host).boot)

        self.story.compare(
            {one: {"outcome", "reason", "stop_asked"} for one in concerned}
            | {one: {"outcome", "reason", "retry_at"} for one in waiting}
        )
        assert sorted((*told.ended, *(run.number for run in told.asked))) == sorted((*concerned, *waiting))
        assert all(self.story.rows[one].outcome is Outcome.CANCELLED for one in told.ended)
        assert all(self.story.rows[run.number].stop_asked for run in told.asked)

    def pause(self) -> None:
        """By name, or of all whose names begin so."""
        name, length = self.choose((None, self.task)), self.choose((None, LEASE / 2))
        known = self.stores[self._host()].pause(name, by=ALICE, length=length, scope=self.task)

        self.story.compare({})
        assert known is (name is None or self.story.is_known)
        if known:
            self.story.paused[name] = None if length is None else self.bench.clock.now() + length

    def resume(self) -> None:
        """That pause ends, the other goes on."""
        name = self.choose((None, self.task))
        was_paused = self.stores[self._host()].resume(name, by=ALICE, scope=self.task)

        self.story.compare({})
        assert was_paused is (name in self.story.pauses())
        self.story.paused.pop(name, None)

    def excuse(self) -> None:
        """A slot becomes a known gap."""
        host = self._host()
        wanted, expirable = self._wanted(host), self.story.that_may_expire()
        at = wanted.wish.slot
        may_not = at in self.story.succeeded or any(self.story.rows[one].slot == at for one in self.story.alive())
        may_not = may_not or self.story.is_settled(at)
        excused = self.stores[host].excuse([wanted], by=ALICE)

        self.story.compare(expirable, new=len(excused.slots))
        assert excused.slots in ((), (at,))
        assert not (excused.slots and may_not), "an excuse for what is alive, or done, or settled"

    def prune(self) -> None:
        """An operator forgets what is older than an hour, or nearly everything."""
        before, alive = self.story.rows, self.story.alive()
        self.stores[self._host()].prune(self.task, self.choose((timedelta(hours=1), LEASE / 9, LEASE)), page=5)
        self.story.compare({}, gone=True)
        gone = before.keys() - self.story.rows.keys()

        assert not gone & alive, "what is alive was forgotten"
        settled = self.story.settled_through
        assert not gone or settled is not None, "forgotten and not settled"
        assert all(before[number].slot <= settled for number in gone), "forgotten and not settled"

    def let_pass(self) -> None:
        """Less than a lease, or more."""
        self.bench.let_pass(self.choose((LEASE / 7, LEASE / 2, LEASE + timedelta(seconds=1))))

    def restart(self) -> None:
        """A host is started again: its commands are gone, and its journal is still there. A file has one host."""
        host = self._host()
        gone = {host} if self.bench.kind != "sqlite" else set(range(HOSTS))
        for one in gone:
            self.story.dead_boots.add(self._holder(one).boot)
        for one in gone:
            self.boots[one] += 1
            self.booted_at[one] = self.bench.clock.now()
        self.working = [worker for worker in self.working if worker.host not in gone]
        self.retrying = [worker for worker in self.retrying if worker.host not in gone]
        self.unanswered = [asked for asked in self.unanswered if asked.host not in gone]

    # How it happens, and what must hold.

    def _claim(self, host: int, **wish: Any) -> None:
        self._hold(host, self._wanted(host, **wish))

    def _hold(self, host: int, wanted: Claim, *, sent: float | None = None) -> None:
        sent = self.bench.clock.boottime() if sent is None else sent
        claimed = self._claimed(host, wanted)
        if claimed.hold is not None:
            self.working.append(Working(claimed.hold, wanted, host, Lease(LEASE, sent)))

    def _claimed(self, host: int, wanted: Claim) -> Claimed:
        """A claim, held to everything that a claim may do."""
        before, expirable, kept = self.story.rows, self.story.that_may_expire(), self.story.kept()
        claimed = self.stores[host].claim(wanted)
        verdict = claimed.verdict
        asks = {verdict.run.number: {"stop_asked"}} if isinstance(verdict, Wait) and verdict.replaces else {}
        self.story.compare(expirable | asks, new=1)

        assert (claimed.hold is not None) is isinstance(verdict, Go)
        assert not asks or (wanted.wish.overlap is Overlap.REPLACE and wanted.wish.slot > verdict.run.slot)
        if claimed.hold is not None and claimed.hold.number not in before:
            trusting = [one for one in self.working if one.lease.trusted_at(self.bench.clock.boottime())]
            self.story.check_started(wanted, claimed.hold.number, before, kept)
            assert wanted.wish.overlap is Overlap.ALLOW or not trusting, "another holder trusts its lease"
        elif claimed.hold is not None:
            assert self.story.tokens[claimed.hold.number] == wanted.token, "it holds another's run"
        return claimed

    def _finish(self, worker: Working) -> Recorded:
        assert worker.journal is not None
        number, said_running = worker.hold.number, self._says_running(worker)
        before = self.story.rows.get(number)
        recorded = self.stores[worker.host].finish(worker.hold, worker.journal)
        may_replace = recorded is Recorded.INSTEAD_OF_LOST and before is not None and before.outcome is Outcome.LOST
        self.story.compare({number: set(vars(before)) if before and (said_running or may_replace) else LATE})

        assert (recorded is Recorded.AS_ENDED) is said_running
        first_answers = (Recorded.AS_ENDED, Recorded.INSTEAD_OF_LOST, Recorded.LATE)
        again_answers = (Recorded.ALREADY, Recorded.UNKNOWN)
        assert recorded in (again_answers if worker.may_be_recorded else first_answers)
        run = self.story.rows.get(number)
        kept = run and (run.late_outcome if recorded is Recorded.LATE else run.outcome)
        is_cancelled = said_running and run and run.stop_asked and worker.journal.outcome is not Outcome.SUCCEEDED
        expected = Outcome.CANCELLED if is_cancelled else worker.journal.outcome
        assert recorded not in first_answers or kept is expected, "an end was answered and not kept"
        return recorded

    # What is asked.

    def _host(self) -> int:
        host: int = self.choose(range(HOSTS))
        return host

    def _one_of(self, those: list[T]) -> T:
        one: T = self.choose(those)
        return one

    def _wanted(self, host: int, number: int | None = None, **wish: Any) -> Claim:
        """A claim for one of the last slots."""
        number = self.choose(range(SLOTS)) if number is None else number
        wanted = claim(slot(number - SLOTS), task=self.task, by=self._holder(host), **wish)
        self.told.append(f"… on host {host} for slot {number} ({', '.join(f'{name}={wish[name]}' for name in wish)})")
        return wanted.replaced(by_hand=wanted.wish.rerun)

    def _holder(self, host: int) -> Holder:
        if self.bench.kind == "sqlite":
            return holder("host", machine="m", boot=f"boot{self.boots[0]}", pid=host)
        boot = f"boot{host}.{self.boots[host]}"
        return holder(f"host{host}", machine=f"m{host}", boot=boot, booted_at=self.booted_at[host])

    def _says_running(self, worker: Working) -> bool:
        return worker.hold.number in self.story.running()
