"""The file that SQLite's record lives in: made with its directory's mode and group, refused where locks do not hold."""

from __future__ import annotations

import os
import stat

from once.errors import StoreUnusable, Unreachable

NETWORK = frozenset(
    (
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.ceph", "fuse.cephfs", "fuse.curlftpfs", "fuse.davfs2",
        "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.mount.glusterfs", "fuse.rclone",
        "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
        "ocfs2", "orangefs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs",
    )
)  # fmt: skip
"""File systems that several machines may share, as /proc/mounts calls them."""


def make_ready(path: str, *, store: str, makes_directory: bool = False, mounts: str = "/proc/mounts") -> None:
    """Make the file if it is not there. Raises StoreUnusable, or Unreachable when the disk is full."""
    directory = os.path.dirname(path)
    if makes_directory and not os.path.isdir(directory):
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
        except OSError as error:
            raise refused(error, directory, store=store) from error
    kind = file_system_of(directory, mounts)
    if kind in NETWORK:
        why = f"{directory} is on a network file system ({kind}), where its locks do not hold"
        raise StoreUnusable(store=store, why=why, repair="a directory on a local disk, or PostgreSQL")
    if os.path.exists(path):
        return
    try:
        _make(path, os.stat(directory))
    except FileExistsError:
        return
    except FileNotFoundError:
        raise StoreUnusable(store=store, why=f"there is no {directory}", repair=f"mkdir -p {directory}") from None
    except OSError as error:
        raise refused(error, path, store=store) from error


def refused(error: OSError, path: str, *, store: str) -> StoreUnusable | Unreachable:
    """What the system's refusal to make or write a file means."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unreachable(store=store, why="its disk is full")
    why = f"{os.path.dirname(path)} cannot be written ({error.strerror})"
    return StoreUnusable(store=store, why=why, repair="another directory, or its owner")


def file_system_of(directory: str, mounts: str = "/proc/mounts") -> str | None:
    """The type of file system a directory is on; None where the system does not tell. Of two mounts the later one."""
    found, kind = "", None
    place = os.path.realpath(directory).rstrip("/") + "/"
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                _, point, its_kind = line.split(" ", 3)[:3]
                point = _unescaped(point).rstrip("/") + "/"
                if len(point) >= len(found) and place.startswith(point):
                    found, kind = point, its_kind
    except OSError:
        return None
    return kind


def _unescaped(point: str) -> str:
    """A mount point as getmntent(3) reads it: blanks stand as octal escapes."""
    for character in " \t\n\\":
        point = point.replace(f"\\{ord(character):03o}", character)
    return point


def _make(path: str, directory: os.stat_result) -> None:
    """An empty file with the directory's group and its rights to read and write; in a sticky directory ours alone."""
    mode = directory.st_mode & 0o666 if not directory.st_mode & stat.S_ISVTX else 0o600
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        if directory.st_gid != os.fstat(descriptor).st_gid:
            try:
                os.fchown(descriptor, -1, directory.st_gid)
            except PermissionError:
                mode &= ~0o060
        os.fchmod(descriptor, mode | 0o600)
    finally:
        os.close(descriptor)
