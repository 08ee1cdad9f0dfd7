"""What bad input gets: one line on stderr, the right status, nothing claimed, nothing run."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests import databases
from tests.acceptance.conftest import ONCE, PATIENCE, Host, MinuteSlot, Ran, needs
from tests.acceptance.test_one_slot import run_line


def refused(ran: Ran, status: int, *said: str) -> None:
    """One line that says all that, and no secret."""
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.count("\n") == 1
    assert "Traceback" not in ran.err
    assert "s3cret" not in ran.err
    for words in said:
        assert words in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--schedule", "61 * * * *"], "61"),
        (["--schedule", "* * * * * *"], "6"),
        (["--schedule", "0 0 30 2 *"], "never"),
        (["--schedule", ""], ""),
        (["--schedule", "* * * * *", "--tz", "Europe/Berln"], "Europe/Berln"),
        (["--schedule", "* * * * *", "--tz", "UTC+2"], "UTC+2"),
        (["--schedule", "* * * * *", "--timeout", "soon"], "soon"),
        (["--schedule", "* * * * *", "--lease", "1s"], "5s"),
        (["--schedule", "* * * * *", "-s", "SIGNONE"], "SIGNONE"),
        (["--schedule", "* * * * *", "-E", "256"], "256"),
        (["--schedule", "* * * * *", "--tail", "-1"], "-1"),
        (["--schedule", "* * * * *", "--slot", "yesterday-ish"], "yesterday-ish"),
        (["--schedule", "* * * * *", "--slot", "yesterday-ish"], "Try: last, 2026-03-29T01:00:00Z, or Unix seconds"),
        (["--schedule", "0 9 * * *", "--slot", "2026-03-02T09:30:00Z"], "2026-03-02T09:00:00Z"),
        (["--schedule", "0 9 * * *", "--slot", "2199-03-02T09:00:00Z"], "Slot 2199-03-02T09:00:00Z is in the future"),
        (["--schedule", "0 9 * * *", "--slot", "2026-03-02T09:00"], "2026-03-02T09:00:00+00:00 (UTC)"),
        (
            ["--schedule", "0 0 * * *", "--tz", "Europe/Berlin", "--slot", "2026-03-02"],
            "2026-03-02T00:00:00+01:00 (Europe/Berlin) or 2026-03-02T00:00:00Z (UTC)",
        ),
        (["--schedule", "* * * * *", "-s", "STOP"], "--stop-signal STOP would not end the command"),
        (["--schedule", "* * * * *", "-s", "18"], "--stop-signal CONT would not end the command"),
        (["--schedule", "* * * * *", "--standby", "-n", "-w", "5s"], "--wait 5s and --no-wait contradict each other"),
        (["--schedule", "* * * * *", "-w", "5s"], "Try: --standby, or --overlap wait"),
        (["--schedule", "* * * * *", "--overlap", "replace", "-n"], "--no-wait and --overlap replace contradict each"),
        (["--schedule", "* * * * *", "--overlap", "replace", "-w", "0"], "--wait 0s and --overlap replace contradict"),
        (["--schedule", "* * * * *", "-v", "--db", "sqlite:once.db"], "/once.db"),
        (["--schedule", "* * * * *", "--overlap", "never"], "never"),
        (["--schedule", "* * * * *", "--attempts", "99999999999999999999"], "99999999999999999999 is not in the range"),
        (["--schedule", "* * * * *", "--no-such-option"], "--no-such-option"),
    ],
)
def test_a_wrong_option_is_named(lone_host: Host, options: list[str], said: str) -> None:
    """What was typed stands in the line, and for which task: a host has many, and one log."""
    ran = lone_host.once("run", "--task", "t", "--tz", "UTC", *options, "--", "touch", "ran")

    refused(ran, 125, said)
    assert ran.err.startswith("once run: t: NOT run: ")
    assert not (lone_host.root / "ran").exists()
    assert not (lone_host.root / "state").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", "-w", "5"], "--wait 5s and --no-wait contradict each other"),
        (["--overlap", "skip", "-w", "5"], "--wait 5s and --overlap skip contradict each other"),
        (["-s", "TSTP"], "--stop-signal TSTP would not end the command"),
        (["-w", "soon"], "'soon' is not a duration"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_a_lock_with_a_wrong_option_runs_nothing(lone_host: Host, options: list[str], said: str) -> None:
    """And says that."""
    ran = lone_host.once("lock", "--task", "t", *options, "--", "touch", "ran")

    refused(ran, 125, said)
    assert ran.err.startswith("once lock: t: NOT run: ")
    assert not (lone_host.root / "ran").exists()


def test_a_relative_file_is_refused_wherever_it_is_set(lone_host: Host) -> None:
    """Two working directories would be two records, and each would win against nobody."""
    (lone_host.root / ".config").mkdir()
    (lone_host.root / ".config/once.toml").write_text('db = "sqlite:once.db"\n')
    lone_host.address = None
    calls = [["lock", "--task", "t", "--", "touch", "ran"], ["status"]]
    by_file = [lone_host.once(*call) for call in calls]
    by_variable = [lone_host.once(*call, environ={"ONCE_DB": "sqlite:once.db"}) for call in calls]
    for one, status in zip(by_file + by_variable, [125, 2, 125, 2], strict=True):
        refused(one, status, f"Try: sqlite:{lone_host.root}/once.db")

    assert not (lone_host.root / "ran").exists()
    assert not (lone_host.root / "once.db").exists()


def test_an_empty_address_in_a_file_is_no_default(lone_host: Host) -> None:
    """A template that was not filled in on any of thirty hosts: each would win against nobody."""
    (lone_host.root / ".config").mkdir()
    (lone_host.root / ".config/once.toml").write_text('db = ""\n')
    lone_host.address = None
    ran = lone_host.once("lock", "--task", "t", "--", "touch", "ran")

    refused(ran, 125, "once.toml: db: must be one address")
    assert not (lone_host.root / "ran").exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://ops@db1/ops", "mysql"),
        ("postgresql://u:s3cret@with@db1/x", "percent-encode"),
        ("postgresql://u:s3cret/w0rd@db1:5432/x", "percent-encode"),
        ("postgresql://u:s3cret%zz@db1/x", "%"),
        ("nonsense", "names no known store"),
        ("", "the address is empty"),
        ("sqlite:", "sqlite"),
        ("file:/no/such/file", "/no/such/file"),
        ("service=no-such-service", "no-such-service"),
    ],
)
def test_an_address_that_names_no_store_is_refused(
    lone_host: Host, this_minute: MinuteSlot, address: str, said: str
) -> None:
    """A password with a character that has to be encoded is told without being shown."""
    ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s"), "--", "touch", "ran")

    refused(ran, 125, said)
    assert not (lone_host.root / "ran").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["timeline", "a", "b"], "Got unexpected extra argument (b). Try: once timeline --help\n"),
        (["show", "a", "x"], "Invalid value for '[NUMBER]': 'x' is not a valid number. Try: once show --help\n"),
        (
            ["lock", "--slot", "last"],
            "NOT run: No such option '--slot'. Did you mean '--splay'? Try: once lock --help\n",
        ),
        (["run", "--", "x", "--task", "y"], "NOT run: Missing option '--task'. Try: once run --help\n"),
    ],
)
def test_a_wrong_call_is_told_in_sentences(lone_host: Host, args: list[str], said: str) -> None:
    """Each ends, and what to try is another; what belongs to the command names no task."""
    assert lone_host.once(*args).err == f"once {args[0]}: {said}"


def test_a_database_without_the_schema_says_once_init(
    empty_database: str, lone_host: Host, this_minute: MinuteSlot
) -> None:
    """Nothing is created behind the back of whoever owns the database."""
    ran = lone_host.once(*run_line(this_minute, "--db", empty_database), "--", "touch", "ran")

    refused(ran, 125, "once init")
    assert not (lone_host.root / "ran").exists()


def test_an_unknown_database_or_role_is_told(empty_database: str, lone_host: Host, this_minute: MinuteSlot) -> None:
    """It may be made later: 75."""
    head, _, _name = empty_database.partition("?")[0].rpartition("/")
    query = empty_database.partition("?")[2]
    address = f"{head}/no_such_database?{query}"
    ran = lone_host.once(*run_line(this_minute, "--db", address, "--db-wait", "1s"), "--", "touch", "ran")

    refused(ran, 75, "no_such_database")


def test_a_file_that_is_no_database_is_refused(lone_host: Host, this_minute: MinuteSlot) -> None:
    """And left as it is."""
    path = lone_host.root / "notes.txt"
    path.write_text("these are my notes\n" * 1000)
    ran = lone_host.once(*run_line(this_minute, "--db", f"sqlite:{path}"), "--", "touch", "ran")

    refused(ran, 125, "notes.txt")
    assert path.read_text() == "these are my notes\n" * 1000


def test_another_programs_sqlite_file_is_refused(lone_host: Host, this_minute: MinuteSlot) -> None:
    """It gets no tables of ours."""
    path = lone_host.root / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE task (title TEXT)")
    other.close()
    ran = lone_host.once(*run_line(this_minute, "--db", f"sqlite:{path}"), "--", "touch", "ran")

    refused(ran, 125, "other.db")


def test_a_missing_directory_is_told(lone_host: Host, this_minute: MinuteSlot) -> None:
    """A typing error in a path must not make a record elsewhere."""
    ran = lone_host.once(*run_line(this_minute, "--db", "sqlite:/no/such/directory/once.db"), "--", "touch", "ran")

    refused(ran, 125, "/no/such/directory")


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping rights needs root")
def test_a_directory_that_cannot_be_written_is_told(lone_host: Host, this_minute: MinuteSlot) -> None:
    """As another user would find it."""
    closed = Path(tempfile.mkdtemp(dir=os.environ[databases.ROOM]))
    closed.chmod(0o755)
    as_nobody = [needs("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", str(ONCE)]
    if subprocess.run([*as_nobody, "--version"], check=False, capture_output=True).returncode != 0:
        pytest.skip("other users may not enter this Python's directory")
    line = run_line(this_minute, "--db", f"sqlite:{closed}/once.db")
    done = subprocess.run(
        [*as_nobody, *line, "--", "touch", "ran"],
        env=lone_host.environ,
        cwd=closed,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )

    refused(Ran(done.returncode, done.stdout, done.stderr.decode()), 125, str(closed))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_told_and_runs_nothing(lone_host: Host, this_minute: MinuteSlot, tmp_path: Path) -> None:
    """A file system of its own, filled to the last block."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = """
        mount -t tmpfs -o size=64k none "$0" && head -c 65536 /dev/zero > "$0/filler" 2>/dev/null
        shift 0; exec "$@"
    """
    line = run_line(this_minute, "--db", f"sqlite:{disk}/once.db", "--db-wait", "1s")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(disk), str(ONCE), *line, "--", "touch", "ran"],
        env=lone_host.environ,
        cwd=lone_host.root,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    ran = Ran(done.returncode, done.stdout, done.stderr.decode())

    refused(ran, 75, "full")
    assert not (lone_host.root / "ran").exists()
