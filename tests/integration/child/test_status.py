"""The command's end is reported as it was, whoever else is reaping or ignoring."""

from __future__ import annotations

import shutil

import pytest

from tests.integration.child.conftest import Supervise


@pytest.mark.parametrize("status", [0, 7, 255])
def test_the_exit_status_is_the_commands(supervise: Supervise, status: int) -> None:
    """Whatever the command exits with is what the wrapper exits with."""
    seen = supervise("sh", "-c", f"exit {status}").end()

    assert (seen["exit"], seen["status"], seen["signal"]) == (status, status, None)


@pytest.mark.parametrize("signum", [15, 9, 11])
def test_a_death_by_a_signal_is_128_and_its_number(supervise: Supervise, signum: int) -> None:
    """TERM, KILL and SEGV are told apart from exits, as a shell does."""
    seen = supervise("sh", "-c", f"kill -{signum} $$").end()

    assert (seen["exit"], seen["signal"]) == (128 + signum, signum)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash hands an ignored SIGCHLD on, other shells do not")
def test_an_inherited_ignored_sigchld_loses_no_status(supervise: Supervise) -> None:
    """The kernel throws statuses away where SIGCHLD is ignored; so it must not stay so."""
    seen = supervise("sh", "-c", "exit 7", before=["bash", "-c", "trap '' CHLD; exec \"$@\"", "bash"]).end()

    assert seen["exit"] == 7


def test_a_status_that_somebody_else_has_taken_is_no_success(supervise: Supervise) -> None:
    """Nobody should call waitpid for it; if somebody does, the wait ends, and not with 0."""
    seen = supervise("true", options=["--steal"]).end()

    assert seen["exit"] == 125
