"""The holder's part, on a real store, with a command that a timeline plays."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from once.admission import Admitted
from once.clock import Fired, SystemClock
from once.command import Command, Exited
from once.errors import CannotStart, CommandNotFound, Unreachable
from once.journal import Journal
from once.keeper import Keeper
from once.lease import Lease
from once.run import Outcome, Run
from once.signals import Arrivals
from once.start import Patience, Ports, Start
from once.store.base import Claim, Store
from once.store.connect import open_store
from once.tenure import Tenure, command_environ
from once.unguarded import Unguarded
from once.voice import Voice
from tests.integration.test_admission import Unsteady, claim
from tests.unit.fakes import FakeClock, FakeCommand

LEASE = timedelta(minutes=5)


class Scene:
    """One held run, and what its command is to do."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.clock = FakeClock()
        self.arrivals = Arrivals()
        self.store = self.open(timedelta())
        self.claim = claim()
        claimed = self.store.claim(self.claim)
        assert claimed.hold is not None
        self.admitted = Admitted(claimed.hold, 1, Lease(LEASE, 0.0), claimed.facts)
        self.command = FakeCommand(self.clock, [(1.0, Exited(0, 1.0))])
        self.spawned: list[tuple[Sequence[str], Mapping[str, str]]] = []
        self.fails: Exception | None = None

    def open(self, _answer_within: timedelta) -> Store:
        return open_store(f"sqlite:{self.directory}/once.db", clock=SystemClock(), state_dir=str(self.directory))

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str], tail: int) -> Command:
        assert tail == 16384
        if self.fails is not None:
            raise self.fails
        self.spawned.append((argv, env))
        return self.command

    def ports(self) -> Ports:
        return Ports(
            open_store=self.open,
            clock=self.clock,
            spawn=self.spawn,
            arrivals=self.arrivals,
            journal=Journal(str(self.directory / "journal")),
            voice=Voice("once lock", "t", quiet=True),
        )

    def serve(self, store: Store | None = None, **changes: object) -> int:
        start = start_of(self.claim).replaced(**changes)
        return Tenure(start, self.ports(), store or self.store, self.admitted).serve()

    def run(self) -> Run:
        (run,) = self.store.runs("t")
        return run


def start_of(wanted: Claim, environ: Mapping[str, str] | None = None) -> Start:
    return Start(
        argv=("true",),
        claim=wanted,
        fired=Fired(wanted.wish.fired_at, 0.0),
        environ=environ or {},
        patience=Patience(timedelta(minutes=1)),
    )


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    one = Scene(tmp_path)
    yield one
    one.store.close()


def test_a_command_is_run_and_its_end_recorded(scene: Scene) -> None:
    """The usual case."""
    status = scene.serve()

    assert status == 0
    assert [argv for argv, _env in scene.spawned] == [("true",)]
    assert scene.run().outcome is Outcome.SUCCEEDED


def test_a_signal_before_the_spawn_stops_the_run(scene: Scene) -> None:
    """128+n; nothing was started, and another start may take the slot."""
    scene.arrivals.only_note()
    scene.arrivals._arrived(15, None)
    status = scene.serve()

    assert status == 143
    assert scene.spawned == []
    assert scene.run().outcome is Outcome.STOPPED


@pytest.mark.parametrize(
    ("failure", "raised", "outcome", "status"),
    [
        (CommandNotFound(command="true", what="command (PATH is /bin)"), CommandNotFound, Outcome.FAILED, 127),
        (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), CannotStart, Outcome.STOPPED, None),
    ],
)
def test_what_keeps_the_command_from_starting_is_recorded(
    scene: Scene, failure: Exception, raised: type[Exception], outcome: Outcome, status: int | None
) -> None:
    """A command that is not there has failed; a host without processes to spare has used up no attempt."""
    scene.fails = failure
    with pytest.raises(raised):
        scene.serve()

    assert (scene.run().outcome, scene.run().exit_status) == (outcome, status)


def test_a_claim_that_was_answered_late_beats_before_the_spawn(scene: Scene) -> None:
    """A fifth of the lease has gone by since the claim was sent."""
    scene.clock.seconds = 61.0
    scene.command.timeline = [(62.0, Exited(0, 62.0))]
    before = scene.run().beat_at
    store = Unsteady(scene.store)
    scene.serve(store)
    after = scene.run().beat_at

    assert store.asked[0] == "beat"
    assert before is not None
    assert after is not None
    assert after > before


def test_a_claim_that_cannot_be_confirmed_starts_nothing(scene: Scene) -> None:
    """The run is given back: stopped, which uses up no attempt."""
    scene.clock.seconds = 61.0
    with pytest.raises(Unreachable):
        scene.serve(Unsteady(scene.store, "beat"))

    assert scene.spawned == []
    assert scene.run().outcome is Outcome.STOPPED


def test_an_outcome_whose_answer_is_lost_is_recorded_once_and_leaves_the_journal(scene: Scene) -> None:
    """It was on disk for as long as nobody knew."""
    store = Unsteady(scene.store, "finish")
    status = scene.serve(store)

    assert status == 0
    assert store.asked.count("finish") == 2
    assert scene.run().outcome is Outcome.SUCCEEDED
    assert list((scene.directory / "journal").iterdir()) == []


@pytest.mark.parametrize("lasting", [True, False])
def test_an_outcome_that_cannot_be_recorded_waits_on_disk(scene: Scene, *, lasting: bool) -> None:
    """On a host it is left there after a while; where nothing lasts the database is tried on."""
    store = Unsteady(scene.store, *["finish"] * 30)
    status = scene.serve(store, lasting=lasting)
    waiting = list((scene.directory / "journal").glob("*.json"))

    assert status == 0
    assert len(waiting) == (1 if lasting else 0)
    assert len(store.losing) == (0 if not lasting else pytest.approx(20, abs=9))


def test_a_journal_that_cannot_be_written_changes_no_status(scene: Scene) -> None:
    """One line tells it."""
    (scene.directory / "journal").touch()
    status = scene.serve(Unsteady(scene.store, *["finish"] * 1000))

    assert status == 0


@pytest.mark.parametrize(("wish", "waits"), [({}, False), ({"catches_up": True}, True), ({"rerun": True}, True)])
def test_whoever_may_fork_again_waits_for_the_keepers_end(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, *, wish: dict[str, bool], waits: bool
) -> None:
    """A beat that hangs would live beside the next slot's fork; who exits does not wait for it."""
    waited: list[Keeper] = []

    def wait_for_end(keeper: Keeper) -> None:
        waited.append(keeper)

    monkeypatch.setattr(Keeper, "wait_for_end", wait_for_end)
    scene.serve(claim=scene.claim.replaced(wish=scene.claim.wish.replaced(**wish)))

    assert bool(waited) is waits


def test_of_an_unguarded_run_a_database_that_stays_away_is_asked_once(scene: Scene) -> None:
    """It was waited for before the command began."""
    store = Unsteady(scene.store, *["record_unguarded"] * 10)
    away = Unreachable(store="db1/ops", why="no answer")
    status = Unguarded(start_of(scene.claim), scene.ports(), store).serve(away)

    assert status == 0
    assert store.asked.count("record_unguarded") == 1
    assert len(list((scene.directory / "journal").glob("*.json"))) == 1


def test_what_an_outer_once_has_set_is_not_handed_on(scene: Scene) -> None:
    """A lock inside a scheduled run has no slot."""
    outer = {"ONCE_SLOT": "x", "ONCE_SLOT_EPOCH": "1", "ONCE_PREVIOUS_SUCCESS": "x", "ONCE_TASK": "outer", "A": "b"}
    found = command_environ(
        start_of(scene.claim, outer),
        number=scene.admitted.hold.number,
        attempt=scene.admitted.attempt,
        previous_success=scene.admitted.facts.previous_success,
    )

    assert found == {"A": "b", "ONCE_TASK": "t", "ONCE_RUN": "1", "ONCE_ATTEMPT": "1"}
