"""The claim: who may start, and what the tables say afterwards."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.errors import TaskNameTaken
from once.run import Hold, Line, Outcome, Run
from once.store.base import Store
from once.verdict import Go, Overlap, Reason, Skip, Verdict, Wait
from tests.conformance.claims import HOURLY, LEASE, NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

MINUTE = timedelta(minutes=1)


def reason(verdict: Verdict) -> Reason:
    """Why a start was turned away."""
    assert isinstance(verdict, Skip)
    return verdict.reason


def test_the_first_start_of_a_slot_is_its_holder(store: Store) -> None:
    """Of a task that nobody knew, too."""
    claimed = store.claim(claim(token="mine"))

    assert (claimed.verdict, claimed.hold) == (Go(attempt=1), Hold("report", 1, "mine"))


def test_the_row_says_who_claimed_what_and_when(store: Store) -> None:
    """All of it, by the store's clock where that decides."""
    wanted = claim(slot(-1), by=holder("a", boot="b7", pid=7), attempts=3, fired_at=NOON - MINUTE)
    store.claim(wanted)

    assert store.run("report", 1) == Run(
        task="report",
        number=1,
        outcome=Outcome.RUNNING,
        slot=slot(-1).at,
        slot_local="2026-11-27T11:00",
        fold=0,
        attempt=1,
        attempts=3,
        host="a",
        pid=7,
        boot="b7",
        user="ops",
        command=("report", "--email"),
        command_hash="hash of report --email",
        fired_at=NOON - MINUTE,
        claimed_at=NOON,
        beat_at=NOON,
        lease_until=NOON + LEASE,
        clock_offset=timedelta(milliseconds=-250),
        once_version=_version(),
    )


def test_a_slot_that_is_held_is_not_claimed(store: Store) -> None:
    """The loser is told who holds it, and writes nothing."""
    held(store)
    claimed = store.claim(claim(by=holder("b")))

    assert reason(claimed.verdict) is Reason.HELD
    assert claimed.verdict.run is not None
    assert (claimed.verdict.run.number, claimed.verdict.run.host) == (1, "a")
    assert [run.number for run in store.runs("report")] == [1]


def test_a_loser_never_touches_the_winners_row(store: Store) -> None:
    """Whatever the policy, and whichever slot the loser wants."""
    held(store)
    before = store.run("report", 1)
    store.claim(claim(by=holder("b")))
    store.claim(claim(slot(1), by=holder("b")))

    assert store.run("report", 1) == before


def test_a_slot_that_has_succeeded_is_not_run_again(store: Store) -> None:
    """Whatever the number of attempts."""
    store.finish(held(store), ending())

    assert reason(store.claim(claim(attempts=9)).verdict) is Reason.DONE


def test_a_slot_that_failed_is_not_run_again_without_attempts_left(store: Store) -> None:
    """One attempt is the default: host B, two seconds later, is no retry of A's instant failure."""
    store.finish(held(store), ending(Outcome.FAILED, exit_status=7))
    verdict = store.claim(claim()).verdict

    assert reason(verdict) is Reason.FAILED
    assert verdict.run is not None and verdict.run.exit_status == 7


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.STOPPED, Outcome.LOST])
def test_a_slot_that_came_to_nothing_has_its_next_attempt(store: Store, outcome: Outcome) -> None:
    """Attempts are counted per slot, over all hosts."""
    store.finish(held(store), ending(outcome))
    claimed = store.claim(claim(attempts=2, by=holder("b")))

    assert (claimed.verdict, claimed.hold and claimed.hold.number) == (Go(attempt=2), 2)


def test_what_a_signal_stopped_uses_up_no_attempt(store: Store) -> None:
    """The evicted pod's successor runs, as the next attempt of the one that there is."""
    store.finish(held(store), ending(Outcome.STOPPED))
    again = store.claim(claim(attempts=1, by=holder("b")))
    assert again.hold is not None
    store.finish(again.hold, ending(Outcome.FAILED))
    third = store.claim(claim(attempts=1, by=holder("c")))

    assert again.verdict == Go(attempt=2)
    assert reason(third.verdict) is Reason.FAILED
    assert third.facts.used == 1


def test_a_cancelled_slot_is_final(store: Store) -> None:
    """An operator's word outranks attempts that are left."""
    store.finish(held(store), ending(Outcome.CANCELLED))

    assert reason(store.claim(claim(attempts=9)).verdict) is Reason.CANCELLED


def test_a_retry_that_is_announced_keeps_the_slot_for_its_holder(bench: Bench, store: Store) -> None:
    """Until a lease after the retry was due; then others may have it."""
    finished_at = NOON + timedelta(days=3)
    soon = ending(Outcome.FAILED, finished_at=finished_at, retry_at=finished_at + MINUTE)
    store.finish(held(store), soon)
    bench.let_pass(MINUTE + LEASE - timedelta(seconds=1))
    early = store.claim(claim(attempts=2, by=holder("b"))).verdict
    bench.let_pass(timedelta(seconds=1))

    assert reason(early) is Reason.HELD
    assert store.claim(claim(attempts=2, by=holder("b"))).verdict == Go(attempt=2)


def test_a_retry_that_is_announced_is_the_holders_own(bench: Bench, store: Store) -> None:
    """It is known by the token of the attempt before, and nobody else has that."""
    first = claim(attempts=2)
    finished_at = NOON + timedelta(days=3)
    store.finish(held(store, first), ending(Outcome.FAILED, finished_at=finished_at, retry_at=finished_at + MINUTE))
    bench.let_pass(MINUTE)
    other = store.claim(claim(attempts=2, by=holder("b"))).verdict
    own = store.claim(claim(attempts=2).replaced(retry_of=first.token)).verdict

    assert reason(other) is Reason.HELD
    assert own == Go(attempt=2)


def test_what_was_settled_is_not_run_again_though_its_rows_are_gone(bench: Bench, store: Store) -> None:
    """History may be pruned, a promise may not."""
    store.finish(held(store), ending())
    bench.meddle("UPDATE once.task SET settled_through = (SELECT max(slot) FROM once.run)")
    bench.meddle("DELETE FROM once.run")

    assert reason(store.claim(claim()).verdict) is Reason.SETTLED
    assert reason(store.claim(claim(slot(-1))).verdict) is Reason.SETTLED
    assert store.claim(claim(slot(1))).verdict == Go(attempt=1)


def test_numbers_count_up_within_a_task(bench: Bench, store: Store) -> None:
    """Also past rows that are gone: the number is the fencing token."""
    for hour in range(3):
        store.finish(held(store, claim(slot(hour))), ending())
    held(store, claim(task="other"))
    bench.meddle("DELETE FROM once.run")

    assert held(store, claim(slot(3))).number == 4


def test_another_run_of_the_task_is_in_the_way(store: Store) -> None:
    """The skip is recorded, in the name of the run that is alive."""
    held(store, claim(slot(-1)))
    claimed = store.claim(claim(slot(0), by=holder("b")))
    row = store.run("report", 2)

    assert reason(claimed.verdict) is Reason.OVERLAP
    assert row is not None
    assert (row.outcome, row.reason, row.host) == (Outcome.SKIPPED, "overlap: run 1 on a is alive", "b")
    assert (row.slot, row.lease_until, row.beat_at) == (NOON, None, None)


def test_a_recorded_skip_settles_its_slot(store: Store) -> None:
    """Whoever comes later finds it, and records nothing."""
    first = held(store, claim(slot(-1)))
    store.claim(claim(slot(0)))
    store.finish(first, ending())

    assert reason(store.claim(claim(slot(0))).verdict) is Reason.SKIPPED_BEFORE
    assert len(list(store.runs("report"))) == 2


def test_a_skip_is_recorded_only_where_the_slot_has_no_row(store: Store) -> None:
    """A failed attempt stays the slot's last word."""
    store.finish(held(store, claim(slot(-1))), ending(Outcome.FAILED))
    held(store, claim(slot(0)))
    verdict = store.claim(claim(slot(-1), attempts=2)).verdict

    assert reason(verdict) is Reason.OVERLAP
    assert [(run.number, run.outcome) for run in store.runs("report")] == [(2, "running"), (1, "failed")]


def test_waiting_is_for_the_run_that_is_alive(store: Store) -> None:
    """Nothing is written down for a start that will ask again."""
    held(store, claim(slot(-1)))
    verdict = store.claim(claim(slot(0), overlap=Overlap.WAIT)).verdict

    assert isinstance(verdict, Wait)
    assert verdict.run.number == 1
    assert len(list(store.runs("report"))) == 1


def test_a_lock_has_no_slot_and_leaves_no_skip(store: Store) -> None:
    """Mutual exclusion alone: again and again, one at a time."""
    first = held(store, claim(None))
    verdict = store.claim(claim(None)).verdict
    store.finish(first, ending())
    second = held(store, claim(None))

    assert reason(verdict) is Reason.OVERLAP
    assert (first.number, second.number) == (1, 2)
    assert store.task("report").line is None


def test_tasks_do_not_know_each_other(store: Store) -> None:
    """A run of one is in no other's way."""
    held(store, claim(task="one"))

    assert store.claim(claim(task="two")).verdict == Go(attempt=1)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("paused_at = settled_through", Reason.PAUSED),
        ("retired_at = settled_through", Reason.RETIRED),
    ],
)
def test_a_paused_or_retired_task_records_its_skips(bench: Bench, store: Store, state: str, why: Reason) -> None:
    """So that the gap has a reason."""
    store.finish(held(store, claim(slot(-1))), ending())
    bench.meddle("UPDATE once.task SET settled_through = (SELECT max(slot) FROM once.run)")
    bench.meddle(f"UPDATE once.task SET {state}")
    claimed = store.claim(claim())

    assert (reason(claimed.verdict), store.run("report", 2).reason) == (why, why.value)


def test_a_pause_ends_at_its_time(bench: Bench, store: Store) -> None:
    """By the store's clock."""
    store.finish(held(store, claim(slot(-1))), ending())
    bench.meddle("UPDATE once.task SET settled_through = (SELECT max(claimed_at) FROM once.run)")
    bench.meddle("UPDATE once.task SET paused_at = settled_through, paused_until = settled_through")

    assert store.claim(claim(slot(1))).verdict == Go(attempt=1)


def test_a_start_within_the_minimum_interval_is_skipped(bench: Bench, store: Store) -> None:
    """Counted from the last start of any run, by the store's clock."""
    store.finish(held(store, claim(None)), ending())
    bench.let_pass(timedelta(seconds=59))
    early = store.claim(claim(None, min_interval=MINUTE)).verdict
    bench.let_pass(timedelta(seconds=1))

    assert reason(early) is Reason.TOO_SOON
    assert store.claim(claim(None, min_interval=MINUTE)).verdict == Go(attempt=1)


@pytest.mark.parametrize("unguarded_after", [-MINUTE, MINUTE], ids=["before", "after"])
def test_a_run_that_is_told_afterwards_counts_by_when_it_was(
    bench: Bench, store: Store, unguarded_after: timedelta
) -> None:
    """Whether an unguarded start was before or after the last that was claimed, the interval is from the later one."""
    store.finish(held(store, claim(None)), ending(duration=MINUTE))
    began = NOON + unguarded_after
    store.record_unguarded(claim(None), ending(started_at=began, duration=MINUTE))
    bench.let_pass(max(unguarded_after, timedelta()) + MINUTE * 5)
    early = store.claim(claim(None, min_interval=MINUTE * 5.5)).verdict

    assert early == Skip(Reason.TOO_SOON)


def test_a_start_that_is_too_late_is_recorded(store: Store) -> None:
    """A gap with a reason."""
    late = claim(fired_at=NOON + timedelta(hours=1), start_within=MINUTE)
    claimed = store.claim(late)

    assert reason(claimed.verdict) is Reason.LATE
    assert store.run("report", 1).outcome is Outcome.SKIPPED


class TestSchedules:
    """A schedule is in force from when it was first seen, an interval at a time."""

    def test_a_schedule_seen_off_its_time_is_noted_and_nothing_runs(self, store: Store) -> None:
        """Else a line pasted on Monday would send Friday's report."""
        pasted = claim(slot(-50), fired_at=NOON, on_time=timedelta(minutes=5))
        first, second = store.claim(pasted).verdict, store.claim(pasted).verdict
        task = store.task("report")

        assert (reason(first), reason(second)) == (Reason.FIRST_SIGHT, Reason.NOT_IN_FORCE)
        assert task is not None
        assert (task.line, task.in_force_since, task.last_number) == (HOURLY, NOON, 0)

    def test_its_next_slot_runs(self, bench: Bench, store: Store) -> None:
        """What was noted is in force."""
        store.claim(claim(slot(-50), fired_at=NOON, on_time=timedelta(minutes=5)))
        bench.let_pass(timedelta(hours=2))
        late = claim(slot(1), fired_at=NOON + timedelta(hours=2), on_time=timedelta(minutes=5))

        assert store.claim(late).verdict == Go(attempt=1)

    def test_an_edited_line_has_an_interval_of_its_own_also_when_rolled_back(self, bench: Bench, store: Store) -> None:
        """Three intervals, not two: what held between must not be forgotten."""
        edited = Line("30 * * * *", "UTC")
        for hour, line in enumerate([HOURLY, HOURLY, edited, HOURLY]):
            store.finish(held(store, claim(slot(hour), line=line)), ending())
            bench.let_pass(timedelta(hours=1))
        intervals = bench.meddle("SELECT expression FROM once.schedule ORDER BY first_seen")
        (extended,) = bench.meddle(
            "SELECT count(*) FROM once.schedule WHERE last_seen > first_seen AND expression = '0 * * * *'"
        )

        assert [expression for (expression,) in intervals] == ["0 * * * *", "30 * * * *", "0 * * * *"]
        assert extended == (1,)
        assert store.task("report").in_force_since == NOON + timedelta(hours=3)

    def test_two_lines_at_one_instant_are_two_intervals(self, store: Store) -> None:
        """A clock that stands, or was set back, costs no claim."""
        for hour, zone in enumerate(["UTC", "Europe/Berlin", "UTC"]):
            store.finish(held(store, claim(slot(hour), line=Line("0 * * * *", zone))), ending())

        assert store.task("report").line == HOURLY

    def test_the_zone_and_the_engine_belong_to_the_line(self, store: Store) -> None:
        """The same expression in another zone is another schedule."""
        held(store)
        facts = store.look(claim(slot(1), line=Line("0 * * * *", "Asia/Tokyo")))

        assert (facts.line, facts.in_force_since) == (HOURLY, None)


class TestLook:
    """The read before: what the decision will be, without a lock."""

    def test_an_unknown_task_is_unknown(self, store: Store) -> None:
        """Looking makes nothing known."""
        facts = store.look(claim())

        assert (facts.known, facts.now, facts.latest, store.task("report")) == (False, NOON, None, None)

    def test_it_tells_the_fingerprints_of_the_newest_run(self, store: Store) -> None:
        """So that a start whose schedule or command differs can say so."""
        held(store)
        facts = store.look(claim(command=("another",)))

        assert (facts.known, facts.line, facts.command_hash) == (True, HOURLY, "hash of report --email")
        assert (facts.in_force_since, facts.last_claimed_at) == (NOON, NOON)

    def test_an_expired_run_is_not_alive_but_still_there(self, bench: Bench, store: Store) -> None:
        """The look writes nothing; the claim will."""
        held(store)
        bench.let_pass(LEASE)
        facts = store.look(claim())

        assert facts.latest is not None
        assert (facts.latest.outcome, facts.latest_alive, facts.blocker) == (Outcome.RUNNING, False, None)
        assert store.run("report", 1).outcome is Outcome.RUNNING

    def test_the_previous_success_lies_before_the_slot(self, store: Store) -> None:
        """Not the newest success: a late start of an older slot is told its own."""
        for hour in (0, 1, 3):
            store.finish(held(store, claim(slot(hour))), ending())
        store.finish(held(store, claim(slot(2))), ending(Outcome.FAILED))

        assert store.look(claim(slot(3))).previous_success == slot(1).at
        assert store.look(claim(slot(0))).previous_success is None

    def test_to_a_run_without_a_slot_the_previous_success_is_the_latest(self, store: Store) -> None:
        """What came since then is what a run by hand is about, too; other runs without a slot are no part of it."""
        for at in (slot(0), slot(1), None):
            store.finish(held(store, claim(at)), ending())

        assert store.look(claim(None)).previous_success == slot(1).at

    def test_the_late_success_of_a_lost_run_counts(self, bench: Bench, store: Store) -> None:
        """What was done need not be done again, whoever is late to say so."""
        first = held(store)
        bench.let_pass(LEASE)
        second = held(store, claim(attempts=3))
        store.finish(first, ending())
        store.finish(second, ending(Outcome.FAILED))

        assert reason(store.claim(claim(attempts=3)).verdict) is Reason.DONE


class TestNames:
    """Two names equal but for case would be two jobs that people take for one."""

    def test_a_name_that_differs_in_case_is_refused(self, store: Store) -> None:
        """The look tells which is known, the claim refuses."""
        held(store, claim(task="Straße"))

        assert store.look(claim(task="STRASSE")).taken_name == "Straße"
        with pytest.raises(TaskNameTaken, match="Straße"):
            store.claim(claim(task="STRASSE"))
        assert [task.name for task in store.tasks()] == ["Straße"]

    @pytest.mark.parametrize("name", ["a'b", 'a"b', "50%", "%s", "a:b", "x; DROP TABLE run", "日本語", "🎉", "a b"])
    def test_any_other_name_is_just_a_name(self, store: Store, name: str) -> None:
        """Data is never SQL."""
        held(store, claim(task=name))

        assert store.task(name).name == name


def _version() -> str:
    from once import __version__

    return __version__
