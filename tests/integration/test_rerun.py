"""`once rerun` on a real SQLite file: what runs, what is asked, exact text, and what the record says of it."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from once import host
from once.clock import SystemClock
from once.run import Holder, Line, Outcome, Run
from once.store.connect import open_store
from tests.integration.conftest import BY, DAY, Once, Record, items

Ask = Callable[..., tuple[int, str]]

CTRL_C = b"\x03"
ONCE = Path(sys.executable).with_name("once")
TELL = ("sh", "-c", 'echo "slot $ONCE_SLOT run $ONCE_RUN attempt $ONCE_ATTEMPT since ${ONCE_PREVIOUS_SUCCESS:-ever}"')
HERE = f"it runs here, on {os.uname().nodename} as {host.user_name()}, in {os.getcwd()}, with this environment"
UNCLEAR = (
    "once rerun takes one slot, or --missed with a time since when."
    " Try: once rerun TASK --slot WHEN, or once rerun TASK --missed [--since WHEN]"
)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Its newest slot is one or two hours ago: what runs, runs now."""
    return Record(tmp_path, datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1))


def at(record: Record, back: int = 0) -> str:
    """A slot as it is written."""
    return f"{record.slot(back).at:%Y-%m-%dT%H:%M:%SZ}"


def shown(record: Record, back: int = 0) -> str:
    """A slot as it is shown."""
    return f"{record.slot(back).at:%Y-%m-%d %H:%M} UTC ({at(record, back)})"


def newest(record: Record) -> Run:
    """The run that came last."""
    return next(iter(record.store.runs("report", limit=1)))


def numbers(record: Record) -> list[int]:
    """All runs, oldest first."""
    return sorted(run.number for run in record.store.runs("report"))


class TestASlot:
    """Its next attempt."""

    def test_the_recorded_command_is_run(self, record: Record, once: Once) -> None:
        """With the slot in its environment, and what there was before."""
        record.run(1, command=TELL)
        record.run(0, status=3, command=TELL)
        told = once("rerun", "report", "--slot", "last", "--yes")
        run = newest(record)

        assert told == (0, f"slot {at(record)} run 3 attempt 2 since {at(record, 1)}\n", "")
        assert (run.outcome, run.attempt, run.by_hand, run.command) == (Outcome.SUCCEEDED, 2, True, TELL)

    def test_its_command_is_found_behind_any_number_of_excuses(self, record: Record, once: Once) -> None:
        """Those are rows, and no starts."""
        record.line = Line("0 * * * *", "UTC")
        record.run(0, status=3, command=TELL)
        coming = f"{datetime.now(UTC) + 60 * DAY:%Y-%m-%dT%H:%M:%SZ}"
        assert once("excuse", "report", "--since", "1m", "--until", coming)[0] == 0
        status, _, err = once("rerun", "report", "--slot", at(record), "--yes")

        assert (status, err) == (0, "")
        assert len(numbers(record)) > 1400

    def test_its_status_is_the_commands(self, record: Record, once: Once) -> None:
        """As `once run` has it."""
        record.run(0, status=3, command=("sh", "-c", "exit 7"))

        assert once("rerun", "report", "--slot", "last", "--yes") == (7, "", "")

    def test_the_command_that_is_given_is_run_instead(self, record: Record, once: Once) -> None:
        """The next rerun still repeats the crontab's."""
        record.run(0, status=3, command=TELL)

        assert once("rerun", "report", "--slot", "last", "--yes", "--", "sh", "-c", "echo mine; false")[1] == "mine\n"
        assert once("rerun", "report", "--slot", "last", "--yes")[1] == (
            f"slot {at(record)} run 3 attempt 3 since ever\n"
        )

    def test_a_slot_that_has_succeeded_is_not_run(self, record: Record, once: Once) -> None:
        """It is done; that is no failure."""
        record.run(0, command=TELL)
        status, out, err = once("rerun", "report", "--slot", "last", "--yes")

        assert (status, out) == (0, "")
        assert err == (
            f"once rerun: report: slot {shown(record)} is done: run 1 succeeded on h1; --again runs it all the same\n"
        )
        assert numbers(record) == [1]

    def test_but_again(self, record: Record, once: Once) -> None:
        """An operator's word."""
        record.run(0, command=TELL)
        told = once("rerun", "report", "--slot", "last", "--yes", "--again")

        assert told == (0, f"slot {at(record)} run 2 attempt 2 since ever\n", "")

    def test_an_excused_slot_is_run(self, record: Record, once: Once) -> None:
        """After all."""
        record.run(1, command=TELL)
        once("excuse", "report", "--slot", at(record))

        assert once("rerun", "report", "--slot", at(record), "--yes")[1].startswith(f"slot {at(record)} run 3 ")

    def test_neither_a_pause_nor_retirement_is_in_the_way(self, record: Record, once: Once) -> None:
        """They are about the crontab's starts."""
        record.run(0, status=3, command=TELL)
        once("pause", "--all")
        once("retire", "report")

        assert once("rerun", "report", "--slot", "last", "--yes")[0] == 0
        assert newest(record).outcome is Outcome.SUCCEEDED

    def test_a_run_that_is_alive_is(self, record: Record, once: Once) -> None:
        """Nothing is run, and a later try may succeed."""
        record.run(1, command=TELL)
        store = open_store(record.address, clock=SystemClock(), state_dir="/nowhere")
        now = datetime.now(UTC)
        store.claim(record.claim(None, wish=record.claim(None).wish.replaced(fired_at=now)))
        store.close()
        status, out, err = once("rerun", "report", "--slot", "last", "--yes")

        assert (status, out) == (75, "")
        assert err == (f"once rerun: report: slot {shown(record)} skipped: another run is alive, run 2 running on h1\n")
        assert numbers(record) == [1, 2]

    def test_without_a_slot_it_uses_up_none(self, record: Record, once: Once) -> None:
        """Today's slot is still to be run."""
        record.run(1, command=TELL)

        assert once("rerun", "report", "--yes") == (0, f"slot  run 2 attempt 1 since {at(record, 1)}\n", "")
        assert newest(record).slot is None

    def test_a_task_of_once_lock_has_runs_without_a_slot_alone(self, record: Record, once: Once) -> None:
        """They can be repeated."""
        record.run(None, command=TELL)

        assert once("rerun", "report", "--yes")[:2] == (0, "slot  run 2 attempt 1 since ever\n")


class TestMissed:
    """Every slot that the gaps list."""

    @pytest.fixture(autouse=True)
    def gappy(self, record: Record) -> None:
        """Three slots ago it failed, two and one ago nobody started it."""
        record.run(4, command=TELL)
        record.run(3, status=3, command=TELL)
        record.run(0, command=TELL)

    def test_oldest_first(self, record: Record, once: Once) -> None:
        """Each knows the success before it."""
        status, out, err = once("rerun", "report", "--missed", "--yes")

        assert (status, err) == (0, "")
        assert out.splitlines() == [
            f"slot {at(record, 3)} run 4 attempt 2 since {at(record, 4)}",
            f"slot {at(record, 2)} run 5 attempt 1 since {at(record, 3)}",
            f"slot {at(record, 1)} run 6 attempt 1 since {at(record, 2)}",
        ]
        assert once("gaps")[0] == 0

    def test_only_since_then(self, record: Record, once: Once) -> None:
        """The others stay gaps."""
        out = once("rerun", "report", "--missed", "--since", at(record, 1), "--yes")[1]

        assert out == f"slot {at(record, 1)} run 4 attempt 1 since {at(record, 4)}\n"

    def test_the_first_failure_ends_it(self, record: Record, once: Once) -> None:
        """What failed once may be what the others need."""
        script = f"echo $ONCE_SLOT; test $ONCE_SLOT != {at(record, 2)} || exit 9"
        told = once("rerun", "report", "--missed", "--yes", "--", "sh", "-c", script)

        assert told == (
            9,
            f"{at(record, 3)}\n{at(record, 2)}\n",
            "once rerun: report: NOT run: 1 later slot, after status 9\n",
        )
        assert newest(record).slot == record.slot(2).at

    def test_where_none_was_missed(self, record: Record, once: Once) -> None:
        """It is said, and is no failure; nobody is asked."""
        told = once("rerun", "report", "--missed", "--since", at(record))

        assert told == (0, "", "once rerun: report: no slot was missed\n")

    def test_a_rehearsal_runs_and_asks_nothing(self, record: Record, once: Once) -> None:
        """A line a slot."""
        status, out, err = once("rerun", "report", "--missed", "--since", at(record, 2), "--dry-run")

        assert (status, out) == (0, "")
        assert err.splitlines() == [
            f"once rerun: report: would run slot {shown(record, 2)}, attempt 1",
            f"once rerun: report: would run slot {shown(record, 1)}, attempt 1",
        ]
        assert numbers(record) == [1, 2, 3]


class TestRecord:
    """Who did it, and why."""

    def test_the_history_tells_it(self, record: Record, once: Once) -> None:
        """In the table of runs, and of the run."""
        record.run(0, status=3, command=TELL)
        once("rerun", "report", "--slot", "last", "--yes", "--reason", "the disk was full")
        table, run = once("runs", "report")[1].splitlines(), once("show", "report")[1]
        event = f"rerun run 2 slot {record.slot().at:%Y-%m-%d %H:%M}:00+00:00 {BY}: the disk was full"

        assert table[1].endswith("  by hand")
        assert table[-2] == "By hand, newest first:"
        assert table[-1].endswith(f"  {event}")
        assert f"  {event}\n" in run

    def test_programs_are_told_it(self, record: Record, once: Once) -> None:
        """The run is marked, and has its event."""
        record.run(0, status=3, command=TELL)
        once("rerun", "report", "--slot", "last", "--yes")
        (run,) = items(once("show", "report", "--json"))
        (event,) = run["events"]

        assert [one["by_hand"] for one in items(once("runs", "report", "--json"))] == [True, False]
        assert (event["what"], event["run"], event["slot"]) == ("rerun", 2, at(record))

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root's word is taken for who stands behind sudo")
    def test_the_login_is_the_one_behind_sudo(
        self, record: Record, once: Once, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The run is still root's."""
        record.run(0, status=3, command=TELL)
        monkeypatch.setenv("SUDO_USER", "ann")
        once("rerun", "report", "--slot", "last", "--yes")

        assert [event.login for event in record.store.events("report", since=record.slot().at)] == ["ann"]
        assert newest(record).user == host.user_name()


class TestRefusals:
    """In one line, with status 125, and nothing is run."""

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            pytest.param(("report", "--slot", "last", "--missed"), UNCLEAR, id="slot and missed"),
            pytest.param(("report", "--since", "7d"), UNCLEAR, id="since without missed"),
            pytest.param(
                ("nobody", "--slot", "last"), "No such task: nobody. Try: once status lists them all", id="no such task"
            ),
            pytest.param(
                ("deploy", "--slot", "last"),
                "Task deploy has no schedule: it was only ever run by once lock."
                ' Try: once next "0 17 * * 5", with the expression that you want to know about',
                id="no schedule",
            ),
            pytest.param((), "Missing argument 'TASK'. Try: once rerun --help", id="no task"),
        ],
    )
    def test_of_what_is_unclear(self, record: Record, once: Once, arguments: tuple[str, ...], error: str) -> None:
        """Which slots, of which task."""
        record.run(0, status=3, command=TELL)
        record.run(None, task="deploy", command=TELL)

        assert once("rerun", *arguments, "--yes") == (125, "", f"once rerun: NOT run: {error}\n")
        assert numbers(record) == [1]

    def test_of_a_slot_of_the_future(self, record: Record, once: Once) -> None:
        """Its own start would find it done."""
        record.run(0, status=3, command=TELL)
        status, out, err = once("rerun", "report", "--slot", at(record, -1), "--yes")

        assert (status, out) == (125, "")
        assert err == (
            f"once rerun: NOT run: Slot {at(record, -1)} is in the future: if it ran now, its own start would find it"
            " done. Try: --slot last, or no --slot\n"
        )

    def test_of_what_is_no_slot(self, record: Record, once: Once) -> None:
        """The nearest are named."""
        record.run(0, status=3, command=TELL)
        between = f"{record.slot(1).at + DAY / 2:%Y-%m-%dT%H:%M:%SZ}"
        status, _, err = once("rerun", "report", "--slot", between, "--yes")

        assert status == 125
        assert err.endswith(f"the nearest are {at(record, 1)} and {at(record)}\n")

    def test_of_a_command_that_is_not_whole(self, record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
        """`record_args = false` keeps the arguments out of the record; the command can be given."""
        schedule = ("--schedule", record.line.expression, "--tz", "UTC", "--slot", "last")
        monkeypatch.setenv("ONCE_RECORD_ARGS", "0")
        once("run", "--task", "report", *schedule, "--", "sh", "-c", "exit 3")
        refusal = "The full command of report is not on record. Try: once rerun report … -- COMMAND"

        assert newest(record).command == ("sh",)
        assert once("rerun", "report", "--slot", "last", "--yes") == (125, "", f"once rerun: NOT run: {refusal}\n")
        assert once("rerun", "report", "--slot", "last", "--yes", "--", *TELL)[0] == 0

    def test_of_another_users_command(self, record: Record, once: Once) -> None:
        """Who may write the record could have put it there; it is shown, and can be given."""
        record.run(0, status=3, command=TELL, holder=Holder("h1", None, None, 42, "mallory"))
        refusal = (
            f"Run 1 was mallory's, this is {host.user_name()}; any writer of the record could have put it there:"
            f" {shlex.join(TELL)}. Try: as mallory, or give the command: once rerun … -- COMMAND"
        )

        assert once("rerun", "report", "--slot", "last", "--yes") == (125, "", f"once rerun: NOT run: {refusal}\n")
        assert numbers(record) == [1]
        assert once("rerun", "report", "--slot", "last", "--yes", "--", "true")[0] == 0

    def test_where_nobody_can_be_asked(self, record: Record, once: Once) -> None:
        """What it would have been is shown."""
        record.run(0, status=3, command=TELL)
        status, out, err = once("rerun", "report", "--slot", "last")

        assert (status, out) == (125, "")
        assert err.splitlines() == [
            f"report: slot {shown(record)}",
            f"command: {shlex.join(TELL)}",
            HERE,
            "once rerun: NOT run: There is no terminal to ask for confirmation. Try: --yes",
        ]
        assert numbers(record) == [1]

    def test_on_a_host_that_is_switched_off(self, record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
        """Not for good."""
        record.run(0, status=3, command=TELL)
        monkeypatch.setenv("ONCE_OFF", "1")

        assert once("rerun", "report", "--slot", "last", "--yes") == (
            75,
            "",
            "once rerun: report: nothing was run: this host is switched off (off = true, or ONCE_OFF)\n",
        )
        assert numbers(record) == [1]

    def test_a_scope_stands_before_the_name(self, record: Record, once: Once, monkeypatch: pytest.MonkeyPatch) -> None:
        """A task of the same name in another scope is another."""
        record.run(0, status=3, command=TELL)
        monkeypatch.setenv("ONCE_SCOPE", "eu")
        refusal = "once rerun: NOT run: No such task: eu/report. Try: once status lists them all\n"

        assert once("rerun", "report", "--slot", "last", "--yes") == (125, "", refusal)


@pytest.mark.skipif(shutil.which("setsid") is None, reason="a terminal of one's own needs setsid(1)")
class TestTheQuestion:
    """At a terminal."""

    @pytest.fixture
    def ask(self, record: Record, tmp_path: Path) -> Ask:
        """Runs `once` at a terminal and presses these keys at its question: its exit status, and what was seen."""
        environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "TERM": "dumb", "XDG_CONFIG_HOME": str(tmp_path)}
        environ |= {"ONCE_DB": record.address, "ONCE_STATE_DIR": str(tmp_path / "state")}

        def at_a_terminal(keys: bytes, *arguments: str) -> tuple[int, str]:
            record.store.close()
            screen, inside = pty.openpty()
            call = ["setsid", "--ctty", "--wait", ONCE, *arguments]
            process = subprocess.Popen(call, stdin=inside, stdout=inside, stderr=inside, env=environ)
            os.close(inside)
            seen = b""
            with suppress(OSError):  # the other end is closed
                while True:
                    if select.select([screen], [], [], 1.0)[0]:
                        seen += os.read(screen, 4096)
                        is_asked = seen.endswith(b"[y/N]: ")
                    else:  # as people do when nothing comes of it: a signal is missed in the instant before the read
                        is_asked = keys == CTRL_C and b"[y/N]: " in seen
                    if is_asked:
                        os.write(screen, keys)
            os.close(screen)
            return process.wait(), seen.decode().replace("\r\n", "\n")

        return at_a_terminal

    def test_yes_runs_it(self, record: Record, ask: Ask) -> None:
        """Slot, command, host, user and directory are shown first."""
        record.run(0, status=3, command=TELL)
        status, seen = ask(b"y\n", "rerun", "report", "--slot", "last")

        assert status == 0
        assert seen.splitlines() == [
            f"report: slot {shown(record)}",
            f"command: {shlex.join(TELL)}",
            HERE,
            "Run it? [y/N]: y",
            f"slot {at(record)} run 2 attempt 2 since ever",
        ]

    def test_several_slots_are_one_question(self, record: Record, ask: Ask) -> None:
        """How many, and from which to which."""
        record.run(3, command=TELL)
        record.run(0, command=TELL)
        seen = ask(b"n\n", "rerun", "report", "--missed")[1]

        assert seen.splitlines()[0] == f"report: 2 slots, slot {shown(record, 2)} to {at(record, 1)}"

    def test_a_pause_is_told(self, record: Record, once: Once, ask: Ask) -> None:
        """By whom and why: it may be the reason not to."""
        record.run(0, status=3, command=TELL)
        once("pause", "report", "--reason", "wrong numbers")
        seen = ask(b"n\n", "rerun", "report")[1]

        assert f"the task is paused {BY}: wrong numbers\n" in seen

    @pytest.mark.parametrize("keys", [b"n\n", b"\n", b"\x04"], ids=["no", "return", "the end of the input"])
    def test_all_else_is_a_no(self, record: Record, ask: Ask, keys: bytes) -> None:
        """Status 125, and nothing is run."""
        record.run(0, status=3, command=TELL)
        status, seen = ask(keys, "rerun", "report")

        assert status == 125
        assert seen.splitlines()[-1] == "once rerun: NOT run: Nobody said yes"
        assert numbers(record) == [1]

    def test_ctrl_c_ends_it(self, record: Record, ask: Ask) -> None:
        """As a signal does before anything was claimed."""
        record.run(0, status=3, command=TELL)
        status, _ = ask(CTRL_C, "rerun", "report")

        assert status == 130
        assert numbers(record) == [1]
