"""This host: who starts a command here, and whether anything written here lasts."""

from __future__ import annotations

import os
import pwd
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from once.clock import BOOTTIME
from once.run import Holder

if TYPE_CHECKING:
    from once.event import Operator

CONTAINER_FILES = (".dockerenv", "run/.containerenv", "run/systemd/container", "dev/termination-log")
"""The last is in every container of a pod, also in one whose cron has dropped the variables."""

CONTAINER_VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
NO_LOGIN = 2**32 - 1
"""What the kernel says of processes that nobody's login has started: cron's, a container's."""

CONTAINER_GROUPS = ("docker", "kubepods", "containerd", "libpod", "lxc")


COERCED = frozenset(("C.UTF-8", "C.utf8", "UTF-8"))
"""What the interpreter sets LC_CTYPE to where it finds the C locale (PEP 538)."""


def environment() -> dict[str, str]:
    """The environment that was handed to this process, without the LC_CTYPE that the interpreter may have set."""
    environ = dict(os.environ)
    environ.pop("", None)  # a name that execve(2) takes and os.execve does not
    handed = _text("/proc/self/environ") if environ.get("LC_CTYPE") in COERCED else None
    if handed:
        del environ["LC_CTYPE"]
        given = (entry.partition("=") for entry in handed.split("\0"))
        environ |= {name: value for name, _, value in given if name == "LC_CTYPE"}
    return environ


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
        booted_at=datetime.now(UTC) - timedelta(seconds=time.clock_gettime(BOOTTIME)),
    )


def operator(environ: Mapping[str, str], *, why: str | None = None, root: str = "/") -> Operator:
    """Who types this: the login behind sudo, doas or su, not the user that it became."""
    from once.event import Operator  # what no start needs

    return Operator(login=_login(environ, root), host=os.uname().nodename, why=why)


def _login(environ: Mapping[str, str], root: str) -> str:
    """From sudo's or doas's variable, which only root is believed; else from the kernel, which remembers the login."""
    if os.geteuid() == 0:
        for name in ("SUDO_USER", "DOAS_USER"):
            if environ.get(name):
                return environ[name]
    login_uid = _first_line(f"{root}/proc/self/loginuid")
    if login_uid and login_uid.isdecimal() and int(login_uid) != NO_LOGIN:
        return _name_of(int(login_uid))
    return user_name()


def user_name() -> str:
    """The effective user's login name; its number where nobody has that number (cron sets neither USER nor HOME)."""
    return _name_of(os.geteuid())


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


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
