"""Which file a command's name is, and how it is executed: as execvp(3) does, save where shells know better.

The first file of that name that may be executed decides. A file without `#!` line goes to /bin/sh, unless it has a
NUL byte before its first line ends: then it is a binary for another machine, or a broken one. A file whose interpreter
is missing is said to exist, which the bare ENOENT does not say.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence

SHELL = "/bin/sh"
USUAL_PATH = "/bin:/usr/bin"
"""Where to look when the environment has no PATH (confstr(3), _CS_PATH)."""

HEAD = 256
"""Bytes at the beginning of a file that tell text from a binary."""

NOT_HERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT))
"""What makes a search go on: no such file, or none that may be used."""

CAPABILITIES = "security.capability"


def candidates(name: str, env: Mapping[str, str]) -> Iterator[str]:
    """The paths that the name may mean, in order. An empty entry of the PATH is the working directory."""
    if "/" in name:
        yield name
        return
    if not name:
        return
    for directory in env.get("PATH", USUAL_PATH).split(":"):
        yield f"{directory or '.'}/{name}"


def execute(argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
    """Become the command. Returns only if that failed: the errno, and what it cannot say (or nothing)."""
    refused = (errno.ENOENT, "")
    for path in candidates(argv[0], env):
        try:
            os.execve(path, [*argv], env)  # noqa: S606 - no shell is the point
        except OSError as error:
            number = error.errno or errno.ENOEXEC
        if number == errno.ENOEXEC:
            return _execute_by_shell(path, argv, env)
        if number not in NOT_HERE:
            return number, ""
        if number == errno.EACCES:
            refused = _refusal(path, searched="/" not in argv[0]) or refused
        elif os.access(path, os.X_OK):
            return number, "its interpreter does not exist"
    return refused


def escapes(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether the file changes the user, the group or the capabilities of who executes it (sudo, ping).

    The kernel then forgets that the command was to get SIGTERM when we die (prctl(2), PR_SET_PDEATHSIG), and our
    signals may be refused.
    """
    for path in candidates(argv[0], env):
        status = _status(path)
        if status is not None and stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK):
            other_user = bool(status.st_mode & stat.S_ISUID) and status.st_uid != os.geteuid()
            other_group = bool(status.st_mode & stat.S_ISGID) and status.st_gid != os.getegid()
            return other_user or other_group or (os.geteuid() != 0 and _has_capabilities(path))
    return False


def _refusal(path: str, *, searched: bool) -> tuple[int, str] | None:
    """What EACCES means. In a search a directory is passed over, and so is what lies in a forbidden directory."""
    status = _status(path)
    is_directory = status is not None and stat.S_ISDIR(status.st_mode)
    if searched and (status is None or is_directory):
        return None
    return errno.EACCES, "it is a directory" if is_directory else ""


def _execute_by_shell(path: str, argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, str]:
    try:
        with open(path, "rb") as file:
            first_line = file.read(HEAD).partition(b"\n")[0]
        if b"\0" not in first_line:
            os.execve(SHELL, [SHELL, path, *argv[1:]], env)  # noqa: S606 - what shells do with such a file
    except OSError as error:
        return error.errno or errno.ENOEXEC, ""
    return errno.ENOEXEC, ""


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _has_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, CAPABILITIES))
    except (OSError, AttributeError):
        return False
