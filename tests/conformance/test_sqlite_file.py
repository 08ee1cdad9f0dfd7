"""The SQLite file: its rights, its place, its clock, and what can be wrong with it."""

from __future__ import annotations

import os
import pwd
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from once.clock import Clock, SystemClock
from once.errors import StoreUnusable, Unreachable
from once.store import sqlite_file
from once.store.base import Store
from once.store.connect import open_store
from once.verdict import Go, Reason
from tests.conformance.claims import LEASE, claim, ending, held, holder, slot
from tests.conformance.conftest import HeldClock

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
AS_NOBODY = """
import errno, json, os, sys
from pathlib import Path
from once.clock import SystemClock
from once.store import sqlite
from once.store.connect import open_store
from tests.conformance.claims import claim
account = int(sys.argv[2])
os.setgroups([]); os.setgid(account); os.setuid(account)
store = open_store(sys.argv[1], clock=SystemClock(), state_dir=Path("/nowhere"))
try:
    print(eval(sys.argv[3]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def opened() -> Iterator[Callable[..., Store]]:
    """Opens a path, and closes it after the test."""
    stores: list[Store] = []

    def open_one(path: Path | str, clock: Clock | None = None) -> Store:
        stores.append(open_store(f"sqlite:{path}", clock=clock or SystemClock(), state_dir=Path("/nowhere")))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def mode_of(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("directory", "file"), [(0o755, 0o644), (0o700, 0o600), (0o2775, 0o664), (0o1777, 0o600)])
def test_the_file_has_the_mode_of_its_directory(
    tmp_path: Path, opened: Callable[..., Store], directory: int, file: int
) -> None:
    """Whatever the umask; where everybody may put files, it is its maker's alone."""
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(directory)
    before = os.umask(0o077)
    try:
        held(opened(place / "once.db"))
    finally:
        os.umask(before)

    assert {path.name: mode_of(path) for path in place.iterdir()} == {"once.db": file, "once.db-journal": file}


@needs_root
def test_the_file_has_the_group_of_its_directory(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """So that those who share the directory share the record."""
    place = tmp_path / "place"
    place.mkdir(mode=0o770)
    os.chown(place, -1, 65534)
    opened(place / "once.db").connect()

    assert (place / "once.db").stat().st_gid == 65534


def test_the_default_makes_its_directory(tmp_path: Path) -> None:
    """For its user alone."""
    store = open_store("local", clock=SystemClock(), state_dir=tmp_path / "var" / "once")
    store.connect()
    store.close()

    assert store.name == f"sqlite:{tmp_path}/var/once/once.db"
    assert mode_of(tmp_path / "var" / "once") == 0o700


def test_a_named_directory_is_not_made(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """A typing error must not begin a record of its own."""
    with pytest.raises(StoreUnusable, match=f"there is no {tmp_path}/typo"):
        opened(tmp_path / "typo" / "once.db").connect()


@pytest.mark.parametrize("content", [b"these are my notes\n" * 100, os.urandom(5000)])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, opened: Callable[..., Store], content: bytes) -> None:
    """And told as such; nor is it kept open."""
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreUnusable, match="it is no SQLite database"):
        opened(path).connect()
    descriptors = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]

    assert path.read_bytes() == content
    assert path not in descriptors


def test_another_programs_database_is_left_alone(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """Even if it has a table called run."""
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE run (x)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(StoreUnusable, match="another program's database"):
        opened(path).connect()

    assert path.read_bytes() == content


def test_a_directory_in_the_files_place(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """Told as what it is, with the name of a file in it."""
    with pytest.raises(StoreUnusable) as refusal:
        opened(tmp_path).connect()

    assert str(refusal.value).endswith(f"cannot be used: it is a directory. Try: sqlite:{tmp_path}/once.db")


@needs_root
def test_who_may_not_write_may_still_read(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """`once status` works for everybody who may see the file; a start is refused in one line."""
    held(opened(tmp_path / "once.db"))
    for directory in (tmp_path, *tmp_path.parents[:-2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    (tmp_path / "once.db").chmod(0o644)
    told = [_as_nobody(tmp_path / "once.db", verb) for verb in ("len(store.tasks())", "store.claim(claim())")]

    assert told[0] == "1"
    assert told[1].startswith("StoreUnusable")
    assert "cannot be written" in told[1]


@needs_root
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    """Told before anything is run."""
    for directory in (tmp_path, *tmp_path.parents[:-2]):
        directory.chmod(directory.stat().st_mode | 0o055)

    assert f"{tmp_path} cannot be written (Permission denied)" in _as_nobody(tmp_path / "once.db", "store.connect()")


def test_locks_do_not_hold_on_a_network(tmp_path: Path) -> None:
    """The longest mount point counts, and of two the later."""
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "none / ext4 rw 0 0\n"
        "nas:/home /srv/with\\040blank nfs4 rw 0 0\n"
        "none /srv/local xfs rw 0 0\n"
        "none /srv/local nfs rw 0 0\n"
    )
    kinds = [sqlite_file.file_system_of(place, str(mounts)) for place in ("/srv/with blank/x", "/srv/local", "/srv")]

    assert kinds == ["nfs4", "nfs", "ext4"]
    with pytest.raises(StoreUnusable, match=r"network file system \(nfs4\)"):
        sqlite_file.make_ready("/srv/with blank/once.db", store="sqlite:…", mounts=str(mounts))


def test_without_a_list_of_mounts_nothing_is_refused(tmp_path: Path) -> None:
    """Where the system does not tell, the user is believed."""
    sqlite_file.make_ready(str(tmp_path / "once.db"), store="sqlite:…", mounts=str(tmp_path / "none"))

    assert (tmp_path / "once.db").exists()


class TestClock:
    """Leases live on CLOCK_BOOTTIME of their boot, not on a wall clock that people set."""

    @pytest.mark.parametrize("step", [timedelta(days=400), timedelta(days=-400)])
    def test_a_wall_clock_that_is_set_ends_no_lease(
        self, tmp_path: Path, opened: Callable[..., Store], step: timedelta
    ) -> None:
        """Nor does it keep one alive."""
        clock = HeldClock()
        store = opened(tmp_path / "once.db", clock)
        held(store)
        clock.time += step
        verdict = store.claim(claim(attempts=2)).verdict
        clock.uptime += LEASE.total_seconds()

        assert verdict.reason is Reason.HELD
        assert store.look(claim()).latest_alive is False
        assert store.claim(claim(attempts=2)).verdict == Go(attempt=2)

    def test_another_boot_means_dead(self, tmp_path: Path, opened: Callable[..., Store]) -> None:
        """Though the clock of the new boot is far from the lease's end."""
        clock = HeldClock()
        store = opened(tmp_path / "once.db", clock)
        held(store, claim(by=holder(boot="boot1")))
        clock.uptime = 1.0
        again = claim(attempts=2, by=holder(boot="boot2"))

        assert store.look(again).latest_alive is False
        assert store.claim(again).verdict == Go(attempt=2)
        assert "started again" in store.run("report", 1).reason

    def test_where_no_boot_is_told_the_wall_clock_must_do(self, tmp_path: Path, opened: Callable[..., Store]) -> None:
        """Better a clock that can be set than a lease that never ends."""
        clock = HeldClock()
        store = opened(tmp_path / "once.db", clock)
        nameless = holder(boot=None)
        held(store, claim(by=nameless))
        before = store.claim(claim(attempts=2, by=nameless)).verdict
        clock.time += LEASE
        clock.uptime = 1.0

        assert before.reason is Reason.HELD
        assert store.claim(claim(attempts=2, by=nameless)).verdict == Go(attempt=2)


def test_what_was_under_way_at_a_crash_is_rolled_back(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """The journal of a process that was killed in its commit is played back by whoever comes next."""
    store = opened(tmp_path / "once.db")
    store.finish(held(store), ending())
    store.close()
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA cache_size = 1'); c.execute('PRAGMA journal_mode = TRUNCATE'); c.execute('BEGIN IMMEDIATE');"
        "c.execute('UPDATE run SET tail = randomblob(3000000)'); c.execute('UPDATE task SET last_number = 99');"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "once.db"], check=False)

    assert (tmp_path / "once.db-journal").stat().st_size > 0
    assert store.run("report", 1).tail == b""
    assert held(store, claim(slot(1))).number == 2


def test_a_file_that_others_hold_is_out_of_reach_for_now(tmp_path: Path, opened: Callable[..., Store]) -> None:
    """And nothing of ours is left in it."""
    store = opened(tmp_path / "once.db")
    store.connect()
    other = sqlite3.connect(tmp_path / "once.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Unreachable, match="another process holds it"):
        store.claim(claim())
    other.close()

    assert store.claim(claim()).verdict == Go(attempt=1)


def _as_nobody(path: Path, verb: str) -> str:
    """What a verb comes to for another user."""
    account = pwd.getpwnam("nobody").pw_uid
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, f"sqlite:{path}", str(account), verb],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
