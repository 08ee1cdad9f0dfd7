"""What the reports read, on every store: newest and running runs, lines in force, slots, shared time, silence."""

from __future__ import annotations

from datetime import timedelta

from once.event import Operator
from once.instants import unix_seconds
from once.reports.due import InForce, Quiet
from once.run import Line, Outcome
from once.store.base import Store
from tests.conformance.claims import HOURLY, NOON, claim, ending, held, slot
from tests.conformance.conftest import Bench

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def ran(bench: Bench, store: Store, hours: float, *, took: timedelta = MINUTE, **more: object) -> None:
    """A success that was claimed so many hours after noon, which must not be in the past of the bench."""
    bench.let_pass(NOON + hours * HOUR - bench.clock.time)
    store.finish(held(store, claim(slot(hours), **more)), ending(duration=took))


def test_the_newest_started_run_of_each_task(bench: Bench, store: Store) -> None:
    """Skips do not count; a task without a start has none."""
    ran(bench, store, 0)
    held(store, claim(slot(1)))
    store.claim(claim(slot(2)))
    held(store, claim(task="other"))

    assert {task: run.number for task, run in store.newest().items()} == {"report": 2, "other": 1}
    assert list(store.newest(["other", "unknown"])) == ["other"]
    assert store.newest(["report"])["report"] == store.run("report")


def test_the_runs_that_say_running(bench: Bench, store: Store) -> None:
    """Whether or not their lease is good: that is for the report to say."""
    ran(bench, store, 0)
    held(store, claim(slot(1)))
    held(store, claim(task="a"))
    bench.let_pass(DAY)

    assert [(run.task, run.number) for run in store.running()] == [("a", 1), ("report", 2)]
    assert [run.task for run in store.running(["report"])] == ["report"]


def test_how_long_the_last_successes_took(bench: Bench, store: Store) -> None:
    """So many at most, and neither failures nor tasks that nobody asked for."""
    for hour in range(4):
        ran(bench, store, hour, took=hour * MINUTE)
    store.finish(held(store, claim(slot(5))), ending(Outcome.FAILED, duration=DAY))
    ran(bench, store, 6, task="other")
    found = store.durations(["report"], limit=3)

    assert {task: sorted(took) for task, took in found.items()} == {"report": [MINUTE, 2 * MINUTE, 3 * MINUTE]}


def test_the_lines_and_when_they_were_in_force(bench: Bench, store: Store) -> None:
    """An interval each, by task and time."""
    edited = Line("30 * * * *", "Europe/Berlin")
    ran(bench, store, 0)
    ran(bench, store, 1, line=edited)
    ran(bench, store, 2, task="a")

    assert store.in_force() == [
        InForce("a", HOURLY, NOON + 2 * HOUR, NOON + 2 * HOUR),
        InForce("report", HOURLY, NOON, NOON),
        InForce("report", edited, NOON + HOUR, NOON + HOUR),
    ]
    assert store.in_force(["a"]) == store.in_force()[:1]


def test_when_no_start_was_wanted(bench: Bench, store: Store) -> None:
    """A pause ends by its time, by a resume of the same, or by the next; what goes on is told by its task."""
    by = Operator("ops", "desk")
    for name in "ab":
        store.finish(held(store, claim(task=name)), ending())
    acts = [
        lambda: store.pause("a", by=by),
        lambda: store.pause(None, by=by),
        lambda: store.resume("a", by=by),
        lambda: store.pause("b", by=by, length=HOUR / 2),
        lambda: store.resume(None, by=by),
        lambda: store.pause("b", by=by),
        lambda: store.retire("b", by=by),
        lambda: store.resume("b", by=by),
        lambda: store.pause(None, by=by, scope="eu/", length=9 * HOUR),
        lambda: store.pause("a", by=by),
    ]
    for act in acts:
        assert act()
        bench.let_pass(HOUR)

    assert sorted(store.pauses(), key=lambda one: one.since) == [
        Quiet("a", NOON, NOON + 2 * HOUR),
        Quiet(None, NOON + HOUR, NOON + 4 * HOUR),
        Quiet("b", NOON + 3 * HOUR, NOON + 3.5 * HOUR),
        Quiet("b", NOON + 5 * HOUR, NOON + 7 * HOUR),
        Quiet("b", NOON + 6 * HOUR, NOON + 7 * HOUR),
        Quiet(None, NOON + 8 * HOUR, NOON + 17 * HOUR, scope="eu/"),
    ]


def test_what_became_of_the_slots(bench: Bench, store: Store) -> None:
    """Successes as seconds, the others with what a gap needs; a page a task, also for one without any."""
    for hour in range(3):
        ran(bench, store, hour)
    store.finish(held(store, claim(slot(3))), ending(Outcome.FAILED, exit_status=3))
    held(store, claim(None, task="lock"))
    first, second = store.slots(["report", "lock"], since=NOON + HOUR, until=NOON + 4 * HOUR)

    assert (first.task, first.done) == ("report", [unix_seconds(NOON + HOUR), unix_seconds(NOON + 2 * HOUR)])
    assert [(one.slot, one.number, one.outcome, one.exit_status, one.host) for one in first.undone] == [
        (NOON + 3 * HOUR, 4, Outcome.FAILED, 3, "a")
    ]
    assert (second.task, second.done, second.undone) == ("lock", [], [])
    assert [page.done for page in store.slots(["report"], since=NOON, until=NOON + HOUR)] == [[unix_seconds(NOON)]]


def crossing(store: Store, since: timedelta, until: timedelta, *, now: timedelta = 90 * DAY) -> list[tuple[str, int]]:
    found = store.crossing(["report", "other"], since=NOON + since, until=NOON + until, now=NOON + now)
    return [(run.task, run.number) for run in found]


def test_only_runs_that_share_time_are_told(bench: Bench, store: Store) -> None:
    """A long one and every one that it covers, not only its neighbour, and not those before and after."""
    ran(bench, store, 0)
    ran(bench, store, 1, took=2 * HOUR + MINUTE)
    for hour in (2, 3, 4):
        ran(bench, store, hour)
    ran(bench, store, 5, task="other", took=2 * HOUR)

    assert crossing(store, timedelta(), DAY) == [("report", 2), ("report", 3), ("report", 4)]
    assert crossing(store, 2 * HOUR + 2 * MINUTE, DAY) == [("report", 2), ("report", 4)]
    assert crossing(store, 4 * HOUR, DAY) == []


def test_a_run_of_weeks_is_found_however_long_ago_it_began(bench: Bench, store: Store) -> None:
    """It has an index of its own; the others are looked for a day back."""
    ran(bench, store, 0, took=30 * DAY)
    ran(bench, store, 24 * 20)

    assert crossing(store, 19 * DAY, 21 * DAY) == [("report", 1), ("report", 2)]


def test_a_lost_run_shares_time_until_its_last_beat_or_its_late_end(bench: Bench, store: Store) -> None:
    """The late end is by the host's clock, a quarter of a second behind."""
    lost = held(store, claim(slot(0), attempts=2))
    bench.let_pass(MINUTE)
    store.beat(lost, 5 * MINUTE)
    bench.let_pass(10 * MINUTE)
    store.finish(held(store, claim(slot(0), attempts=2)), ending(duration=MINUTE))
    before = crossing(store, timedelta(), DAY)
    store.finish(lost, ending(finished_at=NOON + 11 * MINUTE + timedelta(milliseconds=1)))

    assert (before, crossing(store, timedelta(), DAY)) == ([], [("report", 1), ("report", 2)])


def test_a_running_one_shares_time_until_now_while_its_lease_is_good(bench: Bench, store: Store) -> None:
    """Once it has ended, until its last beat."""
    held(store, claim(None))
    bench.let_pass(MINUTE)
    bench.meddle("UPDATE once.run SET outcome = 'failed'")
    held(store, claim(None))
    bench.meddle("UPDATE once.run SET outcome = 'running'")

    assert crossing(store, timedelta(), DAY, now=2 * MINUTE) == [("report", 1), ("report", 2)]
    assert crossing(store, timedelta(), DAY, now=6 * MINUTE) == []


def test_silence_is_told_from_start_to_start_and_to_the_end(bench: Bench, store: Store) -> None:
    """The start before the period counts; before the first of all there was no silence."""
    for hour in (0, 1, 4):
        ran(bench, store, hour, line=None)

    def silences(since: float, until: float) -> list[tuple[float, float]]:
        found = store.silences("report", 90 * MINUTE, since=NOON + since * HOUR, until=NOON + until * HOUR)
        return [((one - NOON) / HOUR, (other - NOON) / HOUR) for one, other in found]

    assert silences(0, 5) == [(1, 4)]
    assert silences(2, 6) == [(1, 4), (4, 6)]
    assert silences(-9, 1) == []
