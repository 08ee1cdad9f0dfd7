"""What the end of a command counts as."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest

from once.command import Exited
from once.errors import OnceError, TaskNameTaken, Unreachable
from once.journal import Entry
from once.recording import TAIL_OF_A_SUCCESS, Recorder, ending_of, exit_status
from once.run import Ending, Hold, Outcome
from once.store.base import Recorded
from once.supervision import Watched
from once.voice import Voice
from tests.unit.fakes import MONDAY, FakeClock, FakeOutput

LONG = bytes(range(256)) * 64


def judged(watched: Watched, output: FakeOutput | None = None) -> Ending:
    """The ending of a command that ran for ninety seconds."""
    return ending_of(watched, output=output or FakeOutput(), started_at=MONDAY, duration=timedelta(seconds=90))


def ended(status: int, **how: object) -> Watched:
    """A command that ended with this exit status, or, when negative, by that signal."""
    return Watched(Exited(-status if status < 0 else status << 8, 90.0), **how)


@pytest.mark.parametrize(
    ("watched", "outcome", "status", "exits"),
    [
        (ended(0), Outcome.SUCCEEDED, 0, 0),
        (ended(3), Outcome.FAILED, 3, 3),
        (ended(-signal.SIGSEGV), Outcome.FAILED, 139, 139),
        (ended(-signal.SIGTERM, stopped_by=signal.SIGTERM), Outcome.STOPPED, 143, 143),
        (ended(1, stopped_by=signal.SIGINT), Outcome.STOPPED, 1, 1),
        (ended(0, stopped_by=signal.SIGTERM), Outcome.SUCCEEDED, 0, 0),
        (ended(-signal.SIGTERM, timed_out=True), Outcome.TIMED_OUT, 143, 124),
        (ended(0, timed_out=True), Outcome.TIMED_OUT, 0, 124),
        (ended(-signal.SIGKILL, lost="taken"), Outcome.LOST, 137, 123),
        (ended(0, lost="taken"), Outcome.SUCCEEDED, 0, 0),
        (ended(2, lost="taken"), Outcome.FAILED, 2, 2),
    ],
)
def test_an_end_counts_as_what_brought_it_about(watched: Watched, outcome: Outcome, status: int, exits: int) -> None:
    """The row has the command's own status; `once` exits with it unless it made the command end."""
    ending = judged(watched)

    assert (ending.outcome, ending.exit_status) == (outcome, status)
    assert exit_status(watched) == exits


@pytest.mark.parametrize(
    ("watched", "reason"),
    [
        (ended(0), None),
        (ended(-15, stopped_by=signal.SIGTERM), "once got SIGTERM"),
        (ended(-9, stopped_by=signal.SIGTERM, needed_kill=True), "once got SIGTERM, needed KILL"),
        (ended(-9, timed_out=True, needed_kill=True), "over its time limit, needed KILL"),
        (ended(-9, lost="taken by run 8"), "killed: taken by run 8"),
    ],
)
def test_the_row_says_why(watched: Watched, reason: str | None) -> None:
    """As much as the reader needs to know who ended it."""
    assert judged(watched).reason == reason


def test_of_a_failure_all_that_was_kept_is_recorded() -> None:
    """And how much went before it."""
    ending = judged(ended(1), FakeOutput(kept=LONG, dropped=7))

    assert (ending.tail, ending.tail_dropped) == (LONG, 7)


def test_of_a_success_only_the_end_is_recorded() -> None:
    """Nothing is lost in the count."""
    ending = judged(ended(0), FakeOutput(kept=LONG, dropped=7))

    assert ending.tail == LONG[-TAIL_OF_A_SUCCESS:]
    assert len(ending.tail) + ending.tail_dropped == len(LONG) + 7


def test_an_end_is_dated_by_its_start_and_its_duration() -> None:
    """A clock that was set meanwhile changes neither."""
    ending = judged(ended(0))

    assert ending.started_at == MONDAY
    assert ending.finished_at == MONDAY + timedelta(seconds=90)
    assert ending.duration == timedelta(seconds=90)


class Away:
    """A store that is out of reach."""

    name = "db1/ops"
    error: OnceError = Unreachable(store="db1/ops", why="connection refused")

    def finish(self, _hold: Hold, _ending: Ending) -> Recorded:
        raise self.error

    def close(self) -> None:
        return None


class Memory:
    """A journal that keeps what it is given."""

    directory = "/journal"

    def keep(self, _entry: Entry) -> None:
        return None

    def drop(self, _entry: Entry) -> None:
        return None


@pytest.mark.parametrize(("status", "said"), [(None, "run 7 stopped; "), (3, "run 7 stopped with status 3; ")])
def test_an_outcome_that_waits_is_told_with_the_status_that_it_has(
    capfd: pytest.CaptureFixture[str], status: int | None, said: str
) -> None:
    """A command that never began has none."""
    ending = Ending(outcome=Outcome.STOPPED, finished_at=MONDAY, exit_status=status)
    recorder = Recorder(
        store=Away(), identity="x", journal=Memory(), clock=FakeClock(), voice=Voice("once run", "t"), lasting=True
    )

    assert recorder.record(Hold("t", 7, "token"), ending) is None
    assert capfd.readouterr().err == (
        f"once run: t: {said}db1/ops is out of reach: connection refused; the outcome waits in /journal\n"
    )


@pytest.mark.parametrize(("tries", "said"), [(5, 0), (60, 1)])
def test_a_pod_that_stays_for_its_outcome_says_so(capfd: pytest.CaptureFixture[str], tries: int, said: int) -> None:
    """Its command has ended, and it runs on: after a while that wants a line, in a short outage none."""
    left = iter(range(tries))

    class Back(Away):
        def finish(self, hold: Hold, ending: Ending) -> Recorded:
            return super().finish(hold, ending) if next(left, None) is not None else Recorded.AS_ENDED

    recorder = Recorder(
        store=Back(), identity="x", journal=Memory(), clock=FakeClock(), voice=Voice("once run", "t"), lasting=False
    )
    ending = Ending(outcome=Outcome.FAILED, finished_at=MONDAY, exit_status=3)

    assert recorder.record(Hold("t", 7, "token"), ending) is Recorded.AS_ENDED
    assert capfd.readouterr().err == said * (
        "once run: t: run 7 failed with status 3; db1/ops is out of reach: connection refused; "
        "once stays until that is recorded, since no disk lasts here\n"
    )


def test_an_outcome_that_can_never_be_recorded_is_given_up_where_nothing_lasts(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its pod would never end: an unguarded run, whose task's name another task has but for case."""
    store = Away()
    store.error = TaskNameTaken(name="T", known="t")
    recorder = Recorder(
        store=store, identity="", journal=Memory(), clock=FakeClock(), voice=Voice("once run", "T"), lasting=False
    )

    assert recorder.record(Hold("T", 0, "token"), Ending(outcome=Outcome.FAILED, finished_at=MONDAY)) is None
    assert "Task name T differs from the known task t" in capfd.readouterr().err
