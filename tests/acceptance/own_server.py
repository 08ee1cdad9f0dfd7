"""A PostgreSQL server of a test's own: it may be stopped, frozen and cut off."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from once.clock import SystemClock
from once.store.connect import open_store
from tests import databases
from tests.databases import Server


class OwnServer:
    """Listens on every address of this host; whoever comes from a private network is let in."""

    def __init__(self) -> None:
        self._settle()
        self._run("initdb", "-D", self._data, "--auth=trust", "--encoding=utf8", "-U", "postgres", "--no-sync")
        with open(self._data / "pg_hba.conf", "a") as rules:
            rules.write("host all all 10.0.0.0/8 trust\n")
        self.start()
        store = open_store(self.address(), clock=SystemClock(), state_dir=Path("/nowhere"))
        store.migrate()
        store.close()

    @classmethod
    def following(cls, primary: OwnServer) -> OwnServer:
        """A standby of that server, fed by streaming."""
        standby = cls.__new__(cls)
        standby._settle()
        source = f"host=127.0.0.1 port={primary.port} user=postgres"
        standby._run(
            "pg_basebackup", "-D", standby._data, "-d", source, "-R", "-X", "stream", "--no-sync", "-c", "fast"
        )
        standby.start()
        return standby

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def _settle(self) -> None:
        """Choose a directory and a port."""
        self._room = Path(os.environ[databases.ROOM])
        self.directory = Path(tempfile.mkdtemp(prefix="own-", dir=self._room))
        if databases._other_user():
            os.chown(self.directory, databases._quietly()["user"], -1)
        self._data = self.directory / "data"
        self.port = databases.free_port()

    def address(self, host: str = "127.0.0.1") -> str:
        return Server(host, self.port, "postgres").address("postgres")

    def start(self) -> None:
        options = f"-h 0.0.0.0 -p {self.port} -k {self.directory}"
        self._run("pg_ctl", "-D", self._data, "-l", self.directory / "log", "-w", "-o", options, "start")

    def stop(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def freeze(self) -> None:
        """Every process of the server is stopped: connections are accepted by the kernel, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.address(), autocommit=True) as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    def _signal(self, signum: signal.Signals) -> None:
        """The postmaster first, so that it starts nobody meanwhile."""
        pidfile = self._data / "postmaster.pid"
        if not pidfile.exists():
            return
        postmaster = int(pidfile.read_text().split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children")
        os.kill(postmaster, signum)
        for pid in children.read_text().split():
            os.kill(int(pid), signum)

    def _run(self, program: str, *args: object) -> None:
        line = [databases._binary(program, self._room), *map(str, args)]
        subprocess.run(line, check=True, **databases._quietly())
