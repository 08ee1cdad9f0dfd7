"""Which zone a schedule is in: what the user says, else what the host implies, and a refusal where that is unclear.

Two hosts in two zones would run a job twice, at two instants, each sure of its slot. So a zone that nobody wrote down
is taken only as long as every way to imply it, and the zone the task is known by, name the same slot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from once import errors
from once.instants import rfc3339
from once.run import Line
from once.schedule import dialect
from once.schedule.schedule import Schedule
from once.schedule.zone_names import check

LOCALTIME = "/etc/localtime"
"""TZ=:/etc/localtime says what no TZ says, and spares the C library a look at the file at every call."""

__all__ = ["check", "implied", "resolve"]

ALWAYS_UTC = frozenset({b"UTC0", b"UCT0", b"GMT0", b"<UTC>0", b"<+00>0"})
"""The last line of zone files that never leave UTC (tzfile(5), the footer)."""


def resolve(
    flag: str | None,
    setting: str | None,
    environ: Mapping[str, str],
    *,
    expression: str,
    at: datetime,
    known: Line | None = None,
) -> str:
    """The zone: --tz, else the setting, else what the host implies, if that names one slot for a start at `at`.

    `known` is the line that the task was last seen with; another expression says nothing about the zone.

    Raises ZoneInvalid, ScheduleInvalid, and ZoneAmbiguous.
    """
    if flag is not None:
        check(flag)
        return flag
    if setting:
        _check(setting, "ONCE_TZ" if environ.get("ONCE_TZ") == setting else "the setting tz")
        return setting
    candidates = implied(environ)
    for zone in candidates:
        _check(zone, _origin(zone, environ))
    slots = {zone: Schedule.parse(expression, zone).slot_for(at).at for zone in candidates}
    chosen = candidates[0]
    for zone, slot in slots.items():
        if slot != slots[chosen]:
            why = f"this host implies {chosen} and {zone}, and they name different slots"
            raise errors.ZoneAmbiguous(why=_with_slots(why, slots[chosen], slot))
    if known and known.expression == dialect.normalised(expression) and known.zone != chosen:
        known_slot = _slot_of_known(known, at)
        if known_slot != slots[chosen]:
            why = f"this host implies {chosen}, but the task is known in {known.zone}, and they name different slots"
            raise errors.ZoneAmbiguous(why=_with_slots(why, slots[chosen], known_slot))
    return chosen


def implied(environ: Mapping[str, str], etc: str = "/etc") -> list[str]:
    """The zones that the host implies, the strongest first, each once: CRON_TZ, TZ, then /etc/localtime.

    The names are not checked. Raises ZoneAmbiguous for an /etc/localtime that does not tell its name.
    """
    found = []
    if cron_zone := environ.get("CRON_TZ"):
        found.append(_named_by(cron_zone))
    if "TZ" in environ:
        found.append(_named_by(environ["TZ"]) or "UTC")
    host = _of_host(etc)
    return list(dict.fromkeys(host if name == LOCALTIME else name for name in (*found, LOCALTIME)))


def _check(name: str, origin: str) -> None:
    """As `check`, and says who has named it: nobody has written it on the line."""
    try:
        check(name)
    except errors.ZoneInvalid as fault:
        raise errors.ZoneInvalid(
            **fault.details | {"why": f"{fault.details['why']} (it comes from {origin})"}
        ) from None


def _origin(zone: str, environ: Mapping[str, str]) -> str:
    return next((name for name in ("CRON_TZ", "TZ") if _named_by(environ.get(name, "")) == zone), LOCALTIME)


def _of_host(etc: str) -> str:
    localtime = f"{etc}/localtime"
    if os.path.islink(localtime):
        for target in (os.readlink(localtime), os.path.realpath(localtime)):
            if "/zoneinfo/" in target:
                return _named_by(target)
    if name := _content(f"{etc}/timezone").decode(errors="replace").strip():
        return name
    rule = _content(localtime).strip().rpartition(b"\n")[2]
    if os.path.isfile(localtime) and rule not in ALWAYS_UTC:
        raise errors.ZoneAmbiguous(why=f"{localtime} is a copy that does not tell which zone it is")
    return "UTC"


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _named_by(value: str) -> str:
    """The zone of a value as TZ takes it: a colon may stand before it, and a path is one of zone files."""
    _, zoneinfo, name = value.rpartition("zoneinfo/")
    return (name if zoneinfo else value).removeprefix(":").removeprefix("posix/")


def _slot_of_known(known: Line, at: datetime) -> datetime | None:
    try:
        return Schedule.of(known).slot_for(at).at
    except errors.ZoneInvalid:
        return None


def _with_slots(why: str, ours: datetime, theirs: datetime | None) -> str:
    other = rfc3339(theirs) if theirs else "unknown here"
    return f"{why} ({rfc3339(ours)} and {other})"
