"""README, CONTRIBUTING and Makefile: what they tell the reader to type, set or open is there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from once import settings
from once.run import Ending, Holder, Line, Outcome
from once.schedule import Schedule
from once.store.base import Claim
from once.store.connect import open_store
from once.verdict import Overlap, Wish
from tests.meta.tree import ROOT, SOURCE, commands
from tests.unit.fakes import FakeClock

README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()

BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README, re.MULTILINE | re.DOTALL) + re.findall(
    r"(?:^    .*\n)+", README, re.MULTILINE
)
CALLS = sorted(
    {
        match[1]
        for block in BLOCKS
        for line in block.splitlines()
        if (match := re.match(r"\s*(?:\$ |[\d*/, -]+  )?(once (?:[a-z]+ .*|--version))$", line))
    }
    | set(re.findall(r"`(once [a-z]+ [^`…]*)`", README))
)


@pytest.mark.parametrize("call", CALLS)
def test_every_command_line_parses(call: str) -> None:
    """What is pasted from the README is not refused for its options."""
    verb, *arguments = shlex.split(call)[1:]

    assert commands()[verb].make_context(f"once {verb}", arguments) is not None


def test_the_command_lines_are_found() -> None:
    """The pattern above finds the crontab lines, the shell's and those in a sentence."""
    assert {shlex.split(call)[1] for call in CALLS} >= {"run", "lock", "init", "runs", "show"}


def test_the_first_job_prints_what_is_shown(tmp_path: Path) -> None:
    """The record that the README shows is the one that the reader gets, but for times, host and user."""
    (shown,) = (block for block in BLOCKS if block.startswith("$ once run"))
    environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TZ": "UTC"}
    environ |= {"ONCE_DB": "local", "ONCE_STATE_DIR": str(tmp_path)}
    printed = ""
    for call in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        done = subprocess.run(["sh", "-c", call], env=environ, capture_output=True, text=True, check=True)
        printed += f"$ {call}\n{done.stdout}"

    assert shape_of(printed) == shape_of(shown)


def test_the_reports_print_what_is_shown(tmp_path: Path) -> None:
    """Of such a history: a night that failed, one that was lost, one that was missed, and a sync that was away."""
    (shown,) = (block for block in BLOCKS if block.startswith("$ once gaps"))
    happened(f"sqlite:{tmp_path}/once.db")
    environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TZ": "UTC"}
    environ |= {"ONCE_DB": f"sqlite:{tmp_path}/once.db", "ONCE_STATE_DIR": str(tmp_path)}
    printed = ""
    for call in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        done = subprocess.run(["sh", "-c", call], env=environ, capture_output=True, text=True, check=False)
        printed += f"$ {call}\n{done.stdout}"
        assert done.returncode == 1

    assert shape_of(printed) == shape_of(shown)


class Past(FakeClock):
    """A clock that is set."""

    def now(self) -> datetime:
        return self.time

    def set(self, time: datetime) -> None:
        """It stands still from there on."""
        self.time = time
        self.seconds = time.timestamp()


def happened(address: str) -> None:
    """What the README tells of, at such times of these days."""
    clock = Past()
    store = open_store(address, clock=clock, state_dir="/nowhere")
    now = datetime.now(UTC)
    lost = (now - timedelta(hours=24, minutes=10)).replace(second=0, microsecond=0)
    nightly = Line(f"{lost.minute} {lost.hour} * * *", "UTC")
    sync = Line("*/5 * * * *", "UTC")
    begun = now.replace(minute=now.minute // 5 * 5, second=0, microsecond=0) - timedelta(hours=10)
    starts = [(lost - timedelta(days=2), nightly, 60, 0), (lost - timedelta(days=1), nightly, 60, 1)]
    starts += [(lost, nightly, None, None)]
    starts += [
        (begun + number * timedelta(minutes=5), sync, 320 if number == 110 else 20, 0)
        for number in range(121)
        if not 5 <= number < 105
    ]
    for at, line, seconds, status in sorted(starts, key=lambda start: start[0]):
        clock.set(at + timedelta(seconds=1))
        task, schedule = "nightly" if line is nightly else "sync", Schedule.of(line)
        command = ("/opt/app/report", "--email")
        hold = store.claim(
            Claim(
                task=task,
                token=f"{task} {at}",
                wish=Wish(slot=at, fired_at=clock.now(), overlap=Overlap.ALLOW),
                slot=schedule.slot_of(at),
                line=line,
                lease=timedelta(minutes=5),
                holder=Holder("h1", None, None, 42, "ops"),
                command=command,
                command_hash="c0ffee",
                unbroken_since=schedule.unbroken_since(at, on_time=True),
            )
        ).hold
        if hold is not None and seconds is not None:
            outcome = Outcome.FAILED if status else Outcome.SUCCEEDED
            took = timedelta(seconds=seconds)
            store.finish(hold, Ending(outcome, clock.now() + took, exit_status=status, duration=took))
    store.close()


def shape_of(text: str) -> list[list[str]]:
    """The words of each line, without what differs from host to host and from run to run."""
    text = re.sub(r"(?m)^clock: .*\n", "", text)  # where reading it took a millisecond
    text = re.sub(r"\d+(?:\.\d+)?(?:ms|s)\b", "DURATION", text)
    text = re.sub(rf"\b{re.escape(os.uname().nodename)}\b|\bh1\b", "HOST", text)
    text = re.sub(r"(?m)(?<=user )\S+$", "USER", text)
    return [re.sub(r"\d+", "N", line).split() for line in text.splitlines()]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_is_there(page: str) -> None:
    """`make test` and its like are targets."""
    code = "".join(re.findall(r"`[^`]*`|^    .*$", (ROOT / page).read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z][a-z-]+)", code))
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert {"test", "check"} <= named
    assert named - targets == set()


def test_every_setting_is_in_the_table_and_nothing_else() -> None:
    """The table of settings is the table of the code."""
    shown = re.findall(r"^\| `(\w+)` \| `(ONCE_\w+)` \|", README, re.MULTILINE)

    assert [name for name, _ in shown] == list(settings.READERS)
    assert [variable for _, variable in shown] == [f"ONCE_{name.upper()}" for name, _ in shown]


def test_every_variable_is_read_or_set_somewhere() -> None:
    """A variable that the README names stands in the code."""
    code = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    known = {f"ONCE_{name.upper()}" for name in settings.READERS}
    unknown = [name for name in set(re.findall(r"ONCE_[A-Z_]+", README)) - known if name not in code]

    assert unknown == []


def test_the_statuses_are_those_of_the_manual() -> None:
    """README and once-run(1) list the same statuses."""
    shown = set(re.findall(r"^\| (\d+)\b", README, re.MULTILINE))
    manual = (ROOT / "man" / "once-run.1").read_text().partition(".Sh EXIT STATUS\n")[2].partition("\n.Sh ")[0]

    assert shown == set(re.findall(r"^\.It (\d+)$", manual, re.MULTILINE))


def test_every_link_leads_somewhere() -> None:
    """A file that is linked is there."""
    linked = re.findall(r"\]\((?!https?:)([^)]+)\)", README + CONTRIBUTING)

    assert [link for link in linked if not (ROOT / link).exists()] == []
