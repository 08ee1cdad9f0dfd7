"""What waits on disk, delivered to a real store: whatever is wrong with one outcome, no start and no other one pays."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from once.clock import SystemClock
from once.entry import NOT_CLAIMED, Entry
from once.errors import Busy
from once.journal import Journal
from once.recording import Recorder
from once.run import Ending, Hold, Outcome
from once.store.base import Claim, Recorded, Store
from once.store.connect import open_store
from once.voice import Voice
from tests.integration.test_admission import Unsteady, claim
from tests.unit.fakes import FakeClock


@pytest.fixture
def real(tmp_path: Path) -> Store:
    store = open_store(f"sqlite:{tmp_path}/once.db", clock=SystemClock(), state_dir=tmp_path)
    yield store
    store.close()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "journal"))


def ending(seconds: int = 0) -> Ending:
    """A failure; what ended later is delivered later."""
    return Ending(Outcome.FAILED, SystemClock().now() + timedelta(seconds=seconds), exit_status=3)


def entry_of(store: Store, hold: Hold, *, unguarded: Claim | None = None, seconds: int = 0) -> Entry:
    return Entry("" if unguarded else store.identity(), store.name, hold, ending(seconds), unguarded)


def files(journal: Journal) -> list[str]:
    """The kinds of files that are there."""
    return sorted(Path(name).suffix for name in os.listdir(journal.directory))


def test_two_starts_set_aside_the_same_outcome_at_once(real: Store, journal: Journal) -> None:
    """The slower one finds the file gone: a start must not fail for that, and one of them tells of it."""
    told = []
    journal.keep(entry_of(real, Hold("t", 7, "nobody's")))

    class Beside(Unsteady):
        """Another start delivers while this one is being answered."""

        def finish(self, *asked: Any) -> Recorded:
            answer = real.finish(*asked)
            told.append(journal.deliver(real, clock=SystemClock()))
            return answer

    told.append(journal.deliver(Beside(real), clock=SystemClock()))

    assert [len(delivery.unknown) for delivery in told] == [1, 0]
    assert files(journal) == [".unknown"]


def test_an_outcome_that_cannot_be_removed_is_recorded_all_the_same(
    real: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that failed is read-only from then on; the database is not to blame."""
    hold = real.claim(claim()).hold
    assert hold is not None
    journal.keep(entry_of(real, hold))

    def refuse(_path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "unlink", refuse)
    deliveries = [journal.deliver(real, clock=SystemClock()) for _ in range(2)]

    assert [len(delivery.recorded) for delivery in deliveries] == [1, 1]
    assert [run.outcome for run in real.runs("t")] == [Outcome.FAILED]


def test_a_task_that_is_known_in_another_spelling_holds_nothing_up(real: Store, journal: Journal) -> None:
    """Nobody could be asked when it ran unguarded, and it will be refused whenever it is told."""
    hold = real.claim(claim("Report")).hold
    assert hold is not None
    unguarded = claim("report")
    journal.keep(entry_of(real, Hold("report", NOT_CLAIMED, unguarded.token), unguarded=unguarded))
    journal.keep(entry_of(real, hold, seconds=1))
    delivery = journal.deliver(real, clock=SystemClock())

    assert ([entry.hold.task for entry in delivery.unknown], [entry.hold for entry in delivery.recorded]) == (
        ["report"],
        [hold],
    )
    assert files(journal) == [".unknown"]


def test_what_another_transaction_holds_up_is_left_for_the_next_start(real: Store, journal: Journal) -> None:
    """The start may be of another task; whoever asks for the delivery is told."""
    late, other = (real.claim(claim(task)).hold for task in ("late", "other"))
    assert late is not None and other is not None
    for seconds, hold in enumerate((late, other)):
        journal.keep(entry_of(real, hold, seconds=seconds))

    class Locked(Unsteady):
        """Somebody has locked the first one's task."""

        def finish(self, hold: Hold, *asked: Any) -> Recorded:
            if hold == late:
                raise Busy(store="the store", why="another transaction holds what this needs")
            return real.finish(hold, *asked)

    delivery = journal.deliver(Locked(real), clock=SystemClock(), within=timedelta(minutes=1))
    with pytest.raises(Busy):
        journal.deliver(Locked(real), clock=SystemClock())

    assert [entry.hold for entry in delivery.recorded] == [other]
    assert [entry.hold for entry in journal.entries()] == [late]


def test_an_outcome_that_the_store_does_not_know_stays_on_disk(real: Store, journal: Journal) -> None:
    """It may be all that is left of the run."""
    recorder = Recorder(
        store=Unsteady(real, "finish"),
        identity=real.identity(),
        journal=journal,
        clock=FakeClock(),
        voice=Voice("once run", "t", quiet=True),
        lasting=True,
    )

    assert recorder.record(Hold("t", 7, "nobody's"), ending()) is Recorded.UNKNOWN
    assert journal.waiting() == 1
