"""Debian's cron, played through a night with a clock of its own: what it starts, and when. Also on real time.

The daemon runs in a mount namespace with its own spool, without the host's /etc/crontab and /etc/cron.d, and under
libfaketime with a clock that is SPEED times as fast. Its jobs run without libfaketime, so a line that starts every
minute is the pointer of that clock: a start belongs to the minute of the tick next to it, however late both are.
"""

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

SPEED = 60
MINUTE = timedelta(minutes=1)
PATIENCE = 60.0
"""Seconds without any tick after which the daemon is taken for dead."""

INSIDE = """
set -e
mount --bind "$LAB/spool" /var/spool/cron
mount --bind "$LAB/empty" /etc/cron.d
mount --bind "$LAB/crontab" /etc/crontab
mount -t tmpfs none /run
"""
PLAYED = f"""{INSIDE}
date +%s.%N > "$LAB/began"
exec env LD_PRELOAD="$LIBRARY" FAKETIME="@$START x$SPEED" FAKETIME_DONT_RESET=1 cron -f
"""
REAL = f"""{INSIDE}
echo "$NAME" > /proc/sys/kernel/hostname
exec cron -f
"""


@dataclass(frozen=True, slots=True)
class Start:
    """That a line was started: the number of the line, and when, in seconds of real time."""

    line: int
    at: float


def missing() -> str | None:
    """What this host lacks for playing cron, if anything."""
    if os.geteuid() != 0:
        return "root"
    for program in ("cron", "unshare"):
        if not shutil.which(program):
            return program
    if not _library():
        return "libfaketime"
    in_namespace = ["unshare", "-m", "-u", "mount", "-t", "tmpfs", "none", "/run"]
    if subprocess.run(in_namespace, check=False, capture_output=True).returncode:
        return "mount namespaces"
    return None


def play(lab: Path, expressions: list[str], *, zone: str, start: datetime, minutes: int) -> dict[str, set[datetime]]:
    """When each expression was started, to the minute and in UTC, for so many minutes from a local time of the zone."""
    with _daemon(lab, ["* * * * *", *expressions], zone, start) as log:
        starts = list(_starts_until(log, ticks=minutes))
    ticks = sorted(each.at for each in starts if each.line == 0)
    began, first = float((lab / "began").read_text()), start.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    first += (ticks[0] - began) * SPEED // 60 * MINUTE
    found: dict[str, set[datetime]] = {expression: set() for expression in expressions}
    for each in starts:
        if each.line:
            nearest = min(range(len(ticks)), key=lambda number: abs(ticks[number] - each.at))
            found[expressions[each.line - 1]].add(first + nearest * MINUTE)
    return found


@contextmanager
def on_host(lab: Path, name: str, *lines: str) -> Iterator[None]:
    """A real cron with this crontab, on real time, on a host of this name."""
    _install(lab, *lines)
    daemon = subprocess.Popen(
        ["unshare", "-m", "-u", "sh", "-c", REAL], env=os.environ | {"LAB": str(lab), "NAME": name}
    )
    try:
        yield
    finally:
        daemon.terminate()
        daemon.wait()


def _install(lab: Path, *lines: str) -> None:
    """A spool whose only crontab is root's, and an /etc without any."""
    (lab / "spool/crontabs").mkdir(parents=True)
    (lab / "empty").mkdir()
    (lab / "crontab").touch()
    crontab = lab / "spool/crontabs/root"
    crontab.write_text("\n".join(lines) + "\n")
    crontab.chmod(0o600)


@contextmanager
def _daemon(lab: Path, expressions: list[str], zone: str, start: datetime) -> Iterator[int]:
    """A running cron with these lines; gives the pipe into which each start is written."""
    os.mkfifo(lab / "starts")
    lines = [f'{each} echo "{n} $(date +\\%s.\\%N)" > {lab}/starts' for n, each in enumerate(expressions)]
    _install(lab, "SHELL=/bin/sh", *lines)
    settings = {"LAB": str(lab), "LIBRARY": _library(), "START": f"{start:%Y-%m-%d %H:%M:%S}", "SPEED": str(SPEED)}
    log = os.open(lab / "starts", os.O_RDWR)  # also writing, so that the pipe never ends between two jobs
    daemon = subprocess.Popen(["unshare", "-m", "sh", "-c", PLAYED], env=os.environ | settings | {"TZ": zone})
    try:
        yield log
    finally:
        daemon.terminate()
        daemon.wait()
        os.close(log)


def _starts_until(log: int, *, ticks: int) -> Iterator[Start]:
    """What is written, until so many minutes have begun and what they started has had a second to say so."""
    rest, last = b"", None
    while last is None or time.monotonic() < last:
        patience = PATIENCE if last is None else max(0.0, last - time.monotonic())
        if not select.select([log], [], [], patience)[0]:
            assert last is not None, "cron does not tick"
            return
        *lines, rest = (rest + os.read(log, 65536)).split(b"\n")
        for line in lines:
            number, at = line.split()
            yield Start(int(number), float(at))
            ticks -= number == b"0"
        if ticks <= 0 and last is None:
            last = time.monotonic() + 0.5


def _library() -> str:
    return next((str(path) for path in Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), "")
