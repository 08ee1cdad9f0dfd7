"""One claim's story on a real store whose answers get lost: what becomes of the attempts, and of the status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from once.clock import SystemClock
from once.command import Command, Exited
from once.entry import NOT_CLAIMED, Entry
from once.errors import Unreachable
from once.journal import Journal
from once.run import Ending, Hold, Line, Outcome, Slot
from once.signals import Arrivals
from once.start import Ports
from once.store.base import Store
from once.store.connect import open_store
from once.turn import Turn
from once.voice import Voice
from tests.integration.test_admission import Pausing, Unsteady, claim
from tests.integration.test_tenure import start_of
from tests.unit.fakes import FakeCommand

NOON = Slot(datetime(2026, 11, 27, 12, tzinfo=UTC), "2026-11-27T12:00", 0)


class Scene:
    """A start with several attempts, each of whose commands ends with the next of these statuses."""

    def __init__(self, directory: Path, *statuses: int) -> None:
        self.directory, self.statuses = directory, list(statuses)
        self.clock = Pausing()
        self.store = self.open(timedelta())

    def open(self, _answer_within: timedelta) -> Store:
        return open_store(f"sqlite:{self.directory}/once.db", clock=SystemClock(), state_dir=str(self.directory))

    def spawn(self, _argv: Sequence[str], *, env: Mapping[str, str], tail: int) -> Command:
        del env, tail
        now = self.clock.boottime()
        return FakeCommand(self.clock, [(now, Exited(self.statuses.pop(0) << 8, now))])

    def take(self, store: Any, *, attempts: int = 1, journal: Journal | None = None, **changes: object) -> int:
        wanted = claim()
        wish = wanted.wish.replaced(slot=NOON.at, attempts=attempts)
        wanted = wanted.replaced(slot=NOON, line=Line("0 12 * * *", "UTC"), wish=wish)
        ports = Ports(
            open_store=self.open,
            clock=self.clock,
            spawn=self.spawn,
            arrivals=Arrivals(),
            journal=journal or Journal(str(self.directory / "journal")),
            voice=Voice("once lock", "t"),
        )
        return Turn(start_of(wanted).replaced(**changes), ports, store).take()

    def outcomes(self) -> list[tuple[Outcome, int | None]]:
        """Of the runs, oldest first."""
        return [(run.outcome, run.exit_status) for run in reversed(list(self.store.runs("t")))]


def test_a_failure_whose_record_was_answered_late_is_repeated(tmp_path: Path) -> None:
    """The row says that its holder will, so nobody else does."""
    scene = Scene(tmp_path, 3, 0)
    status = scene.take(Unsteady(scene.store, "finish"), attempts=2)

    assert status == 0
    assert scene.outcomes() == [(Outcome.FAILED, 3), (Outcome.SUCCEEDED, 0)]


def test_a_next_attempt_that_cannot_be_claimed_leaves_the_status_to_the_last_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """75 and `NOT run` would say that nothing was run."""

    class GoneAfterTheEnd(Unsteady):
        """Is out of reach as soon as it has recorded an end."""

        def look(self, *asked: Any) -> Any:
            if "finish" in self.asked:
                raise Unreachable(store="the store", why="no answer")
            return self._store.look(*asked)

    scene = Scene(tmp_path, 3)
    status = scene.take(GoneAfterTheEnd(scene.store), attempts=2)

    assert status == 3
    assert scene.outcomes() == [(Outcome.FAILED, 3)]
    assert capfd.readouterr().err == (
        "once lock: t: status 3; the next attempt was NOT begun: the store is out of reach: no answer\n"
    )


def test_an_unguarded_run_that_ends_while_another_start_asks_is_not_repeated(tmp_path: Path) -> None:
    """What has run is asked for once nobody else of this host can run it any more."""

    class EndsMeanwhile(Journal):
        """The other one writes its outcome down and is gone, just before this one may go on."""

        def hold_alone(self, task: str) -> bool:
            ending = Ending(Outcome.SUCCEEDED, NOON.at, exit_status=0)
            self.keep(Entry("", "the store", Hold(task, NOT_CLAIMED, "other"), ending, slot=NOON.at))
            return super().hold_alone(task)

    scene = Scene(tmp_path, 0)
    away = Unsteady(scene.store, *["look"] * 1000)
    status = scene.take(away, journal=EndsMeanwhile(str(tmp_path / "journal")), runs_unguarded=True, skip_code=9)

    assert (status, scene.statuses) == (9, [0])
