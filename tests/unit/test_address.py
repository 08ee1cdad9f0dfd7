"""Addresses: told apart, refused with a repair, and never shown with a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from once.clock import SystemClock
from once.errors import AddressInvalid
from once.store.address import Kind, read
from once.store.connect import carries_password, display, open_store

SECRET = "s3cret"  # the password of every address here

SHOWN = [
    ("local", Kind.LOCAL, "local"),
    ("sqlite:/var/lib/once.db", Kind.SQLITE, "sqlite:/var/lib/once.db"),
    ("file:/run/secrets/db", Kind.FILE, "file:/run/secrets/db"),
    ("postgresql://ops@db1/ops", Kind.URI, "postgresql://ops@db1/ops"),
    ("postgres://ops:s3cret@db1:5433/ops?sslmode=require", Kind.URI, "postgres://ops@db1:5433/ops"),
    ("postgresql://ops:s3cret@db1:5432,db2:5433/ops", Kind.URI, "postgresql://ops@db1:5432,db2:5433/ops"),
    ("postgresql://ops:s3cret@[::1]:5432/ops", Kind.URI, "postgresql://ops@[::1]:5432/ops"),
    ("postgresql://ops:s3cret%40%2F@db1/ops", Kind.URI, "postgresql://ops@db1/ops"),
    ("postgresql://%2Fvar%2Frun/ops?password=s3cret", Kind.URI, "postgresql://%2Fvar%2Frun/ops"),
    ("postgresql:///ops?host=/var/run&password=s3cret", Kind.URI, "postgresql:///ops?host=/var/run"),
    ("service=ops", Kind.KEYWORDS, "service=ops"),
    ("host=db1 dbname=ops user=ops password=s3cret", Kind.KEYWORDS, "postgresql://ops@db1/ops"),
    ("host = db1  password = 's3cret with \\' blank' dbname=ops", Kind.KEYWORDS, "postgresql://db1/ops"),
    (r"host=db1 port=5433 password=s3cret\ x dbname=ops", Kind.KEYWORDS, "postgresql://db1:5433/ops"),
    ("host=db1 sslpassword=s3cret dbname=ops", Kind.KEYWORDS, "postgresql://db1/ops"),
]


@pytest.mark.parametrize(("address", "kind", "shown"), SHOWN)
def test_an_address_is_shown_without_its_password(address: str, kind: Kind, shown: str) -> None:
    """And a process that must not see one is told that it is there."""
    assert (read(address).kind, display(address)) == (kind, shown)
    assert carries_password(address) is (SECRET in address)
    assert SECRET not in repr(read(address))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("nonsense", "names no known store"),
        ("/var/lib/once.db", "sqlite:/var/lib/once.db"),
        ("mysql://ops:s3cret@db1/ops", "mysql:// is not a store"),
        ("postgresql+psycopg://ops:s3cret@db1/ops", "is not a store"),
        ("sqlite:", "without a path"),
        ("sqlite::memory:", "remembers nothing"),
        ("sqlite:once.db", f"Try: sqlite:{Path.cwd()}/once.db"),
        ("sqlite:./once.db", f"Try: sqlite:{Path.cwd()}/once.db"),
        ("sqlite:../once.db", f"Try: sqlite:{Path.cwd().parent}/once.db"),
        ("file:", "without a path"),
        ("postgresql://ops:s3@cret@db1/ops", "percent-encoded"),
        ("postgresql://ops:s3/cret@db1/ops", "percent-encoded"),
        ("postgresql://ops:s3@c/ret@db1:5432/ops", "percent-encoded"),
        ("postgresql://ops:s3:cret@db1/ops", "percent-encoded"),
        ("postgresql://ops:s3?cret@db1/ops", "percent-encoded"),
        ("postgresql://ops:123?cret@db1/ops", "percent-encoded"),
        ("postgresql://ops:s3@cret?s3@db1/ops?sslmode=require", "percent-encoded"),
        ("postgresql://ops:100%zz@db1/ops", "%25"),
        ("postgresql://ops:cret%@db1/ops", "%25"),
        ("postgresql://ops:cret%4", "%25"),
        ("host=db1 password='s3cret", "not closed"),
        ("host=db1 s3cret", "without a value"),
        ("db1/ops?user=x", "not a string of keywords"),
        ("host=db1;dbname=ops;password=s3cret", "divided by ;"),
        ("dbname=postgresql://ops:s3cret@db1/ops", "stands in the address"),
        ("host=db1 dbname='user=ops password=s3cret'", "stands in the address"),
        ("postgresql://db1?dbname=postgresql://ops:s3cret@db1/ops", "stands in the address"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_repair(address: str, said: str) -> None:
    """Without a part of it that could be a password; and whoever asks takes it for one that carries one."""
    with pytest.raises(AddressInvalid) as told:
        open_store(address, clock=SystemClock(), state_dir=Path("/nowhere"))

    assert said in str(told.value)
    assert "cret" not in str(told.value)
    assert "cret" not in display(address)
    assert carries_password(address)


def test_nothing_is_connected_before_the_first_verb() -> None:
    """Not even looked at."""
    store = open_store("postgresql://ops:s3cret@no-such-host/ops", clock=SystemClock(), state_dir=Path("/nowhere"))

    assert store.name == "postgresql://ops@no-such-host/ops"


def test_a_file_holds_the_address(tmp_path: Path) -> None:
    """As a mounted secret does, with a line end or without."""
    secret = tmp_path / "db"
    secret.write_text(f"sqlite:{tmp_path}/once.db\n")
    store = open_store(f"file:{secret}", clock=SystemClock(), state_dir=tmp_path)

    assert store.name == f"sqlite:{tmp_path}/once.db"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), (b"", "empty"), (b"\xff\xfe", "not text"), (b"file:/x", "another file")],
)
def test_a_file_without_an_address_is_told(tmp_path: Path, content: bytes | None, said: str) -> None:
    """By its own name."""
    secret = tmp_path / "db"
    if content is not None:
        secret.write_bytes(content)
    with pytest.raises(AddressInvalid, match=said):
        open_store(f"file:{secret}", clock=SystemClock(), state_dir=tmp_path)


def test_a_file_of_the_home_directory_is_absolute_enough() -> None:
    """It is the same from every working directory."""
    store = open_store("sqlite:~/once.db", clock=SystemClock(), state_dir=Path("/nowhere"))

    assert store.name == f"sqlite:{Path.home()}/once.db"
