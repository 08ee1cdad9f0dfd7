"""Leases: what ends them, what extends them, and how late holders learn what became of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.run import Hold, Outcome
from once.store.base import Beat, Recorded, Store
from once.verdict import Go, Overlap, Reason, Skip
from tests.conformance.claims import LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

SECOND = timedelta(seconds=1)


class TestExpiry:
    """A claim finds what has ended; nothing else ever takes a run away."""

    def test_an_expired_run_is_lost_and_its_slot_has_a_next_attempt(self, bench: Bench, store: Store) -> None:
        """The row names who found it."""
        held(store)
        bench.let_pass(LEASE)
        claimed = store.claim(claim(attempts=2, by=holder("b", pid=7)))
        lost = store.run("report", 1)

        assert claimed.verdict == Go(attempt=2)
        assert lost is not None
        assert (lost.outcome, lost.reason) == (Outcome.LOST, "its lease had ended, found by b (pid 7)")

    def test_a_lease_holds_to_its_last_moment(self, bench: Bench, store: Store) -> None:
        """And not beyond."""
        held(store)
        bench.let_pass(LEASE - timedelta(microseconds=1))
        before = store.claim(claim(attempts=2)).verdict
        bench.let_pass(timedelta(microseconds=1))

        assert isinstance(before, Skip) and before.reason is Reason.HELD
        assert store.claim(claim(attempts=2)).verdict == Go(attempt=2)

    def test_without_attempts_left_the_lost_slot_stays_lost(self, bench: Bench, store: Store) -> None:
        """The verdict says what the slot came to."""
        held(store)
        bench.let_pass(LEASE)
        verdict = store.claim(claim()).verdict

        assert isinstance(verdict, Skip) and verdict.run is not None
        assert (verdict.reason, verdict.run.outcome) == (Reason.FAILED, Outcome.LOST)

    def test_every_expired_run_of_the_task_is_lost_whatever_its_slot(self, bench: Bench, store: Store) -> None:
        """Or the holder of an older slot could beat on beside the newer one."""
        old = held(store, claim(slot(-1)))
        bench.let_pass(LEASE)
        held(store, claim(slot(0)))
        beat = bench.open().beat(old, LEASE)

        assert (beat.ours, beat.outcome) == (False, Outcome.LOST)
        assert store.run("report", 1).outcome is Outcome.LOST

    def test_another_task_is_left_alone(self, bench: Bench, store: Store) -> None:
        """Its own next claim will see to it."""
        held(store, claim(task="other"))
        bench.let_pass(LEASE)
        held(store)

        assert store.run("other", 1).outcome is Outcome.RUNNING

    def test_a_holder_from_before_its_machine_was_started_again_is_dead(self, store: Store) -> None:
        """Nobody need wait for its lease."""
        held(store, claim(by=holder("a", machine="m1", boot="boot1")))
        again = claim(attempts=2, by=holder("a", machine="m1", boot="boot2"))
        facts = store.look(again)

        assert facts.latest_alive is False
        assert store.claim(again).verdict == Go(attempt=2)
        assert store.run("report", 1).reason == "its host was started again, found by a (pid 42)"

    @pytest.mark.parametrize(
        "finder",
        [
            holder("a", machine="m1", boot="boot1"),
            holder("a", machine="m2", boot="boot2"),
            holder("a", machine=None, boot="boot2"),
            holder("b", machine="m1", boot="boot2"),
            holder("a", machine="m1", boot="boot2", booted_at=NOON - timedelta(minutes=1)),
        ],
        ids=["same boot", "another machine of that name", "container", "another host of that machine", "its copy"],
    )
    def test_nothing_less_proves_that_a_holder_is_dead(self, bench: Bench, store: Store, finder: object) -> None:
        """Names of hosts and containers are used again."""
        if bench.kind == "sqlite":
            pytest.skip("an SQLite file has one host: another boot is proof")
        held(store, claim(by=holder("a", machine="m1", boot="boot1")))
        wanted = claim(attempts=2, by=finder)

        assert store.look(wanted).latest_alive is True
        assert store.claim(wanted).verdict.reason is Reason.HELD


class TestBeat:
    """The update that extends the lease."""

    def test_a_beat_extends_by_the_stores_clock(self, bench: Bench, store: Store) -> None:
        """And notes once when the command was started."""
        hold = held(store)
        bench.let_pass(SECOND)
        beats = [store.beat(hold, LEASE, started_at=NOON + SECOND), store.beat(hold, LEASE, started_at=NOON)]
        row = store.run("report")

        assert beats == [Beat(ours=True)] * 2
        assert row is not None
        assert (row.beat_at, row.lease_until, row.started_at) == (NOON + SECOND, NOON + SECOND + LEASE, NOON + SECOND)

    def test_an_expired_lease_that_no_claim_touched_is_revived(self, bench: Bench, store: Store) -> None:
        """An outage pauses a job, it does not kill it."""
        hold = held(store)
        bench.let_pass(LEASE * 10)

        assert store.beat(hold, LEASE) == Beat(ours=True)
        assert store.claim(claim(attempts=2)).verdict.reason is Reason.HELD

    def test_a_beat_that_keeps_coming_is_never_declared_dead(self, bench: Bench, store: Store) -> None:
        """However long the command takes."""
        hold = held(store)
        for _ in range(20):
            bench.let_pass(LEASE - SECOND)
            store.beat(hold, LEASE)

        assert store.claim(claim(attempts=2)).verdict.reason is Reason.HELD

    def test_a_right_number_with_a_wrong_token_touches_nothing(self, store: Store) -> None:
        """Numbers can repeat after a failover, tokens cannot."""
        held(store)
        before = store.run("report", 1)
        stale = Hold("report", 1, "of another life")

        assert store.beat(stale, LEASE) == Beat(ours=False)
        assert store.finish(stale, ending()) is Recorded.UNKNOWN
        assert store.run("report", 1) == before

    def test_a_beat_of_a_finished_run_is_told_what_it_became(self, store: Store) -> None:
        """Also when an operator ended it."""
        hold = held(store)
        store.finish(hold, ending(Outcome.CANCELLED, reason="by ops"))

        assert store.beat(hold, LEASE) == Beat(ours=False, outcome=Outcome.CANCELLED, reason="by ops")

    def test_a_long_lease_counts_hours_not_days_of_a_calendar(self, bench: Bench) -> None:
        """A day in which the clocks change must not shorten it."""
        if bench.kind != "sqlite":
            (name,) = bench.meddle("SELECT current_database()")[0]
            bench.meddle(f"ALTER DATABASE {name} SET TimeZone = 'Europe/Berlin'")
        fresh = bench.open()
        month = timedelta(days=150)
        held(fresh, claim(lease=month))

        assert fresh.run("report", 1).lease_until == NOON + month


class TestFinish:
    """How a run's end is recorded, in time and late."""

    def test_the_end_is_recorded_whole(self, store: Store) -> None:
        """Bytes as they were, NUL and all."""
        hold = held(store)
        tail = bytes(range(256)) * 4
        how = ending(
            Outcome.FAILED,
            reason="once got SIGTERM",
            exit_status=143,
            signal=15,
            started_at=NOON,
            duration=timedelta(seconds=61.000001),
            tail=tail,
            tail_dropped=10**10,
        )
        recorded = store.finish(hold, how)
        row = store.run("report", 1)

        assert recorded is Recorded.AS_ENDED
        assert row is not None
        assert (row.outcome, row.reason, row.exit_status, row.signal) == (how.outcome, how.reason, 143, 15)
        assert (row.started_at, row.finished_at, row.duration) == (NOON, how.finished_at, how.duration)
        assert (row.tail, row.tail_dropped) == (tail, 10**10)

    def test_a_second_finish_changes_nothing(self, store: Store) -> None:
        """The answer to the first was lost; it counts all the same."""
        hold = held(store)
        store.finish(hold, ending())

        assert store.finish(hold, ending(Outcome.FAILED)) is Recorded.ALREADY
        assert store.run("report", 1).outcome is Outcome.SUCCEEDED

    def test_what_a_database_cannot_hold_does_not_cost_the_record(self, store: Store) -> None:
        """NUL and bytes that are no UTF-8 are replaced; the command keeps its own."""
        command = ("printf", "caf\udce9", "a\nb", '"', "日本")
        hold = held(store, claim(by=holder("h\0st\udcff"), command=command))
        store.finish(hold, ending(Outcome.FAILED, reason="no such file: caf\udce9\0"))
        row = store.run("report", 1)

        assert row is not None
        assert (row.command, row.host) == (command, "h\N{REPLACEMENT CHARACTER}st?")
        assert row.reason == "no such file: caf?\N{REPLACEMENT CHARACTER}"

    def test_the_late_end_of_a_lost_run_replaces_lost(self, bench: Bench, store: Store) -> None:
        """Nobody repeated the slot: the truth is better than a guess."""
        hold = held(store)
        bench.let_pass(LEASE)
        held(bench.open(), claim(slot(1)))
        recorded = store.finish(hold, ending(tail=b"done"))
        row = store.run("report", 1)

        assert recorded is Recorded.INSTEAD_OF_LOST
        assert row is not None
        assert (row.outcome, row.exit_status, row.tail, row.late_outcome) == (Outcome.SUCCEEDED, 0, b"done", None)
        assert store.finish(hold, ending()) is Recorded.ALREADY

    def test_the_late_end_of_a_repeated_run_is_evidence_beside_it(self, bench: Bench, store: Store) -> None:
        """It fills the late columns and touches nothing else, least of all the other run."""
        hold = held(store)
        bench.let_pass(LEASE)
        held(store, claim(attempts=2, by=holder("b")))
        lost, other = store.run("report", 1), store.run("report", 2)
        late = ending(Outcome.FAILED, exit_status=9, tail=b"late")
        recorded = [store.finish(hold, late), store.finish(hold, late)]
        row = store.run("report", 1)

        assert recorded == [Recorded.LATE, Recorded.ALREADY]
        assert lost is not None and row is not None
        assert (row.late_outcome, row.late_status, row.late_at) == (Outcome.FAILED, 9, late.finished_at)
        assert (row.outcome, row.exit_status, row.tail) == (lost.outcome, lost.exit_status, lost.tail)
        assert store.run("report", 2) == other

    def test_a_holder_that_was_killed_as_lost_says_so_itself(self, bench: Bench, store: Store) -> None:
        """Its own account is kept, once."""
        hold = held(store)
        bench.let_pass(LEASE)
        store.claim(claim(slot(1)))
        own = ending(Outcome.LOST, reason="killed: its lease had ended", exit_status=137, signal=9)

        assert [store.finish(hold, own), store.finish(hold, own)] == [Recorded.INSTEAD_OF_LOST, Recorded.ALREADY]
        assert store.run("report", 1).reason == own.reason

    def test_a_run_without_a_slot_ends_late_too(self, bench: Bench, store: Store) -> None:
        """Another run of the lock repeats nothing."""
        first = held(store, claim(None))
        bench.let_pass(LEASE)
        second = held(store, claim(None))

        assert store.finish(first, ending()) is Recorded.INSTEAD_OF_LOST
        assert store.finish(second, ending()) is Recorded.AS_ENDED


class TestUnknownAnswers:
    """An error is never taken for a claim, nor its absence for none: ask again under the lock."""

    def test_a_repeated_claim_finds_its_own_token(self, bench: Bench, store: Store) -> None:
        """From another connection, too; and it does not count as another start."""
        wanted = claim()
        first = store.claim(wanted)
        second = bench.open().claim(wanted)

        assert (second.verdict, second.hold) == (first.verdict, first.hold)
        assert [run.number for run in store.runs("report")] == [1]

    def test_a_repeated_claim_after_the_lease_has_ended_is_a_new_one(self, bench: Bench, store: Store) -> None:
        """Its run is lost like any other."""
        wanted = claim(attempts=2)
        store.claim(wanted)
        bench.let_pass(LEASE)
        again = store.claim(wanted)

        assert (again.verdict, again.hold) == (Go(attempt=2), Hold("report", 2, wanted.token))
        assert store.run("report", 1).outcome is Outcome.LOST

    def test_a_repeated_lock_finds_its_own_token(self, store: Store) -> None:
        """Without a slot the token is all there is to know it by."""
        wanted = claim(None, overlap=Overlap.WAIT)
        first = store.claim(wanted)

        assert store.claim(wanted).hold == first.hold
