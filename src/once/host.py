"""This host: who starts a command here, and whether anything written here lasts."""

from __future__ import annotations

import os
import pwd
import zlib
from collections.abc import Mapping

from once.run import Holder

CONTAINER_FILES = (".dockerenv", "run/.containerenv", "run/systemd/container")
CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
CONTAINER_GROUPS = ("docker", "kubepods", "containerd", "libpod", "lxc")


def holder(environ: Mapping[str, str], *, root: str = "/") -> Holder:
    """Who this process is.

    The machine's id is told only outside containers: replicas of one image share hostname and machine-id, and a
    neighbour's boot id would then look like the reboot of our own host.
    """
    return Holder(
        host=os.uname().nodename,
        machine=None if in_container(environ, root=root) else _machine_id(root),
        boot=_first_line(f"{root}/proc/sys/kernel/random/boot_id"),
        pid=os.getpid(),
        user=user_name(),
    )


def user_name() -> str:
    """The effective user's login name; its number where nobody has that number (cron sets neither USER nor HOME)."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def home(environ: Mapping[str, str]) -> str | None:
    """The home directory: HOME, else the password database; None for a user who has none."""
    if environ.get("HOME"):
        return environ["HOME"]
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return None


def in_container(environ: Mapping[str, str], *, root: str = "/") -> bool:
    """Whether this is a container: what it writes goes with it, and its siblings do not see it."""
    if any(environ.get(name) for name in CONTAINER_VARIABLES):
        return True
    if any(os.path.exists(f"{root}/{name}") for name in CONTAINER_FILES):
        return True
    return any(group in (_text(f"{root}/proc/1/cgroup") or "") for group in CONTAINER_GROUPS)


def _machine_id(root: str) -> str | None:
    """A checksum of /etc/machine-id, which machine-id(5) asks not to hand out as it is.

    32 bits are enough beside the host's name, and cost none of hashlib's start-up time.
    """
    machine_id = _first_line(f"{root}/etc/machine-id")
    if not machine_id:
        return None
    return f"{zlib.crc32(b'once-run' + machine_id.encode()):08x}"


def _first_line(path: str) -> str | None:
    text = _text(path)
    return text.strip().partition("\n")[0] or None if text else None


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None
