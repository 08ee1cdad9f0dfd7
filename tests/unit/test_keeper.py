"""The beating thread, with beats that are answered by the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from once.errors import Unreachable
from once.keeper import Keeper
from once.lease import Lease
from once.run import Outcome
from once.store.base import Beat
from tests.unit.fakes import FakeClock

PATIENCE = 20.0
"""Seconds until a test that waits for an event is given up."""


class Answers:
    """Hands out the answers in turn, and lets the test wait until so many beats have been answered."""

    def __init__(self, *answers: Beat | Exception) -> None:
        self.left = list(answers)
        self.all_given = threading.Event()

    def __call__(self) -> Beat:
        answer = self.left.pop(0)
        if not self.left:
            self.all_given.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def keep(clock: FakeClock) -> Iterator[Callable[..., tuple[Keeper, threading.Event]]]:
    """Starts a keeper of a lease of 100 s and stops it in the end."""
    keepers: list[Keeper] = []

    def start(answers: Answers) -> tuple[Keeper, threading.Event]:
        news = threading.Event()
        keeper = Keeper(Lease(timedelta(seconds=100), 0.0), beat=answers, clock=clock, news=news.set)
        keepers.append(keeper)
        keeper.start()
        return keeper, news

    yield start
    for keeper in keepers:
        keeper.stop()


def test_a_beat_extends_the_lease_from_when_it_was_sent(
    clock: FakeClock, keep: Callable[..., tuple[Keeper, threading.Event]]
) -> None:
    """Not from when it was answered: the database may have executed it any time before that."""
    clock.seconds = 20.0

    def answered_late() -> Beat:
        clock.seconds = 31.0
        return Beat(ours=True)

    keeper, news = keep(answered_late)
    assert news.wait(PATIENCE)

    assert keeper.lease.sent == 20.0


def test_no_beat_is_sent_before_a_fifth_of_the_lease(
    clock: FakeClock, keep: Callable[..., tuple[Keeper, threading.Event]]
) -> None:
    """Unless somebody asks."""
    clock.seconds = 19.9
    answers = Answers(Beat(ours=True))
    keeper, news = keep(answers)

    assert answers.left
    keeper.ask()
    assert news.wait(PATIENCE)


def test_a_failed_beat_is_tried_again_and_changes_nothing(
    clock: FakeClock, keep: Callable[..., tuple[Keeper, threading.Event]]
) -> None:
    """An error is no answer, whatever its class."""
    clock.seconds = 20.0
    answers = Answers(Unreachable(store="db1", why="gone"), ValueError("a bug"), Beat(ours=True))
    keeper, news = keep(answers)
    while not answers.all_given.wait(0.01):
        assert keeper.gone is None
        clock.seconds += 10.0
    assert news.wait(PATIENCE)

    assert keeper.trouble is None
    assert keeper.lease.sent >= 20.0


def test_a_run_that_is_no_longer_ours_ends_the_beats(
    clock: FakeClock, keep: Callable[..., tuple[Keeper, threading.Event]]
) -> None:
    """There is nothing left to extend."""
    clock.seconds = 20.0
    gone = Beat(False, Outcome.LOST, "lease ended")
    keeper, news = keep(Answers(gone))
    assert news.wait(PATIENCE)
    keeper._thread.join(PATIENCE)

    assert keeper.gone == gone
    assert not keeper._thread.is_alive()


def test_a_stopped_keeper_sends_no_further_beat(keep: Callable[..., tuple[Keeper, threading.Event]]) -> None:
    """The run has ended; a beat would only learn that."""
    answers = Answers(Beat(ours=True))
    keeper, _news = keep(answers)
    keeper.stop()
    keeper._thread.join(PATIENCE)

    assert answers.left
    assert not keeper._thread.is_alive()
