"""Addresses of a store as people write them, told apart and shown without a password; no driver is needed for that.

`local`, `sqlite:PATH`, `file:PATH` (the address stands in that file, a mounted secret), `postgresql://…`,
`service=NAME`, or any other string of keywords that libpq takes. URIs are read more strictly than libpq reads them: it
takes a password with an unescaped `@` or `/` apart in silence, and parts of the password become a host name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from once.errors import AddressInvalid
from once.noun import Noun

SCHEMES = ("postgresql://", "postgres://")
SECRETS = frozenset(("password", "sslpassword"))
TOLD = ("service", "host", "hostaddr", "port", "user", "dbname")
"""Keywords that say where the database is, and stand in messages."""

SHAPES = "postgresql://USER@HOST/DB, service=NAME, host=… dbname=…, sqlite:PATH or local"
HEX = frozenset("0123456789abcdefABCDEF")


class Kind(StrEnum):
    """Which store an address is for."""

    LOCAL = "local"
    SQLITE = "sqlite"
    FILE = "file"
    URI = "uri"
    KEYWORDS = "keywords"


class Address(Noun):
    """An address that was read. `rest`, a path or what libpq is given, may hold a password; `shown` never does."""

    kind: Kind
    rest: str
    shown: str
    has_password: bool = False

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def read(address: str) -> Address:
    """Tell what the address is. Raises AddressInvalid, without a part of the address that could be a password."""
    text = address.strip()
    if text == "local":
        return Address(Kind.LOCAL, "", "local")
    for kind in (Kind.SQLITE, Kind.FILE):
        if text.startswith(f"{kind}:"):
            return Address(kind, _path(text, kind), text)
    if text.startswith(SCHEMES):
        return _uri(text)
    scheme, colon, _ = text.partition("://")
    if colon and scheme.replace("+", "").isalnum():
        raise AddressInvalid(why=f"{scheme}:// is not a store that once knows", repair=SHAPES)
    if "=" in text:
        return _keywords(text)
    why = "the address is empty" if not text else "the address names no known store"
    raise AddressInvalid(why=why, repair=f"sqlite:{text}" if text.startswith("/") else SHAPES)


def _path(text: str, kind: Kind) -> str:
    path = text.removeprefix(f"{kind}:")
    if not path or "\0" in path:
        raise AddressInvalid(why=f"{kind}: without a path", repair=f"{kind}:/PATH")
    if path == ":memory:":
        raise AddressInvalid(why="a database in memory remembers nothing", repair=SHAPES)
    if kind is Kind.SQLITE and not path.startswith(("/", "~")):
        why = f"sqlite:{path} is another file in each working directory, each with a record of its own"
        raise AddressInvalid(why=why, repair=f"sqlite:{os.path.abspath(path)}")
    return path


def _uri(text: str) -> Address:
    scheme, _, rest = text.partition("://")
    location, _, query = rest.partition("?")
    authority, _, database = location.partition("/")
    login, _, hosts = authority.rpartition("@")
    user, colon, password = login.partition(":")
    _require_escapes(rest)
    parts = query.split("&") if query else []
    torn = "@" in login or "@" in database or ":" in password or not all(map(_is_parameter, parts))
    if torn or not all(map(_is_host, hosts.split(","))):
        why = "the address cannot be taken apart; a password, say, with @, /, : or ? in it must be percent-encoded"
        raise AddressInvalid(why=why, repair="%40 for @, %2F for /, %3A for :, %3F for ?")
    shown = f"{scheme}://{user}{'@' if user else ''}{hosts}{'/' if database else ''}{database}"
    in_query = any(part.partition("=")[0] in SECRETS for part in parts)
    if not hosts or not database:
        shown += _shown_query(parts)
    return Address(Kind.URI, text, shown, has_password=bool(colon and password) or in_query)


def _shown_query(parts: list[str]) -> str:
    """What says where the database is, when the rest of the URI does not."""
    told = [part for part in parts if part.partition("=")[0] in ("host", "port", "dbname", "service")]
    _require_one_value_each(part.partition("=")[2] for part in told)
    return f"?{'&'.join(told)}" if told else ""


def _require_escapes(text: str) -> None:
    for after in text.split("%")[1:]:
        if not after[1:] or not HEX.issuperset(after[:2]):
            raise AddressInvalid(why="a % in the address begins no escape", repair="%25 for a % that stands for itself")


def _require_one_value_each(values: Iterable[str]) -> None:
    """An address as the name of a host or a database, or keywords that semicolons divide, may have a password in it."""
    if any("://" in value or "=" in value for value in values):
        raise AddressInvalid(why="an address stands in the address, or its keywords are divided by ;", repair=SHAPES)


def _is_parameter(text: str) -> bool:
    keyword, equals, _ = text.partition("=")
    return bool(equals) and keyword.replace("_", "").isalnum()


def _is_host(text: str) -> bool:
    """A host and, after a colon, digits. IPv6 addresses stand in brackets."""
    if text.startswith("["):
        _, bracket, port = text.partition("]")
        return bool(bracket) and (not port or port[1:].isdigit())
    _, colon, port = text.partition(":")
    return not colon or not port or port.isdigit()


def _keywords(text: str) -> Address:
    given = dict(_pairs(text))
    if not all(key.replace("_", "").isalnum() for key in given):
        raise AddressInvalid(why="the address is not a string of keywords as libpq takes them", repair=SHAPES)
    _require_one_value_each(given[key] for key in TOLD if key in given)
    has_password = any(given.get(secret) for secret in SECRETS)
    return Address(Kind.KEYWORDS, text, _shown(given), has_password)


def _shown(given: Mapping[str, str]) -> str:
    if "service" in given:
        return f"service={given['service']}"
    host, user = given.get("host") or given.get("hostaddr") or "", given.get("user")
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user + '@' if user else ''}{host}{port}/{given.get('dbname', '')}"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Keywords and values, quoted by ' and escaped by a backslash, as libpq reads them (its manual, 34.1.1.1)."""
    rest = text.lstrip()
    while rest:
        key, equals, rest = rest.partition("=")
        if not equals:
            raise AddressInvalid(why="the address ends in a word without a value", repair=SHAPES)
        value, rest = _value(rest.lstrip())
        yield key.strip(), value
        rest = rest.lstrip()


def _value(text: str) -> tuple[str, str]:
    """The value at the beginning of the text, and what follows it."""
    quoted = text.startswith("'")
    value, at = "", int(quoted)
    while at < len(text) and not (text[at] == "'" if quoted else text[at].isspace()):
        at += text[at] == "\\"
        value += text[at : at + 1]
        at += 1
    if quoted and at >= len(text):
        raise AddressInvalid(why="a quote in the address is not closed", repair="'value'")
    return value, text[at + int(quoted) :]
