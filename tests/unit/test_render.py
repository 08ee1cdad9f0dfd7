"""Instants for people: whole in a pipe, short on a terminal, by the reader's clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from once.render import moment, short_moment

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader's zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("at", "whole", "short"),
    [
        (datetime(2026, 11, 30, 16, tzinfo=UTC), "2026-11-30 17:00:00+01:00", "Nov 30 17:00"),
        (datetime(2026, 11, 30, 16, 0, 1, 5, tzinfo=UTC), "2026-11-30 17:00:01+01:00", "Nov 30 17:00:01"),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-25 02:30:00+02:00", "Oct 25 02:30+02:00"),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25 02:30:00+01:00", "Oct 25 02:30"),
        (datetime(2025, 11, 28, 16, tzinfo=UTC), "2025-11-28 17:00:00+01:00", "2025-11-28 17:00"),
        (None, "-", "-"),
    ],
    ids=["a slot", "a start", "the hour that comes twice", "and again", "last year", "none"],
)
def test_an_instant_is_local_to_the_reader(at: datetime | None, whole: str, short: str) -> None:
    """The short form leaves out what goes without saying: the year, whole minutes, and today's offset."""
    assert (moment(at), short_moment(at, NOW)) == (whole, short)
