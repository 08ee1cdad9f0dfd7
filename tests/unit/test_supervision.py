"""What is done to a command while it runs, second by second."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from once.command import Event, Exited, Limits, PastLease, Signalled
from once.errors import RightsMissing
from once.run import Outcome
from once.store.base import Beat
from once.supervision import LONGEST_FREEZE, Supervision, Watched
from once.voice import Voice
from tests.unit.fakes import FakeClock, FakeCommand, FakeKeeper

TERM, INT = signal.SIGTERM, signal.SIGINT
TRUST_ENDS = 98.0
"""Of a lease of 100 s that was sent at second 0: 2 % of it are kept back."""


@dataclass
class Stage:
    clock: FakeClock
    keeper: FakeKeeper
    command: FakeCommand

    def watch(self, *timeline: tuple[float, Event | Callable[[], None]], **limits: object) -> Watched:
        self.command.timeline = list(timeline)
        voice = Voice("once run", "t", quiet=True)
        return Supervision(self.command, self.keeper, Limits(**limits), clock=self.clock, voice=voice).watch()  # type: ignore[arg-type]


@pytest.fixture
def stage() -> Stage:
    clock = FakeClock()
    return Stage(clock, FakeKeeper(clock), FakeCommand(clock))


def exited(at: float, status: int = 0) -> tuple[float, Event]:
    return at, Exited(status << 8, at)


def test_a_command_within_its_lease_is_left_alone(stage: Stage) -> None:
    """Nothing is done to a command that ends in time."""
    watched = stage.watch(exited(90))

    assert watched == Watched(Exited(0, 90))
    assert stage.command.done == []


def test_every_signal_is_forwarded_every_time(stage: Stage) -> None:
    """A second Ctrl-C counts as much as the first."""
    stage.watch((1, Signalled(INT)), (2, Signalled(signal.SIGUSR1)), (3, Signalled(INT)), exited(4))

    assert stage.command.done == [(1, "signal 2"), (2, "signal 10"), (3, "signal 2")]


def test_the_first_signal_that_asks_to_stop_is_the_cause(stage: Stage) -> None:
    """USR1 asks for nothing, the HUP after a TERM changes nothing."""
    watched = stage.watch(
        (1, Signalled(signal.SIGUSR1)), (2, Signalled(TERM)), (3, Signalled(signal.SIGHUP)), exited(4)
    )

    assert watched.stopped_by == TERM


def test_term_is_followed_by_kill_after_the_grace(stage: Stage) -> None:
    """A pod's row is written before the kubelet loses its patience."""
    watched = stage.watch((2, Signalled(TERM)), kill_after=timedelta(seconds=5))

    assert stage.command.done == [(2, "signal 15"), (7, "kill")]
    assert watched.needed_kill


def test_ctrl_c_is_not_followed_by_kill(stage: Stage) -> None:
    """An interactive command may use Ctrl-C for something else, and go on for as long as it likes."""
    stage.watch((2, Signalled(INT)), exited(60))

    assert stage.command.done == [(2, "signal 2")]


def test_the_time_limit_sends_its_signal_and_then_kills(stage: Stage) -> None:
    """--timeout, --stop-signal and --kill-after."""
    watched = stage.watch(timeout=timedelta(seconds=30), kill_after=timedelta(seconds=3), stop_signal=INT)

    assert stage.command.done == [(30, "signal 2"), (33, "kill")]
    assert watched.timed_out and watched.needed_kill


def test_what_a_timed_out_command_leaves_in_its_group_is_killed_after_the_grace(stage: Stage) -> None:
    """The time limit is the group's."""
    stage.command.leaves_behind = True
    stage.watch(exited(31, 143), timeout=timedelta(seconds=30), kill_after=timedelta(seconds=3))

    assert stage.command.done == [(30, "signal 15"), (pytest.approx(33, abs=0.2), "kill")]


@pytest.mark.parametrize(("taken", "killed_at"), [(False, TRUST_ENDS), (True, 40)])
def test_what_a_stopped_command_leaves_behind_does_no_work_past_the_lease(
    stage: Stage, taken: bool, killed_at: float
) -> None:
    """However long the grace: another host may be at work."""

    def take() -> None:
        stage.keeper.gone = Beat(ours=False, outcome=Outcome.LOST, reason="its lease had ended")

    stage.command.leaves_behind = True
    events = [exited(31, 143), *([(40, take)] if taken else [])]
    stage.watch(*events, timeout=timedelta(seconds=30), kill_after=timedelta(hours=1))

    assert stage.command.done == [(30, "signal 15"), (pytest.approx(killed_at, abs=0.2), "kill")]


def test_what_a_successful_command_leaves_behind_is_left_alone(stage: Stage) -> None:
    """A job may start a daemon."""
    stage.command.leaves_behind = True
    stage.watch(exited(5))

    assert stage.command.done == []


def test_at_the_end_of_trust_the_command_is_frozen_and_the_database_asked(stage: Stage) -> None:
    """It is thawed when the answer is that the lease is still ours."""
    stage.watch((150, stage.keeper.hears_it_is_ours), exited(160))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (150, "thaw")]
    assert stage.keeper.asked == 1


@pytest.mark.parametrize(("status", "done"), [(9, "kill"), (0, "thaw")])
def test_what_a_command_leaves_behind_does_not_stay_frozen(stage: Stage, status: int, done: str) -> None:
    """Somebody's SIGKILL has ended the command: nobody asks for the rest any more. Or it had just succeeded."""
    stage.command.leaves_behind = True
    stage.watch(exited(110, status))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (110, done)]


def test_a_command_that_took_longer_to_start_than_its_lease_is_frozen_at_once(stage: Stage) -> None:
    """A file server was away while the command was executed; another host may be at work since."""
    stage.clock.seconds = 150.0
    stage.watch(exited(151))

    assert stage.command.done == [(150, "freeze")]


def test_a_beat_in_time_prevents_the_freeze(stage: Stage) -> None:
    """Each answered beat moves the end of trust."""
    stage.watch((80, stage.keeper.hears_it_is_ours), exited(170))

    assert stage.command.done == []


def test_a_command_whose_run_was_taken_is_killed(stage: Stage) -> None:
    """Frozen or not: two must never work at once."""

    def taken() -> None:
        stage.keeper.gone = Beat(False, Outcome.LOST, "lease ended, found by run 8")

    watched = stage.watch((150, taken))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (150, "kill")]
    assert watched.lost == "lease ended, found by run 8"
    assert watched.killed_as_lost


def test_a_command_that_ended_by_itself_was_not_killed_for_its_lease() -> None:
    """Its own status is the truth, though the lease was lost a moment before."""
    watched = Watched(Exited(3 << 8, 1.0), lost="lease ended")

    assert not watched.killed_as_lost


def test_a_request_to_stop_while_frozen_is_a_kill(stage: Stage) -> None:
    """A stopped process would not see the signal before it is let go, past its lease."""
    watched = stage.watch((120, Signalled(TERM)))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (120, "kill")]
    assert watched.stopped_by == TERM


def asks(stage: Stage) -> Callable[[], None]:
    def ask() -> None:
        stage.keeper.stop_asked = "replaced by slot 2026-11-27T17:00:00Z"

    return ask


def test_a_run_that_is_asked_to_stop_is_stopped_once(stage: Stage) -> None:
    """By the signal that --timeout would send, and by KILL in the end; the limit counts no more."""
    limits = {"kill_after": timedelta(seconds=5), "timeout": timedelta(seconds=32)}
    watched = stage.watch((30, asks(stage)), (31, asks(stage)), stop_signal=INT, **limits)

    assert stage.command.done == [(30, "signal 2"), (35, "kill")]
    assert (watched.cancelled, watched.timed_out) == ("replaced by slot 2026-11-27T17:00:00Z", False)


def test_a_request_that_is_heard_while_frozen_is_a_kill(stage: Stage) -> None:
    """The beat that brings it may bring no trust: the lease may have ended again."""
    watched = stage.watch((120, asks(stage)))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (120, "kill")]
    assert watched.cancelled is not None


def test_a_time_limit_that_ends_while_frozen_is_a_kill(stage: Stage) -> None:
    """The same for --timeout."""
    watched = stage.watch(timeout=timedelta(seconds=110))

    assert stage.command.done == [(TRUST_ENDS, "freeze"), (110, "kill")]
    assert watched.timed_out


def test_a_frozen_command_is_given_up_after_an_hour(stage: Stage) -> None:
    """Nobody answers any more, and somebody else may have started long ago."""
    watched = stage.watch()

    assert stage.command.done[1] == (pytest.approx(TRUST_ENDS + LONGEST_FREEZE, abs=2), "kill")
    assert watched.lost == "the lease could not be extended for an hour"


def test_past_lease_continue_neither_freezes_nor_kills(stage: Stage) -> None:
    """The operator has said that the job may double."""

    def taken() -> None:
        stage.keeper.gone = Beat(False, Outcome.LOST, "taken")

    watched = stage.watch((150, taken), exited(200, 4), past_lease=PastLease.CONTINUE)

    assert stage.command.done == []
    assert not watched.killed_as_lost


RIGHTS_MISSING = RightsMissing(role="cron", what="use table once.run", store="db1/ops", repair="once init --grant cron")


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (None, "(the database does not answer)"),
        (RIGHTS_MISSING, "(Role cron may not use table once.run in db1/ops)"),
        (ValueError("s3cret"), "(ValueError)"),
    ],
)
def test_the_freeze_says_why_the_lease_is_not_extended(
    stage: Stage, capfd: pytest.CaptureFixture[str], trouble: Exception | None, said: str
) -> None:
    """A revoked right is no silence; and what is no error of ours may quote anything."""
    stage.keeper.trouble = trouble
    stage.command.timeline = [exited(150)]
    voice = Voice("once run", "t")
    Supervision(stage.command, stage.keeper, Limits(), clock=stage.clock, voice=voice).watch()
    told = "the lease has ended and is not extended"

    assert capfd.readouterr().err == f"once run: t: {told} {said}: the command is frozen until it is\n"


def test_a_run_that_is_given_up_says_why_its_lease_was_not_extended(stage: Stage) -> None:
    """The reason goes into the row and beside the status."""
    stage.keeper.trouble = RIGHTS_MISSING
    watched = stage.watch()

    assert watched.lost == f"the lease could not be extended for an hour ({RIGHTS_MISSING.message})"
