"""Names of time zones: those of the tz database, and why another one is refused.

Zone data come from the system, else from the package tzdata; zoneinfo sees to that.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from once import errors

OFFSET = r"(?:UTC|GMT|utc|gmt)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})(?::?[0-9]{2})?"
HOST_DEPENDENT = frozenset({"localtime", "posixrules", "Factory"})
ABBREVIATIONS = {
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "MDT": "America/Denver",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "EDT": "America/New_York",
    "BST": "Europe/London",
    "CEST": "Europe/Berlin",
    "EEST": "Europe/Helsinki",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "AEST": "Australia/Sydney",
}
PLACE = "the name of a place, such as Europe/Berlin, or UTC"


def check(name: str) -> None:
    """Raise ZoneInvalid, in one line and with a repair, unless this names a zone on every host alike."""
    if fault := _fault_of_text(name):
        why, repair = fault
        raise errors.ZoneInvalid(name=name, why=why, repair=repair)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        why, repair = _fault_of_unknown(name)
        raise errors.ZoneInvalid(name=name, why=why, repair=repair) from None


def _fault_of_text(name: str) -> tuple[str, str] | None:
    """What is wrong with a name that zoneinfo may well accept, or choke on."""
    if not name.strip():
        return "it is empty", PLACE
    if name != name.strip():
        return "there are blanks around it", name.strip()
    if name in HOST_DEPENDENT:
        return "it means another zone on each host", PLACE
    if name.startswith(("posix/", "right/")):
        return "it is a variant of another zone", name.partition("/")[2]
    if name.startswith(("/", ".", ":")) or ".." in name.split("/"):
        return "it is a path, not a name", PLACE
    return None


def _fault_of_unknown(name: str) -> tuple[str, str]:
    from zoneinfo import available_timezones

    if match := re.fullmatch(OFFSET, name):
        reversed_sign = "-" if match["sign"] == "+" else "+"
        fixed = f"Etc/GMT{reversed_sign}{int(match['hours'])}"
        return "an offset knows no daylight saving", f"a place such as Europe/Berlin, or {fixed} (its sign is reversed)"
    if name.upper() in ABBREVIATIONS:
        return "it is an abbreviation, which several zones share", ABBREVIATIONS[name.upper()]
    known = sorted(available_timezones())
    for right in known:
        if right.lower() == name.lower():
            return "upper and lower case matter", right
    if inside := [zone for zone in known if zone.lower().startswith(f"{name.lower().rstrip('/')}/")]:
        return "it is a region, not a zone", f"a place in it, such as {inside[0]}"
    return "no such zone", _alike(name, known)


def _alike(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1)), PLACE)
