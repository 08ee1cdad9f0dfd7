"""An expression as cron reads it, or a refusal that names the field, the character and a repair.

Five fields, a macro (`@hourly` … `@yearly`) or `@every DURATION`. The rules are Debian cron's, read from its manual
(crontab(5), cron(8)) and held against the daemon itself by the tests; where an expression is fired by the Kubernetes
controller, those of robfig/cron v3.0.1 (parser.go, spec.go), which it uses.
"""

from __future__ import annotations

from datetime import timedelta
from string import ascii_letters, digits

from once import errors
from once.instants import SECOND, parse_duration
from once.schedule import fields
from once.schedule.fields import FIELDS, Unreadable
from once.schedule.pattern import Days, Pattern

LONGEST_TEXT = 1000

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

ZONE_PREFIXES = ("TZ=", "CRON_TZ=")
READABLE = frozenset(f"{ascii_letters}{digits}*,/?#()- ")


def normalised(expression: str) -> str:
    """The expression as it is stored: as written, but for blanks around it and between its fields."""
    return " ".join(word for word in expression.replace("\t", " ").split(" ") if word)


def read(expression: str, engine: str) -> Pattern | timedelta:
    """What a normalised expression says: local times, or an interval (`@every`). Raises ScheduleInvalid."""
    try:
        return _read(expression, engine)
    except Unreadable as refusal:
        shown = expression if len(expression) <= LONGEST_TEXT else f"{expression[:40]}…"
        raise errors.ScheduleInvalid(expression=shown, why=refusal.why, repair=refusal.repair) from None


def _read(expression: str, engine: str) -> Pattern | timedelta:
    if len(expression) > LONGEST_TEXT:
        raise Unreadable(f"it is longer than {LONGEST_TEXT} characters", "a shorter one")
    if expression.startswith(ZONE_PREFIXES):
        raise _prefixed(expression.partition("=")[2])
    if expression.startswith("@"):
        return _read_macro(expression, engine)
    return _read_fields(expression, engine)


def _read_macro(expression: str, engine: str) -> Pattern | timedelta:
    name, _, rest = expression.partition(" ")
    if name == "@every":
        return _read_interval(rest, engine)
    if name == "@reboot":
        raise Unreadable("@reboot has no slots: each host boots when it does", "@daily, or a line without once")
    if expression in MACROS:
        return _read_fields(MACROS[expression], engine)
    if rest and name in MACROS:
        raise Unreadable(f"{rest} after {name}", name)
    raise Unreadable(f"{name} is not a macro", name.lower() if name.lower() in MACROS else ", ".join(MACROS))


def _read_interval(text: str, engine: str) -> timedelta:
    if engine == "kubernetes":
        raise Unreadable(
            "Kubernetes counts @every from the CronJob's creation, which nobody else knows", "*/15 * * * *"
        )
    try:
        interval = parse_duration(text)
    except errors.DurationInvalid as refusal:
        raise Unreadable(f"@every: {refusal.message}", "@every 15m") from None
    if interval < SECOND or interval % SECOND:
        raise Unreadable("@every wants whole seconds, one at least", "@every 15m")
    return interval


def _read_fields(expression: str, engine: str) -> Pattern:
    _check_characters(expression)
    texts = expression.split(" ") if expression else []
    if len(texts) != len(FIELDS):
        raise _miscounted(texts)
    minute, hour, day_of_month, month, day_of_week = texts
    of_kubernetes = engine == "kubernetes"
    starred = fields.holds_star if of_kubernetes else fields.begins_with_star
    pattern = Pattern(
        times=_times(fields.numbers(fields.HOUR, hour), fields.numbers(fields.MINUTE, minute)),
        months=fields.numbers(fields.MONTH, month),
        days=Days(
            of_month=fields.days_of_month(day_of_month),
            of_week=fields.days_of_week(day_of_week),
            both_must_match=starred(day_of_month) or starred(day_of_week),
        ),
        follows_real_time=fields.begins_with_star(minute) or fields.begins_with_star(hour),
        runs_late=not of_kubernetes,
    )
    if not pattern.ever_comes():
        raise Unreadable("it never matches: there is no such date", "a day that these months have")
    return pattern


def _times(hours: frozenset[int], minutes: frozenset[int]) -> tuple[timedelta, ...]:
    return tuple(timedelta(minutes=60 * hour + minute) for hour in sorted(hours) for minute in sorted(minutes))


def _check_characters(expression: str) -> None:
    names = [field.name for field in FIELDS]
    for place, character in enumerate(expression):
        if character not in READABLE:
            index = expression[:place].count(" ")
            where = names[index] if index < len(names) else "after the fifth field"
            repair = "a plain blank" if character.isspace() else "digits, names and * , - / only"
            raise Unreadable(f"{where}: {_shown(character)} has no meaning", repair)


def _shown(character: str) -> str:
    """The character, and its code point where it cannot be seen or looks like another."""
    if character.isascii() and character.isprintable():
        return f"'{character}'"
    code_point = f"U+{ord(character):04X}"
    return f"'{character}' ({code_point})" if character.isprintable() else code_point


def _miscounted(texts: list[str]) -> Unreadable:
    count = len(texts)
    if count > len(FIELDS):
        without = " ".join(texts[1 : len(FIELDS) + 1])
        return Unreadable(
            f"expected 5 fields, got {count}; cron has no seconds field", f"without the seconds: {without}"
        )
    if count == 0:
        return Unreadable("it is empty", '"0 9 * * *" for nine o\'clock every day')
    return Unreadable(f"expected 5 fields, got {count}", 'minute hour day month weekday, in quotes: "0 9 * * *"')


def _prefixed(text: str) -> Unreadable:
    zone, _, rest = text.partition(" ")
    flag = f"--tz {zone}" if zone[:1].isalpha() else "--tz with a zone such as Europe/Berlin"
    repair = f'{flag} --schedule "{rest}"' if rest else flag
    return Unreadable("the zone is not part of the schedule", f"use {repair}")
