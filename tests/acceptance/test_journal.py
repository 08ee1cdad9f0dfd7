"""The outcome of a finished command reaches the table, if need be later; and nothing but its own row."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from once.commands import flush
from once.recording import TRIES_FOR
from tests.acceptance.conftest import ONCE, Host, MinuteSlot, Ran, ended, until
from tests.acceptance.own_server import OwnServer
from tests.acceptance.test_one_slot import run_line


def waiting(host: Host) -> list[Path]:
    return sorted(host.journal.glob("*.json"))


def started(host: Host, slot: MinuteSlot, then: str, *more: str) -> subprocess.Popen[bytes]:
    """A command that runs until it gets a line, and then does that."""
    script = f"echo up; read _; echo the end; {then}"
    process = host.start(*run_line(slot, *more), "--", "sh", "-c", script, stdin=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"up\n"
    return process


def let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.write(b"\n")
    process.stdin.flush()


def test_while_the_database_is_away_the_outcome_waits_and_the_next_start_delivers_it(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """The status is the command's own, whatever becomes of the record."""
    process = started(own_host, this_minute, "exit 3")
    own_server.stop()
    let_go(process)
    entry = until(lambda: waiting(own_host))[0]
    status = ended(process).status
    own_server.start()
    said = own_host.once("lock", "--task", "next", "-v", "--", "true").err
    run = own_host.run("report")

    assert status == 3
    assert "recorded 1 outcome" in said
    assert not entry.exists()
    assert (run["outcome"], run["exit_status"]) == ("failed", 3)
    assert own_host.once("show", "report", "--output").out == b"up\nthe end\n"


def test_where_nothing_lasts_the_database_is_tried_until_it_answers(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """A container's disk goes with it. The beats go on meanwhile, so the run stays ours."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    environ = {**own_host.environ, "container": "podman"}
    del environ["ONCE_STATE_DIR"]
    line = [str(ONCE), *run_line(this_minute, "-v", "--lease", "5s"), "--", "sh", "-c", "echo up; read _; exit 3"]
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /var/lib && exec "$@"', "sh", *line],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    own_host.processes.append(process)
    assert process.stdout and process.stdout.readline() == b"up\n"
    own_server.stop()
    let_go(process)
    assert process.stderr and b"the outcome is not recorded yet" in process.stderr.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(TRIES_FOR + 3)
    own_server.start()
    status = process.wait(60)

    assert status == 3
    assert own_host.run("report")["exit_status"] == 3


def test_a_short_outage_at_the_end_is_sat_out(own_host: Host, own_server: OwnServer, this_minute: MinuteSlot) -> None:
    """The outcome is on disk at once, in case `once` is killed, and leaves it when it has been recorded."""
    process = started(own_host, this_minute, "exit 3")
    own_server.stop()
    let_go(process)
    until(lambda: waiting(own_host))
    own_server.start()
    ran = ended(process)

    assert (ran.status, ran.err) == (3, "")
    assert waiting(own_host) == []
    assert own_host.run("report")["outcome"] == "failed"


def test_connections_that_were_cut_change_nothing(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """A short lease keeps a connection; it may be terminated at any time."""
    process = started(own_host, this_minute, "exit 3", "--lease", "5s")
    ours = "application_name like 'once%' and pid <> pg_backend_pid()"
    cut = f"select pg_terminate_backend(pid) from pg_stat_activity where {ours}"
    until(lambda: own_server.ask(cut))
    beat = own_server.ask("select beat_at from once.run")
    until(lambda: own_server.ask("select beat_at from once.run") > beat)
    let_go(process)
    ran = ended(process)

    assert (ran.status, ran.err) == (3, "")
    assert own_host.run("report")["exit_status"] == 3


def test_no_connection_is_held_while_the_command_runs(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """pg_stat_activity has nobody but the one who asks."""
    process = started(own_host, this_minute, "exit 0")
    others = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    until(lambda: own_server.ask(others) == [(0,)])
    let_go(process)

    assert ended(process).status == 0


def test_a_late_end_fills_the_late_columns_and_touches_nothing_else(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot
) -> None:
    """The run was given up for lost and its slot's next attempt has succeeded; then the journal is delivered."""
    process = started(own_host, this_minute, "exit 3")
    own_server.stop()
    let_go(process)
    until(lambda: waiting(own_host))
    process.kill()
    ended(process)
    own_server.start()
    with psycopg.connect(own_server.address(), autocommit=True) as connection:
        connection.execute("update once.run set outcome = 'lost', lease_until = now() - interval '1 min'")
        connection.execute(
            "insert into once.run (task, number, token, slot, slot_local, fold, attempt, outcome, attempts, host, pid,"
            " login, command, command_hash, fired_at, claimed_at, lease_until, finished_at, once_version)"
            " select task, 2, 'other', slot, slot_local, fold, 2, 'succeeded', 2, 'other', 1, 'ops', command,"
            " command_hash, fired_at, now(), now(), now(), once_version from once.run"
        )
        before = connection.execute("select * from once.run where number = 2").fetchall()
        flushed = own_host.once("flush")
        after = connection.execute("select * from once.run where number = 2").fetchall()
    first = own_host.runs("report")[0]

    assert (flushed.status, flushed.out) == (0, b"report run 1: failed, recorded\n")
    assert (first["outcome"], first["late_outcome"], first["late_status"]) == ("lost", "failed", 3)
    assert after == before


def test_an_entry_for_another_database_stays(
    own_host: Host, own_server: OwnServer, this_minute: MinuteSlot, tmp_path: Path
) -> None:
    """It is delivered to the database it belongs to, and to no other."""
    process = started(own_host, this_minute, "exit 3")
    own_server.stop()
    let_go(process)
    (entry,) = until(lambda: waiting(own_host))
    process.kill()
    ended(process)
    elsewhere = own_host.once("flush", "--db", f"sqlite:{tmp_path}/other.db")

    assert elsewhere.status == 1
    assert b"still waits for postgresql://postgres@127.0.0.1" in elsewhere.out
    assert entry.exists()
    assert not (tmp_path / "other.db").exists()


def test_the_journal_is_for_its_user_alone(own_host: Host, own_server: OwnServer, this_minute: MinuteSlot) -> None:
    """It holds a token and the end of the output."""
    process = started(own_host, this_minute, "exit 3")
    own_server.stop()
    let_go(process)
    (entry,) = until(lambda: waiting(own_host))
    process.kill()

    assert entry.stat().st_mode & 0o777 == 0o600
    assert own_host.journal.stat().st_mode & 0o777 == 0o700


def test_nothing_waits_is_said_in_one_line(own_host: Host) -> None:
    """And is fine."""
    ran = own_host.once("flush")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.decode() == f"Nothing waits in {own_host.journal}.\n"


KEPT = {
    "journal": 1,
    "identity": "that-of-a-store-that-is-gone",
    "store": "postgresql://once@db0/ops",
    "task": "report",
    "number": 7,
    "token": "a1b2",
    "outcome": "failed",
    "reason": None,
    "exit_status": 3,
    "signal": None,
    "started_at": None,
    "finished_at": "2026-03-02T09:00:00+00:00",
    "duration": 1.5,
    "tail": "",
    "tail_dropped": 0,
}


def left_behind(host: Host, name: str, content: str) -> Path:
    """A file in the host's journal."""
    host.journal.mkdir(parents=True, exist_ok=True)
    path = host.journal / f"{name}.json"
    path.write_text(content)
    return path


def written(host: Host, **other: object) -> Path:
    """An entry as an earlier once has left it."""
    kept = KEPT | other
    return left_behind(host, f"20260302T090000-{kept['token']}", json.dumps(kept))


def test_a_broken_file_is_named_and_set_aside_once(lone_host: Host) -> None:
    """Status counts it apart until flush has been there; then nobody trips over it again."""
    path = left_behind(lone_host, "20260302T090000-beef", '{"journal": 1, "identity":')
    lone_host.once("lock", "--task", "t", "--", "true")
    before = lone_host.once("status").out.decode()
    first = lone_host.once("flush")
    aside = path.with_suffix(".broken")
    again = lone_host.once("flush")
    after = lone_host.once("status").out.decode()

    assert f"1 file in {lone_host.journal} cannot be read; once flush says which." in before
    assert "outcomes wait" not in before
    assert (first.status, first.out.decode()) == (
        1,
        f"{aside}: it holds no outcome; set aside under this name, remove it when you have seen it\n",
    )
    assert (aside.exists(), path.exists()) == (True, False)
    assert again == Ran(0, f"Nothing waits in {lone_host.journal}.\n".encode(), "")
    assert "cannot be read" not in after


def test_what_a_newer_once_has_written_stays(lone_host: Host) -> None:
    """It is no rubbish: that once will read it."""
    path = written(lone_host, journal=2)
    ran = lone_host.once("flush")

    assert (ran.status, ran.out.decode()) == (1, f"{path}: cannot be read, a newer once wrote it; it stays\n")
    assert path.exists()


def test_an_outcome_whose_database_is_gone_can_be_dropped(lone_host: Host) -> None:
    """By the name under which flush shows it, with a line for each, and nothing else goes."""
    ours, others = written(lone_host), written(lone_host, token="c3d4", store="postgresql://once@db9/ops", number=8)
    shown = lone_host.once("flush").out.decode()
    command = shown.splitlines()[0].partition("gone for good? ")[2].removesuffix(")").split()
    dropped = lone_host.once(*command[1:])
    again = lone_host.once(*command[1:])

    assert dropped.status == 1
    assert dropped.out.decode().splitlines() == ["report run 7: failed, dropped", shown.splitlines()[1]]
    assert (ours.exists(), others.exists()) == (False, True)
    assert again.out.decode().splitlines()[1] == "Nothing waits for postgresql://once@db0/ops."


def test_what_waits_for_a_database_that_cannot_be_reached_can_be_dropped(lone_host: Host) -> None:
    """It is set here still; dropping asks nobody's leave."""
    address = "postgresql://once@127.0.0.1:1/ops"
    path = written(lone_host, store=address)
    before = lone_host.once("flush", "--db", address)
    dropped = lone_host.once("flush", "--db", address, "--drop", address)

    assert (before.status, path.exists()) == (75, False)
    assert dropped == Ran(0, b"report run 7: failed, dropped\n", "")


def test_an_address_with_its_password_drops_what_waits_for_it_and_is_not_told(lone_host: Host) -> None:
    """It is what the settings say; the journal knows it without."""
    path = written(lone_host, store="postgresql://once@127.0.0.1:1/ops")
    with_password = "postgresql://once:s3cret@127.0.0.1:1/ops"
    dropped = lone_host.once("flush", "--drop", with_password)
    again = lone_host.once("flush", "--drop", with_password)

    assert (dropped.status, dropped.out.decode(), path.exists()) == (0, "report run 7: failed, dropped\n", False)
    assert again.out.decode() == "Nothing waits for postgresql://once@127.0.0.1:1/ops.\n"


def with_a_read_only_journal(host: Host, *args: str) -> Ran:
    """Run `once` where the disk under the journal has become read-only."""
    read_only = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", read_only, str(host.journal), str(ONCE), *args],
        env=host.environ,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_an_outcome_that_cannot_be_dropped_is_one_line(lone_host: Host) -> None:
    """On a disk that has become read-only."""
    path = written(lone_host)
    done = with_a_read_only_journal(lone_host, "flush", "--drop", "postgresql://once@db0/ops")

    why = f"What waits in {lone_host.journal} could not be dropped: Read-only file system"
    assert done == Ran(2, b"", f"once flush: {why}\n")
    assert path.exists()


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_journal_that_cannot_be_emptied_keeps_nothing_from_starting(lone_host: Host, is_known: bool) -> None:
    """A disk that has become read-only; or another start was quicker, of the many that cron begins at once."""
    lone_host.once("lock", "--task", "report", "--", "true")
    address = lone_host.address or ""
    with closing(sqlite3.connect(address.removeprefix("sqlite:"))) as record:
        ((token,),) = record.execute("select token from run").fetchall()
    number = {"number": 1, "token": token} if is_known else {}
    path = written(lone_host, identity="", store=address, **number)
    done = with_a_read_only_journal(lone_host, "lock", "--task", "next", "--", "echo", "started")

    assert done == Ran(0, b"started\n", "")
    assert path.exists()


def test_flush_makes_no_file_where_one_was_deleted(lone_host: Host, tmp_path: Path) -> None:
    """An empty file would be a new record, in which every slot is free."""
    path = written(lone_host)
    ran = lone_host.once("flush")

    assert (ran.status, ran.err) == (1, "")
    assert path.exists()
    assert not (tmp_path / "lone.db").exists()


def test_flush_tells_programs_the_same(lone_host: Host) -> None:
    """All keys in every item."""
    written(lone_host)
    left_behind(lone_host, "20260302T090000-beef", "[]")
    items = json.loads(lone_host.once("flush", "--json").out)["items"]

    assert [tuple(item) for item in items] == [flush.KEYS] * 2
    assert [item["delivery"] for item in items] == ["broken", "elsewhere"]
