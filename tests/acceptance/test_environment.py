"""What the command finds, what it does not find, and what `once` does not need."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from once.run import task_name
from tests.acceptance.conftest import ONCE, Host, MinuteSlot
from tests.acceptance.test_one_slot import run_line


def environ_of(out: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in out.decode().splitlines())


def test_the_command_is_told_what_it_is_run_for(host: Host, this_minute: MinuteSlot) -> None:
    """Task, slot in two forms, the fencing token, the attempt."""
    ran = host.once(*run_line(this_minute), "--", "env", environ={"PASSED_ON": "yes"})
    found = environ_of(ran.out)

    assert {
        name: value
        for name, value in found.items()
        if name.startswith("ONCE_") and name not in ("ONCE_DB", "ONCE_STATE_DIR")
    } == {
        "ONCE_TASK": "report",
        "ONCE_SLOT": this_minute.at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ONCE_SLOT_EPOCH": str(int(this_minute.at.timestamp())),
        "ONCE_RUN": "1",
        "ONCE_ATTEMPT": "1",
    }
    assert found["PASSED_ON"] == "yes"


@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "C.UTF-8"}, {"LC_CTYPE": "C", "LANG": "xx_XX"}])
def test_the_commands_locale_is_that_of_the_crontab(lone_host: Host, given: dict[str, str]) -> None:
    """Cron gives none, and the interpreter would hand down one of its own, by which tools sort and cut otherwise."""
    ran = lone_host.once("lock", "--task", "t", "--", "env", environ=given)

    assert {name: value for name, value in environ_of(ran.out).items() if name in ("LC_CTYPE", "LANG")} == given


NAMELESS = """
import ctypes, os, sys
arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
given = [b"=nameless", *(os.fsencode(f"{name}={value}") for name, value in os.environ.items())]
strings = lambda values: (ctypes.c_char_p * (len(values) + 1))(*values)
ctypes.CDLL(None).execve(arguments[0], strings(arguments), strings(given))
"""


def test_a_variable_without_a_name_keeps_nothing_from_running(lone_host: Host) -> None:
    """The kernel takes it, and the interpreter hands it to us but not on."""
    line = [sys.executable, "-c", NAMELESS, str(ONCE), "lock", "--task", "t", "--", "echo", "fine"]
    done = subprocess.run(line, env=lone_host.environ, capture_output=True, check=False, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"fine\n", b"")


def test_the_last_success_is_told_to_a_since_then_job(host: Host) -> None:
    """The last successful slot before this one."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    line = ["run", "--task", "t", "--schedule", "* * * * *", "--tz", "UTC"]
    earlier = int(now.timestamp()) - 600
    host.once(*line, "--slot", str(earlier), "--", "true")
    host.once(*line, "--slot", str(earlier + 60), "--", "false")
    ran = host.once(*line, "--slot", str(earlier + 120), "--", "sh", "-c", "echo $ONCE_PREVIOUS_SUCCESS")

    assert ran.out.decode().strip() == datetime.fromtimestamp(earlier, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_an_address_with_a_password_is_not_handed_down(lone_host: Host, this_minute: MinuteSlot) -> None:
    """And a nested `once` fails rather than keep its record in a file."""
    secret = {"ONCE_DB": "postgresql://ops:s3cret@db1/ops"}
    inner = "env; once lock --task inner -- touch ran; echo status $?"
    ran = lone_host.once(
        *run_line(this_minute, "--db", lone_host.address or ""), "--", "sh", "-c", inner, environ=secret
    )

    assert b"s3cret" not in ran.out
    assert b"status 125" in ran.out
    assert "password" in ran.err
    assert not (lone_host.root / "ran").exists()


def test_an_address_without_a_password_is_handed_down(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A nested `once` keeps its record in the same place."""
    lone_host.once(*run_line(this_minute), "--", "once", "lock", "--task", "inner", "--", "true")

    assert lone_host.run("inner")["outcome"] == "succeeded"


def test_once_needs_none_of_what_cron_drops(this_minute: MinuteSlot, lone_host: Host) -> None:
    """Neither HOME nor USER nor LANG nor a PATH on which it stands itself."""
    line = [str(ONCE), *run_line(this_minute, "--db", lone_host.address or ""), "--", "echo", "fine"]
    environ = {"PATH": "/usr/bin:/bin", "ONCE_STATE_DIR": str(lone_host.root / "state")}
    ran = subprocess.run(line, env=environ, capture_output=True, check=False, stdin=subprocess.DEVNULL)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"fine\n", b"")


@pytest.mark.parametrize("given", [None, "C", "C.UTF-8"])
def test_the_locale_is_what_once_was_given(lone_host: Host, this_minute: MinuteSlot, given: str | None) -> None:
    """Python sets LC_CTYPE where it finds the locale C, and the command would read its input in another encoding."""
    environ = {"LC_CTYPE": given} if given else {}
    ran = lone_host.once(*run_line(this_minute), "--", "env", environ=environ)

    assert environ_of(ran.out).get("LC_CTYPE") == given


def test_a_scope_stands_before_every_task(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Staging and production may share a database."""
    ran = lone_host.once(*run_line(this_minute), "--", "sh", "-c", "echo $ONCE_TASK", environ={"ONCE_SCOPE": "staging"})

    assert ran.out == b"staging/report\n"
    assert [item["task"] for item in lone_host.json("status")] == ["staging/report"]


def test_a_name_is_taken_as_it_is_told(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Verbs tell whole names: pasted, one does not get the scope a second time."""
    staging = {"ONCE_SCOPE": "staging"}
    lone_host.once(*run_line(this_minute), "--", "true", environ=staging)
    short, whole = (lone_host.once("show", name, "--json", environ=staging) for name in ("report", "staging/report"))

    assert (short.status, short.out) == (0, whole.out)


def test_a_host_that_is_switched_off_starts_nothing(lone_host: Host, this_minute: MinuteSlot) -> None:
    """The idle colour: quiet, with the status of a skip."""
    ran = lone_host.once(*run_line(this_minute, "-E", "3"), "--", "touch", "ran", environ={"ONCE_OFF": "1"})

    assert (ran.status, ran.err) == (3, "")
    assert not (lone_host.root / "ran").exists()


def test_without_record_args_only_the_name_is_kept(lone_host: Host, this_minute: MinuteSlot) -> None:
    """Arguments may be secrets."""
    lone_host.once(*run_line(this_minute), "--", "echo", "s3cret", environ={"ONCE_RECORD_ARGS": "false"})

    assert lone_host.run("report")["command"] == ["echo"]


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "a[/b]", "🚀", "é" * 200, "weekly report", "x/../y", "%s%n"])
def test_strange_task_names_are_kept_and_printed_literally(host: Host, this_minute: MinuteSlot, name: str) -> None:
    """Data is never markup, and never part of a query."""
    host.once(*run_line(this_minute, task=name), "--", "true")
    listed = host.once("status").out.decode()

    assert name in listed
    assert host.run(name)["task"] == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("x" * 201, "201 characters"),
        ("a\nb", "control character"),
        ("a\x1b[31mb", "control character"),
        (b"caf\351", "not UTF-8"),
        ("-x", "dash"),
        (" x", "blank"),
    ],
)
def test_bad_task_names_are_refused_in_one_line(lone_host: Host, this_minute: MinuteSlot, name: str, why: str) -> None:
    """And nothing is recorded under them."""
    line = run_line(this_minute)
    line[2] = name
    ran = lone_host.once(*line, "--", "touch", "ran")

    assert ran.status == 125
    assert why in ran.err
    assert ran.err.count("\n") == 1
    assert not (lone_host.root / "ran").exists()


def test_a_name_that_differs_in_case_only_is_refused(host: Host, this_minute: MinuteSlot) -> None:
    """A typing error on one of thirty hosts would run the job twice."""
    host.once(*run_line(this_minute), "--", "true")
    ran = host.once(*run_line(this_minute, task="Report"), "--", "touch", "ran")

    assert ran.status == 125
    assert "differs from the known task report" in ran.err
    assert not (host.root / "ran").exists()


def test_one_letter_written_in_two_ways_is_one_task() -> None:
    """NFC: composed and decomposed are the same name."""
    assert task_name("cafe\u0301") == task_name("caf\u00e9")
