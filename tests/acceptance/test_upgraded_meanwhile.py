"""A job of hours, and `once` is upgraded or taken away under it: what its end needs has been loaded before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import once
from tests.acceptance.conftest import Host, MinuteSlot
from tests.acceptance.test_one_slot import run_line


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory with a copy of the package, which goes before the installed one."""
    packages = tmp_path / "packages"
    shutil.copytree(Path(once.__file__).parent, packages / "once")
    return packages


@pytest.mark.parametrize(("status", "outcomes"), [(0, ["succeeded"]), (3, ["failed", "failed"])])
def test_whoever_is_upgraded_while_the_command_runs_changes_nothing(
    host: Host, installed: Path, this_minute: MinuteSlot, status: int, outcomes: list[str]
) -> None:
    """Neither its status nor its record, nor the next attempt."""
    line = run_line(this_minute, "--attempts", "2", "--retry-delay", "0s")
    command = f"rm -rf {installed}; exit {status}"
    ran = host.once(*line, "--", "sh", "-c", command, environ={"PYTHONPATH": str(installed)})

    assert not installed.exists()
    assert (ran.status, ran.err) == (status, "")
    assert [run["outcome"] for run in host.runs("report")] == outcomes
