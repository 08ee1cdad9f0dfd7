"""When a host may keep its own record, and when it must not fall back to that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from once import embedded, host
from once.commands.opening import Place
from once.embedded import default_address, last_use, note_use
from once.errors import NoDatabaseSet
from once.settings import Settings
from tests.integration.conftest import Once


@pytest.fixture
def bare_host(tmp_path: Path) -> Path:
    """The root of a file system on which nothing points to a container."""
    root = tmp_path / "root"
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/cgroup").write_text("0::/init.scope\n")
    return root


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_dir=str(tmp_path / "state"))


def test_a_plain_host_keeps_its_own_record(settings: Settings, bare_host: Path) -> None:
    """One host needs no set-up."""
    assert default_address(settings, {}, root=str(bare_host)) == "local"


@pytest.mark.parametrize("file", [".dockerenv", "run/.containerenv", "dev/termination-log"])
def test_a_container_never_falls_back(settings: Settings, bare_host: Path, file: str) -> None:
    """Each replica would win against nobody, and its record would go with it."""
    path = bare_host / file
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(NoDatabaseSet, match="a container's own file"):
        default_address(settings, {}, root=str(bare_host))


def test_a_pod_never_falls_back(settings: Settings, bare_host: Path) -> None:
    """Kubernetes tells by a variable."""
    with pytest.raises(NoDatabaseSet, match="ONCE_DB in the container's environment"):
        default_address(settings, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, root=str(bare_host))


def test_a_host_that_used_postgresql_never_falls_back(settings: Settings, bare_host: Path) -> None:
    """Cron drops the environment in which the address stood."""
    note_use(settings.state_dir, "db1/ops")
    with pytest.raises(NoDatabaseSet, match=r"but this host used db1/ops until .*cron drops your environment"):
        default_address(settings, {}, root=str(bare_host))


def test_what_root_used_binds_every_user_of_the_host(tmp_path: Path) -> None:
    """A user's first job must not be the only one that is recorded elsewhere."""
    note_use(str(tmp_path / "shared"), "db1/ops")

    assert (last_use(str(tmp_path / "own"), shared=str(tmp_path / "shared")) or "").startswith("db1/ops until ")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_the_note_of_root_is_read_by_every_user(tmp_path: Path) -> None:
    """And the directory shows them nothing else."""
    script = """
import os, sys
from once.embedded import last_use, note_use
shared = sys.argv[1]
os.umask(0o077)
note_use(shared, "db1/ops")
os.chdir(shared)
os.setuid(65534)
try:
    os.listdir(".")
except PermissionError:
    print((last_use("/nowhere", shared=".") or "None").partition(" ")[0])
"""
    line = [sys.executable, "-c", script, str(tmp_path / "shared")]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr) == ("db1/ops\n", "")


def test_an_unreadable_settings_file_never_falls_back(settings: Settings, bare_host: Path, tmp_path: Path) -> None:
    """It may be the very file that names the database."""
    settings = Settings(state_dir=str(tmp_path), unreadable=("/etc/once.toml",))
    with pytest.raises(NoDatabaseSet, match=r"/etc/once.toml cannot be read by"):
        default_address(settings, {}, root=str(bare_host))


def test_a_note_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    """A run is not refused for want of it."""
    (tmp_path / "file").touch()
    note_use(str(tmp_path / "file" / "below"), "db1/ops")

    assert last_use(str(tmp_path / "file" / "below"), shared=str(tmp_path)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_left_without_a_draft(tmp_path: Path) -> None:
    """Each start would leave another."""
    script = """
        mount -t tmpfs -o size=16k none "$0" && head -c 65536 /dev/zero > "$0/filler" 2>/dev/null
        "$1" -c 'import sys; from once.embedded import note_use; note_use(sys.argv[1], "db1/ops")' "$0"; ls "$0"
    """
    line = ["unshare", "--mount", "sh", "-c", script, str(tmp_path), sys.executable]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr) == ("filler\n", "")


def test_the_file_is_made_by_a_run_that_says_so(once: Once, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not by `once init`, which many type on every host: the word that other hosts will run it too would be lost."""
    monkeypatch.delenv("ONCE_DB")
    monkeypatch.setattr(embedded, "default_address", lambda *_: "local")
    file = tmp_path / "state/once.db"
    status, out, _ = once("init")
    assert not file.exists()
    (first, _, first_said), (second, _, second_said) = (once("lock", "--task", "t", "--", "true") for _ in range(2))

    assert (status, first, second) == (0, 0, 0)
    assert out.startswith(f"sqlite:{file} is not there yet, and the first run makes it; for PostgreSQL: once init --db")
    assert [line.partition(";")[0] for line in first_said.splitlines()] == [
        f"once lock: t: no database is set, so this host keeps its own record in {file}",
        "once lock: t: other hosts with this line will run it too",
        "once lock: t: this is said once",
    ]
    assert second_said == ""


def test_a_user_without_a_record_is_told_of_roots(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's crontab has its jobs recorded elsewhere than where the person looks who is woken for them."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    own = Place(address="local", by_default=True, settings=settings)
    named = Place(address=f"sqlite:{settings.state_dir}/once.db", by_default=False, settings=settings)

    assert "sudo, where root runs the jobs" in str(own.no_record())
    assert str(named.no_record()).endswith("Try: once run --help: the first run makes it")


def test_a_file_that_may_not_be_looked_for_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """Root's directory is closed to others, and `no record yet` would not be true."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    where = Place(address=f"sqlite:{closed}/once.db", by_default=False, settings=Settings())
    with as_another_user():
        missing = where.is_missing

    assert not missing


def test_a_journal_that_may_not_be_looked_into_is_not_said_to_be_empty(
    once: Once, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What root's jobs have left there waits all the same."""
    (tmp_path / "closed").mkdir(mode=0)
    monkeypatch.setenv("ONCE_STATE_DIR", str(tmp_path / "closed"))
    with as_another_user():
        told = once("flush")
        user = host.user_name()

    assert told == (1, f"What waits in {tmp_path}/closed/journal cannot be read by {user}.\n", "")


@contextmanager
def as_another_user() -> Iterator[None]:
    """Root may read everything; others are themselves."""
    before = os.geteuid()
    os.seteuid(before or 65534)
    try:
        yield
    finally:
        os.seteuid(before)
