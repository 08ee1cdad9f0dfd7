"""From an address to a Store. Nothing is connected here: the first verb does that."""

from __future__ import annotations

import os
from datetime import timedelta

from once.clock import Clock
from once.errors import AddressInvalid
from once.lease import ANSWERS_WITHIN
from once.store.address import Address, Kind, read
from once.store.base import Store
from once.store.ledger import Ledger
from once.store.session import Database

FILE_NAME = "once.db"
LONGEST_SECRET = 10_000


def open_store(address: str, *, clock: Clock, state_dir: str, answer_within: timedelta = ANSWERS_WITHIN) -> Store:
    """The store at an address, not connected yet. `answer_within` bounds the wait for each of the server's answers.

    Raises AddressInvalid. `local` is a file in `state_dir`, which is made by the first verb if need be.
    """
    found = _followed(read(address))
    database = _database(found, clock=clock, state_dir=state_dir, answer_within=answer_within)
    return Ledger(database, clock=clock)


def display(address: str) -> str:
    """The address as messages show it: without any password, and also for an address that cannot be used."""
    try:
        return read(address).shown
    except AddressInvalid:
        return "(an address that cannot be read)"


def carries_password(address: str) -> bool:
    """Whether a process that sees the address sees a password. What cannot be read may hold one."""
    try:
        return read(address).has_password
    except AddressInvalid:
        return True


def file_of(address: str, state_dir: str) -> str | None:
    """The path of an embedded record; None for one on a server. Raises AddressInvalid."""
    return _path(_followed(read(address)), state_dir)


def _path(address: Address, state_dir: str) -> str | None:
    if address.kind is Kind.LOCAL:
        return os.path.abspath(os.path.join(state_dir, FILE_NAME))
    return os.path.abspath(os.path.expanduser(address.rest)) if address.kind is Kind.SQLITE else None


def _followed(address: Address) -> Address:
    """The address itself, where `file:PATH` says where it stands. Raises AddressInvalid."""
    if address.kind is not Kind.FILE:
        return address
    path = os.path.expanduser(address.rest)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(LONGEST_SECRET)
    except OSError as error:
        why = f"{path} cannot be read ({error.strerror})"
        raise AddressInvalid(why=why, repair="file:PATH of a file that holds the address") from error
    except UnicodeDecodeError as error:
        raise AddressInvalid(why=f"{path} is not text", repair="one line: the address") from error
    found = read(text)
    if found.kind is Kind.FILE:
        raise AddressInvalid(why=f"{path} names another file", repair="the address itself in that file")
    return found


def _database(address: Address, *, clock: Clock, state_dir: str, answer_within: timedelta) -> Database:
    path = _path(address, state_dir)
    if path is None:
        from once.store.postgres import PostgresDatabase

        return PostgresDatabase(address.rest, name=address.shown, answer_within=answer_within)
    from once.store.sqlite import SqliteDatabase

    return SqliteDatabase(path, name=f"sqlite:{path}", clock=clock, makes_directory=address.kind is Kind.LOCAL)
