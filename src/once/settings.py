"""Where values come from: flag, environment (ONCE_…), the user's file, /etc/once.toml, default, in this order."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from once import host
from once.errors import DurationInvalid, SettingInvalid, TaskNameInvalid
from once.instants import parse_duration
from once.noun import Noun
from once.run import task_name

SYSTEM_FILE = "/etc/once.toml"
KEEP = timedelta(days=90)
"""How long history is kept where nobody has said."""

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class Settings(Noun):
    """What a host or user has set, before any flag.

    `db` is None when nothing names a database. `unreadable` are the files that are there but may not be read: they may
    have named a database. `state_dir_given`: whoever set the state directory says that what is written there lasts,
    even in a container.
    """

    db: str | None = None
    db_wait: timedelta | None = None
    lease: timedelta | None = None
    max_skew: timedelta | None = None
    tail: int | None = None
    keep: timedelta | None = None
    tz: str | None = None
    scope: str = ""
    off: bool = False
    record_args: bool = True
    state_dir: str = ""
    state_dir_given: bool = False
    unreadable: tuple[str, ...] = ()


def resolve(environ: Mapping[str, str], *, system_file: str = SYSTEM_FILE) -> Settings:
    """The settings of this host and user. Raises SettingInvalid, which names file or variable and key."""
    found: dict[str, Any] = {}
    unreadable: list[str] = []
    for name in READERS:
        variable = _variable(name)
        if variable in environ and (environ[variable] or name != "db"):
            _take(found, name, environ[variable], variable)
    for file in _files(environ, system_file):
        values = _read(file, unreadable)
        for name in values.keys() - found.keys():
            if name not in READERS:
                raise SettingInvalid(where=file, why=f"unknown setting {name!r}; known are {', '.join(READERS)}")
            _take(found, name, values[name], file)
    given = "state_dir" in found
    if not given:
        found["state_dir"] = state_directory(environ)
    return Settings(**found, state_dir_given=given, unreadable=tuple(unreadable))


def state_directory(environ: Mapping[str, str]) -> str:
    """Where this user's journal and embedded database are: /var/lib/once for root, else by the XDG specification.

    Raises SettingInvalid for a user without a home where somebody else has made the directory.
    """
    if os.geteuid() == 0:
        return "/var/lib/once"
    if os.path.isabs(environ.get("XDG_STATE_HOME", "")):  # a relative one is to be ignored, by the specification
        return os.path.join(environ["XDG_STATE_HOME"], "once")
    home = host.home(environ)
    return os.path.join(home, ".local/state/once") if home else _of_the_homeless()


def _of_the_homeless() -> str:
    """The directory of a user without a home. Raises SettingInvalid if it is another's, or others may write there."""
    path = f"/var/tmp/once-{os.geteuid()}"  # noqa: S108 — ours alone, or refused
    with suppress(OSError):  # what is not there is made, and what cannot be is told when it is needed
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise SettingInvalid(
                where=path, why="others may write there, and nothing says where else to; set state_dir"
            )
    return path


def _variable(name: str) -> str:
    return f"ONCE_{name.upper()}"


def _files(environ: Mapping[str, str], system_file: str) -> list[str]:
    home = host.home(environ)
    if os.path.isabs(environ.get("XDG_CONFIG_HOME", "")):
        return [os.path.join(environ["XDG_CONFIG_HOME"], "once.toml"), system_file]
    return [os.path.join(home, ".config/once.toml"), system_file] if home else [system_file]


def _read(file: str, unreadable: list[str]) -> dict[str, Any]:
    try:
        with open(file, "rb") as opened:
            text = opened.read()
    except OSError:
        # A home that may not be entered is another user's (sudo keeps HOME): it has no settings for us. A link to
        # nowhere is a file that has not been mounted yet.
        if os.path.lexists(file):
            unreadable.append(file)
        return {}
    import tomllib

    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingInvalid(where=file, why=str(error)) from None


def _take(found: dict[str, Any], name: str, value: object, where: str) -> None:
    try:
        found[name] = READERS[name](value)
    except (ValueError, TypeError, DurationInvalid) as error:
        named = where if where == _variable(name) else f"{where}: {name}"
        raise SettingInvalid(where=named, why=str(error)) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"must be a text in quotes, not {value!r}")
    return value


def _address(value: object) -> str:
    """An address, not shown where it is none: it may hold a password. An empty one was meant to be one."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError('must be one address in quotes, such as "postgresql://USER@HOST/DB"')
    return value


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in TRUE + FALSE:
        raise ValueError(f"must be true or false, not {value!r}")
    return value.lower() in TRUE


def _duration(value: object) -> timedelta:
    return parse_duration(str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(value))


def _size(value: object) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"must be a number of bytes, not {value!r}")
    return value


def _path(value: object) -> str:
    path = _text(value)
    if not os.path.isabs(path):
        raise ValueError(f"must be an absolute path, not {path!r}")
    return path


def _scope(value: object) -> str:
    """Checked as the beginning of a task's name: mistyped, it would let `pause --all` pause nothing and say it had."""
    scope = _text(value)
    if scope.endswith("/") or scope.startswith("/"):
        raise ValueError(f"must be without the slash that follows it, not {scope!r}")
    try:
        return task_name(scope) if scope else scope
    except TaskNameInvalid as error:
        raise ValueError(error.message) from None


READERS: dict[str, Callable[[object], Any]] = {
    "db": _address,
    "db_wait": _duration,
    "lease": _duration,
    "max_skew": _duration,
    "tail": _size,
    "keep": _duration,
    "tz": _text,
    "scope": _scope,
    "off": _flag,
    "record_args": _flag,
    "state_dir": _path,
}
