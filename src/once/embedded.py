"""The embedded default and its refusals: when no database is set, may this host keep its record in a file of its own?

One host needs no set-up. But a host that belongs to a cluster and lost its settings (cron drops the environment)
must not fall back to a file: every host would then win against nobody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from once import host
from once.errors import NoDatabaseSet
from once.settings import Settings

USED = "used-database.json"
FIRST_TIME = (
    "no database is set, so this host keeps its own record in {file}",
    'other hosts with this line will run it too; to run it on one of them, set db = "postgresql://…" in /etc/once.toml',
    "this is said once; once status shows the record",
)
"""What is said when the embedded default's file is made."""

SET_IT = "set db in /etc/once.toml (cron drops your environment), or --db local for a record of this host alone"


def default_address(settings: Settings, environ: Mapping[str, str], *, root: str = "/") -> str:
    """`local`, or a refusal. Raises NoDatabaseSet."""
    if settings.unreadable:
        files = ", ".join(settings.unreadable)
        raise NoDatabaseSet(
            why=f"and {files} cannot be read by {host.user_name()}", repair=f"chmod +r {files}, or --db"
        )
    used = last_use(settings.state_dir, shared=f"{root}/var/lib/once")
    if used:
        raise NoDatabaseSet(why=f"but this host used {used}", repair=SET_IT)
    if host.in_container(environ, root=root):
        raise NoDatabaseSet(
            why="and a container's own file would be seen by no other and is lost with it",
            repair="ONCE_DB in the container's environment, or --db sqlite:PATH on a volume",
        )
    return "local"


def note_use(state_dir: str, name: str) -> None:
    """Remember that this host's record is in that database. Best effort: a run is not refused for want of the note.

    Root's note is for every user: they may open it by its name, but not list root's directory.
    """
    import json

    path = os.path.join(state_dir, USED)
    draft = f"{path}.{os.getpid()}"
    try:
        if _noted(path) == name:
            os.utime(path)
            return
        if not os.path.isdir(state_dir):
            os.makedirs(state_dir)
            os.chmod(state_dir, 0o711)  # noqa: S103 — the note is for others, the rest names its own mode
        with open(draft, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o644)
            json.dump({"db": name}, file)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)


def last_use(state_dir: str, *, shared: str = "/var/lib/once") -> str | None:
    """Which database this user, or root for this host, used last, and until when; None if never."""
    for path in (os.path.join(state_dir, USED), os.path.join(shared, USED)):
        name = _noted(path)
        if name:
            until = datetime.fromtimestamp(os.stat(path).st_mtime, UTC).astimezone()
            return f"{name} until {until:%a %Y-%m-%d %H:%M}"
    return None


def _noted(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            import json

            return str(json.load(file)["db"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
