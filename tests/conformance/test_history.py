"""What the store tells: tasks, runs, sightings, its clock and its name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from once.run import Line, Outcome
from once.store.base import Store
from tests.conformance.claims import NOON, claim, ending, held, holder, slot
from tests.conformance.conftest import Bench

INSERT = """
    INSERT INTO once.run (task, number, token, attempt, attempts, outcome, host, pid, login, command, command_hash,
        claimed_at, once_version)
    SELECT run.task, {number}, 't', 1, 1, 'succeeded', 'a', 1, 'ops', '["true"]', 'h', run.claimed_at, '0'
    FROM once.run WHERE run.number = 1
"""


def test_there_is_nothing_to_tell_at_first(store: Store) -> None:
    """Absence is a value."""
    assert store.tasks() == []
    assert store.task("report") is None
    assert list(store.runs("report")) == []
    assert store.run("report") is None
    assert store.run("report", 1) is None


def test_tasks_come_by_name_with_their_line(store: Store) -> None:
    """Capital letters first, as in C, on every store."""
    for name in ("b", "Z", "a"):
        held(store, claim(task=name))
    held(store, claim(None, task="lock"))

    assert [(task.name, task.line is not None, task.last_number) for task in store.tasks()] == [
        ("Z", True, 1),
        ("a", True, 1),
        ("b", True, 1),
        ("lock", False, 1),
    ]


def test_runs_come_newest_first_without_their_output(store: Store) -> None:
    """Every one of the task, however many there are, and as many as one asks for."""
    for hour in range(3):
        store.finish(held(store, claim(slot(hour))), ending(tail=b"output"))
    held(store, claim(task="other"))

    assert [run.number for run in store.runs("report")] == [3, 2, 1]
    assert [run.number for run in store.runs("report", limit=2)] == [3, 2]
    assert list(store.runs("report", limit=0)) == []
    assert {run.tail for run in store.runs("report")} == {b""}
    assert store.run("report", 3).tail == b"output"


@pytest.mark.parametrize("total", [500, 501, 1203])
def test_a_long_history_is_streamed_whole(bench: Bench, store: Store, total: int) -> None:
    """Page by page: the first run is there before the last one was read."""
    store.finish(held(store), ending())
    numbers = f"(WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {total}) SELECT i FROM n)"
    bench.meddle(INSERT.format(number="n.i").replace("FROM once.run", f"FROM {numbers} AS n, once.run"))

    assert [run.number for run in store.runs("report")] == list(range(total, 0, -1))


def test_the_newest_run_that_was_started_is_told_without_a_number(store: Store) -> None:
    """A skip has nothing to show."""
    held(store, claim(slot(0)))
    store.claim(claim(slot(1)))

    assert [run.outcome for run in store.runs("report")] == [Outcome.SKIPPED, Outcome.RUNNING]
    assert store.run("report").number == 1


def test_a_sighting_is_noted_once_a_day_and_host(bench: Bench, store: Store) -> None:
    """A dead cron is noticed by the day, and losers write no row each minute."""
    held(store)
    for host in ("a", "b", "a"):
        store.sight(claim(by=holder(host)))
    bench.let_pass(timedelta(hours=24) - timedelta(seconds=1))
    store.sight(claim(by=holder("a")))
    bench.let_pass(timedelta(seconds=1))
    before = [store.look(claim(by=holder(host))).seen_today for host in ("a", "b", "c")]
    store.sight(claim(by=holder("a")))
    after = [store.look(claim(by=holder(host))).seen_today for host in ("a", "b", "c")]
    (moved,) = bench.meddle("SELECT count(*) FROM once.sighting WHERE last_seen > first_seen")

    assert (before, after, moved) == ([False, False, False], [True, False, False], (1,))
    assert bench.meddle("SELECT host FROM once.sighting ORDER BY host") == [("a",), ("b",)]


def test_another_line_or_command_is_a_new_sighting_the_same_day(bench: Bench, store: Store) -> None:
    """Hosts that disagree are told apart by what they were seen with last."""
    held(store)
    store.sight(claim())
    edited = claim(line=Line("5 * * * *", "UTC"))
    seen = store.look(edited).seen_today
    store.sight(edited)

    assert (seen, store.look(edited).seen_today, store.look(claim()).seen_today) == (False, True, False)
    assert bench.meddle("SELECT schedule, protocol FROM once.sighting") == [("5 * * * * UTC cron", 1)]


def test_whoever_always_wins_is_sighted_too(bench: Bench, store: Store) -> None:
    """Else an upgrade would not know of the one host that there is."""
    store.finish(held(store), ending())
    store.claim(claim(by=holder("b")))

    assert store.look(claim()).seen_today
    assert bench.meddle("SELECT host FROM once.sighting ORDER BY host") == [("a",), ("b",)]


def test_the_pods_of_a_cronjob_are_sighted_as_one(bench: Bench, store: Store) -> None:
    """Each has another name: a row for each would be a row a run."""
    line = Line("0 * * * *", "UTC", "kubernetes")
    for hour in range(3):
        store.finish(held(store, claim(slot(hour), line=line, by=holder(f"report-{hour}-x7k2p"))), ending())

    assert bench.meddle("SELECT host FROM once.sighting") == [("kubernetes",)]
    assert [run.host for run in store.runs("report")] == [f"report-{hour}-x7k2p" for hour in (2, 1, 0)]


def test_a_start_by_hand_is_no_sighting(bench: Bench, store: Store) -> None:
    """An operator who runs a slot hides no dead cron."""
    by_hand = claim().replaced(by_hand=True)
    store.finish(held(store, by_hand), ending())
    store.sight(by_hand)

    assert bench.meddle("SELECT host FROM once.sighting") == []


def test_a_sighting_makes_no_task_known(store: Store) -> None:
    """Only a claim does."""
    store.sight(claim())

    assert store.tasks() == []


def test_the_clock_is_the_stores(bench: Bench, store: Store) -> None:
    """Aware, in UTC, to the microsecond."""
    bench.let_pass(timedelta(microseconds=123_457))

    assert store.now() == NOON + timedelta(microseconds=123_457)
    assert store.now().utcoffset() == timedelta()


def test_the_name_of_a_store_is_its_own_and_lasts(bench: Bench, store: Store) -> None:
    """Journals tell by it where an entry belongs."""
    assert store.identity() == bench.open().identity() == store.look(claim()).identity
    assert len(store.identity()) == 32


def test_a_closed_store_opens_itself_again(store: Store) -> None:
    """Giving back the connection ends nothing but the connection."""
    hold = held(store)
    store.close()
    store.close()

    assert store.finish(hold, ending()) == "as ended"


def test_a_monitor_is_told_the_end_of_each_history(store: Store) -> None:
    """Newest first and so many, with the newest slot that succeeded, and who starts the task."""
    for hour, outcome in enumerate((Outcome.SUCCEEDED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.FAILED)):
        store.finish(held(store, claim(slot(hour))), ending(outcome))
    store.finish(held(store, claim(None, task="lock", by=holder("b"))), ending())
    told = store.vitals(newest=3)
    of_lock = store.vitals(["lock", "nobody"])

    assert told.keys() == {"lock", "report"}
    assert [(run.number, run.outcome, run.slot) for run in told["report"].recent] == [
        (4, Outcome.FAILED, slot(3).at),
        (3, Outcome.FAILED, slot(2).at),
        (2, Outcome.SUCCEEDED, slot(1).at),
    ]
    assert told["report"].last_success == slot(1).at
    assert [(one.host, one.first_seen, one.schedule) for one in told["report"].sightings] == [
        ("a", NOON, "0 * * * * UTC cron")
    ]
    assert of_lock == {"lock": told["lock"]}
    assert (told["lock"].last_success, told["lock"].recent[0].exit_status) == (None, 0)
