"""From a start to a held run, on a real store whose answers get lost, come late, or do not come."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from once.admission import Admission, Admitted, TurnedAway
from once.clock import Fired, SystemClock
from once.errors import ClockOff, Unreachable
from once.journal import Journal
from once.run import Ending, Holder, Line, Outcome, Slot
from once.signals import Arrivals, Interrupted
from once.start import Patience
from once.store.base import Claim, Store
from once.store.connect import open_store
from once.verdict import Facts, Overlap, Reason, Wish
from once.voice import Voice
from tests.unit.fakes import FakeClock


class Unsteady:
    """A real store, between which and us an answer is lost at each verb that `losing` names, in its order."""

    def __init__(self, store: Store, *losing: str) -> None:
        self._store = store
        self.losing = list(losing)
        self.asked: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._store, verb)
        if not callable(found):
            return found

        def ask(*args: Any, **more: Any) -> Any:
            self.asked.append(verb)
            answer = found(*args, **more)
            if self.losing and self.losing[0] == verb:
                self.losing.pop(0)
                raise Unreachable(store="the store", why="the answer was lost")
            return answer

        return ask


class Pausing(FakeClock):
    """The host's real wall clock, and pauses that only count; whoever waits can be interrupted by `meanwhile`."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.meanwhile = meanwhile
        self.now = SystemClock().now  # type: ignore[method-assign]

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.meanwhile()


@pytest.fixture
def real(tmp_path: Path) -> Store:
    store = open_store(f"sqlite:{tmp_path}/once.db", clock=SystemClock(), state_dir=tmp_path)
    yield store
    store.close()


OTHER = Holder("other", None, "boot", 1, "ops")


def claim(task: str = "t", *, overlap: Overlap = Overlap.SKIP) -> Claim:
    fired_at = SystemClock().now()
    return Claim(
        task=task,
        token=os.urandom(8).hex(),
        wish=Wish(slot=None, fired_at=fired_at, overlap=overlap),
        slot=None,
        line=None,
        lease=timedelta(minutes=5),
        holder=Holder("host", None, "boot", 1, "ops"),
        command=("true",),
        command_hash="x",
    )


def admission(
    store: Any,
    tmp_path: Path,
    *,
    clock: FakeClock | None = None,
    arrivals: Arrivals | None = None,
    wanted: Claim | None = None,
    fired: Fired | None = None,
    wait: timedelta | None = timedelta(),
    max_skew: timedelta = timedelta(days=1),
    db_wait: timedelta = timedelta(minutes=1),
    voice: Voice | None = None,
    object_to: Callable[[Facts], None] = lambda _facts: None,
) -> Admission:
    clock = clock or Pausing()
    return Admission(
        wanted or claim(),
        store=store,
        clock=clock,
        fired=fired or Fired(clock.now(), clock.boottime()),
        arrivals=arrivals or Arrivals(),
        journal=Journal(tmp_path / "journal"),
        patience=Patience(db_wait=db_wait, wait=wait, max_skew=max_skew),
        voice=voice or Voice("once lock", "t", quiet=True),
        object_to=object_to,
    )


def test_a_claim_whose_answer_was_lost_is_found_by_its_token(real: Store, tmp_path: Path) -> None:
    """The run is ours, it is the only one, and trust counts from the first try."""
    clock = Pausing()
    store = Unsteady(real, "claim")
    answer = admission(store, tmp_path, clock=clock).seek()

    assert isinstance(answer, Admitted)
    assert answer.lease.sent == 0.0
    assert clock.boottime() > 0.0
    assert [run.number for run in real.runs("t")] == [1]
    assert store.asked.count("look") == 1


def test_a_look_that_failed_is_tried_again(real: Store, tmp_path: Path) -> None:
    """An error is never taken for an answer."""
    answer = admission(Unsteady(real, "look", "look"), tmp_path).seek()

    assert isinstance(answer, Admitted)


def test_a_database_that_stays_away_is_given_up_after_db_wait(real: Store, tmp_path: Path) -> None:
    """Not sooner, and nothing has been claimed."""
    clock = Pausing()
    with pytest.raises(Unreachable):
        admission(Unsteady(real, *["look"] * 1000), tmp_path, clock=clock).seek()

    assert 50 < clock.boottime() <= 75
    assert real.task("t") is None


def test_a_signal_while_a_claims_answer_is_unknown_waits_for_the_answer(real: Store, tmp_path: Path) -> None:
    """Else a run would be left that nobody holds: it is claimed, noted, and the runner will record it as stopped."""
    arrivals = Arrivals()
    clock = Pausing(lambda: arrivals._arrived(signal.SIGTERM, None))
    answer = admission(Unsteady(real, "claim"), tmp_path, clock=clock, arrivals=arrivals).seek()

    assert isinstance(answer, Admitted)
    assert arrivals.take() == signal.SIGTERM


def test_a_signal_between_two_tries_of_a_claim_waits_for_the_answer_too(real: Store, tmp_path: Path) -> None:
    """While the connection of the first is given back, say."""
    arrivals = Arrivals()

    class Closing(Unsteady):
        def __getattr__(self, verb: str) -> Any:
            if verb == "close":
                arrivals._arrived(signal.SIGTERM, None)
            return super().__getattr__(verb)

    answer = admission(Closing(real, "claim"), tmp_path, arrivals=arrivals).seek()

    assert isinstance(answer, Admitted)
    assert arrivals.take() == signal.SIGTERM


def test_a_signal_ends_the_wait_for_an_answer_that_never_comes(real: Store, tmp_path: Path) -> None:
    """Within seconds, not within --db-wait."""
    arrivals = Arrivals()
    clock = Pausing(lambda: arrivals._arrived(signal.SIGTERM, None))
    with pytest.raises(Interrupted):
        admission(Unsteady(real, *["claim"] * 1000), tmp_path, clock=clock, arrivals=arrivals).seek()

    assert clock.boottime() < 10


def test_a_signal_that_came_during_a_lost_claim_ends_once(real: Store, tmp_path: Path) -> None:
    """Nothing was claimed, so nothing is to be recorded."""
    admission(real, tmp_path).seek()
    arrivals = Arrivals()
    wanted = claim()

    class Signalling(Unsteady):
        def __getattr__(self, verb: str) -> Any:
            if verb == "look":
                return lambda _claim: real.look(claim("other"))
            if verb == "claim":
                arrivals._arrived(signal.SIGTERM, None)
            return super().__getattr__(verb)

    with pytest.raises(Interrupted) as interrupted:
        admission(Signalling(real), tmp_path, arrivals=arrivals, wanted=wanted).seek()

    assert interrupted.value.signum == signal.SIGTERM
    assert len(list(real.runs("t"))) == 1


def test_after_admission_signals_are_only_noted(real: Store, tmp_path: Path) -> None:
    """A run is at stake from the very moment of the claim."""
    arrivals = Arrivals()
    admission(real, tmp_path, arrivals=arrivals).seek()
    arrivals._arrived(signal.SIGTERM, None)

    assert arrivals.take() == signal.SIGTERM


def test_a_host_whose_clock_is_off_claims_nothing(real: Store, tmp_path: Path) -> None:
    """The guard counts what has passed since the start by CLOCK_BOOTTIME, not by a clock that may be set meanwhile."""
    clock = Pausing()
    off = Fired(clock.now() + timedelta(seconds=61), clock.boottime())
    with pytest.raises(ClockOff):
        admission(real, tmp_path, clock=clock, fired=off, max_skew=timedelta(minutes=1)).seek()

    assert real.task("t") is None


def test_time_spent_waiting_is_no_clock_offset(real: Store, tmp_path: Path) -> None:
    """An hour of --splay or of an outage is carried forward."""
    clock = Pausing()
    clock.seconds = 3600.0
    long_ago = Fired(clock.now() - timedelta(hours=1), boottime=0.0)
    answer = admission(real, tmp_path, clock=clock, fired=long_ago, max_skew=timedelta(minutes=1)).seek()

    assert isinstance(answer, Admitted)


def test_an_objection_to_what_was_found_prevents_the_claim(real: Store, tmp_path: Path) -> None:
    """It comes between the look and the claim."""

    class Objection(Exception):
        pass

    def object_to(_facts: Facts) -> None:
        raise Objection

    with pytest.raises(Objection):
        admission(real, tmp_path, object_to=object_to).seek()

    assert real.task("t") is None


def test_a_wait_without_end_goes_on_until_the_way_is_free(real: Store, tmp_path: Path) -> None:
    """The pauses grow, to five seconds and a half more at most."""
    first = admission(real, tmp_path).seek()
    assert isinstance(first, Admitted)
    looks = 0

    def end_the_first() -> None:
        nonlocal looks
        looks += 1
        if looks == 30:
            real.finish(first.hold, Ending(outcome=Outcome.SUCCEEDED, finished_at=SystemClock().now()))

    clock = Pausing(end_the_first)
    answer = admission(real, tmp_path, clock=clock, wanted=claim(overlap=Overlap.WAIT), wait=None).seek()

    assert isinstance(answer, Admitted)
    assert answer.hold.number == 2
    assert max(clock.slept) <= 7.5


def test_a_bounded_wait_ends_in_a_skip(real: Store, tmp_path: Path) -> None:
    """Nothing is recorded for it."""
    admission(real, tmp_path).seek()
    waiter = admission(real, tmp_path, wanted=claim(overlap=Overlap.WAIT), wait=timedelta(seconds=20))
    answer = waiter.seek()

    assert isinstance(answer, TurnedAway)
    assert answer.skip.reason is Reason.OVERLAP
    assert len(list(real.runs("t"))) == 1


def test_a_skip_of_a_slot_that_has_a_row_is_not_told_as_recorded(real: Store, tmp_path: Path) -> None:
    """It is not; and every start of every host would say so again."""
    at = SystemClock().now() - timedelta(hours=2)
    late = Wish(slot=at, fired_at=at + timedelta(hours=2), attempts=2, start_within=timedelta(hours=1))
    wanted = claim().replaced(slot=Slot(at, "", 0), wish=late, line=Line("0 * * * *", "UTC"))
    hold = real.claim(wanted.replaced(token="first", wish=Wish(slot=at, fired_at=at))).hold
    assert hold is not None
    real.finish(hold, Ending(outcome=Outcome.FAILED, finished_at=at))
    answer = admission(real, tmp_path, wanted=wanted).seek()

    assert isinstance(answer, TurnedAway)
    assert (answer.skip.reason, answer.recorded) == (Reason.LATE, False)
    assert len(list(real.runs("t"))) == 1


@pytest.mark.parametrize(("unbroken", "sights"), [(True, ["look", "sight"]), (False, ["look"])])
def test_a_loser_says_that_its_line_is_in_use_beside_another(
    real: Store, tmp_path: Path, unbroken: bool, sights: list[str]
) -> None:
    """Once a slot, also when its host was seen today; not if its line is in no interval that goes on."""
    now = SystemClock().now()
    at, earlier = now + timedelta(minutes=1), now - timedelta(hours=1)
    wanted = claim().replaced(slot=Slot(at, "", 0), wish=Wish(slot=at, fired_at=at), line=Line("0 * * * *", "UTC"))
    before = wanted.replaced(slot=Slot(earlier, "", 0), wish=Wish(slot=earlier, fired_at=earlier))
    for taken in (before, wanted.replaced(token="other", line=Line("*/30 * * * *", "UTC"), holder=OTHER)):
        hold = real.claim(taken).hold
        assert hold is not None
        real.finish(hold, Ending(outcome=Outcome.SUCCEEDED, finished_at=now))
    store = Unsteady(real)
    loser = wanted.replaced(token="loser", unbroken_since=earlier - timedelta(hours=1) if unbroken else None)
    answers = [admission(store, tmp_path, wanted=loser).seek() for _ in range(2)]

    assert [answer.skip.reason for answer in answers if isinstance(answer, TurnedAway)] == [Reason.DONE] * 2
    assert [verb for verb in store.asked if verb in ("look", "sight")] == [*sights, "look"]


def test_what_is_left_of_db_wait_bounds_each_try(real: Store, tmp_path: Path) -> None:
    """Two seconds always, ten at most; and who holds a run has the usual patience again."""
    clock = Pausing()
    bounds: list[timedelta] = []

    class Hanging(Unsteady):
        """Each look hangs for as long as it may."""

        def bound(self, answer_within: timedelta) -> None:
            bounds.append(answer_within)

        def look(self, claim: Claim) -> Facts:
            if len(bounds) < 4:
                clock.seconds += bounds[-1].total_seconds()
                raise Unreachable(store="the store", why="no answer")
            return real.look(claim)

    looking = admission(Hanging(real), tmp_path, clock=clock, db_wait=timedelta(seconds=32)).seek()

    assert isinstance(looking, Admitted)
    assert bounds[0] == bounds[1] == bounds[-1] == timedelta(seconds=10)
    assert bounds[3] == timedelta(seconds=2)


def test_a_try_that_hangs_does_not_outlast_db_wait(real: Store, tmp_path: Path) -> None:
    """The time of the first try counts, too."""
    clock = Pausing()

    class Hanging(Unsteady):
        """Says nothing any more."""

        def bound(self, answer_within: timedelta) -> None:
            self.within = answer_within

        def look(self, _claim: Claim) -> Facts:
            clock.seconds += self.within.total_seconds()
            raise Unreachable(store="the store", why="no answer")

    with pytest.raises(Unreachable):
        admission(Hanging(real), tmp_path, clock=clock, db_wait=timedelta(seconds=2)).seek()

    assert clock.boottime() == 2.0


def test_what_is_left_of_db_wait_is_told_to_the_millisecond(
    real: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody tries for another 0s."""
    voice = Voice("once lock", "t", verbose=True)
    trying = admission(Unsteady(real, "look"), tmp_path, voice=voice, db_wait=timedelta(milliseconds=400))
    trying.seek()

    assert capfd.readouterr().err == (
        "once lock: t: the store is out of reach: the answer was lost; trying for another 400ms\n"
    )


def test_a_newer_run_asks_the_one_in_its_way_once_and_then_only_looks(real: Store, tmp_path: Path) -> None:
    """The request is written under the task's lock; whoever waits for what it comes to takes no lock."""

    def of_slot(hour: int) -> Claim:
        at = datetime(2026, 11, 27, hour, tzinfo=UTC)
        wanted = claim(overlap=Overlap.REPLACE)
        return wanted.replaced(
            wish=wanted.wish.replaced(slot=at),
            slot=Slot(at, f"{at:%Y-%m-%dT%H:%M}", 0),
            line=Line("0 * * * *", "UTC"),
        )

    real.claim(of_slot(11))
    store = Unsteady(real)
    answer = admission(store, tmp_path, wanted=of_slot(12), wait=timedelta(seconds=1)).seek()

    assert isinstance(answer, TurnedAway)
    assert [verb for verb in store.asked if verb in ("look", "claim")][:4] == ["look", "claim", "look", "look"]
    assert store.asked.count("claim") == 1
    assert real.run("t", 1).stop_asked == "replaced by slot 2026-11-27T12:00:00Z"
