"""Hosts that are namespaces of this one: a name of their own, and a time zone of their own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import ONCE, Host, Ran, ended, needs

INSIDE = """
set -e
echo "$1" > /proc/sys/kernel/hostname
mount --bind "$2" /etc
shift 2
exec "$@"
"""
ETC = ("passwd", "group", "hosts", "nsswitch.conf", "machine-id", "ld.so.cache", "ld.so.conf")
"""What programs need of /etc."""


@dataclass
class OtherHost:
    """A host with its own name, and whose /etc/localtime is its own."""

    host: Host
    name: str
    etc: Path

    def once(self, *args: str, environ: dict[str, str] | None = None) -> Ran:
        """Run `once` there to its end."""
        return ended(self.start(*args, environ=environ))

    def start(self, *args: str, environ: dict[str, str] | None = None, **how: Any) -> subprocess.Popen[bytes]:
        """Start `once` there; the process is `once` itself as soon as it has said anything."""
        inside = [needs("unshare"), "--mount", "--uts", "sh", "-c", INSIDE, "sh", self.name, str(self.etc)]
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        environ = self.host.environ | (environ or {})
        process = subprocess.Popen([*inside, str(ONCE), *args], env=environ, cwd=self.host.root, **how)
        self.host.processes.append(process)
        return process


def named(name: str, host: Host, *, zone: str = "UTC") -> OtherHost:
    """That host's files under another name, where clocks on the wall show this zone. Skips where it cannot be had."""
    if os.geteuid() != 0:
        pytest.skip("namespaces need root")
    etc = host.root / "etc"
    etc.mkdir()
    for file in ETC:
        source = Path("/etc", file)
        if source.exists():
            (etc / file).write_bytes(source.read_bytes())
    (etc / "localtime").symlink_to(f"/usr/share/zoneinfo/{zone}")
    return OtherHost(host, name, etc)
