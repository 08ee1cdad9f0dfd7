"""The holder's side of a lease: trust ends before anybody else may start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from once.lease import SHORTEST, Lease

lengths = st.timedeltas(SHORTEST, timedelta(days=30))
boottimes = st.floats(0, 1e8)


@pytest.mark.parametrize(
    ("length", "margin"),
    [
        (timedelta(seconds=5), timedelta(milliseconds=250)),
        (timedelta(seconds=12.5), timedelta(milliseconds=250)),
        (timedelta(minutes=5), timedelta(seconds=6)),
    ],
)
def test_the_margin_is_two_percent_and_a_quarter_second_at_least(length: timedelta, margin: timedelta) -> None:
    """For two clocks that run at different speeds."""
    assert Lease(length, sent=0.0).margin == margin


def test_trust_counts_from_the_sending() -> None:
    """The database cannot have executed the statement before that."""
    lease = Lease(timedelta(minutes=5), sent=1000.0)

    assert lease.trusted_until == 1294.0
    assert (lease.trusted_at(1293.9), lease.trusted_at(1294.0)) == (True, False)


def test_four_beats_may_fail() -> None:
    """Before trust ends, with the fifth still in time."""
    lease = Lease(timedelta(minutes=5), sent=0.0)

    assert 4 * lease.beat_every.total_seconds() < lease.trusted_until < 5 * lease.beat_every.total_seconds()


def test_an_answer_that_was_overtaken_shortens_nothing() -> None:
    """Answers may come in another order than the questions."""
    lease = Lease(timedelta(minutes=5), sent=100.0)

    assert lease.extended(sent=160.0).extended(sent=130.0) == Lease(timedelta(minutes=5), sent=160.0)


@given(lengths, boottimes, st.floats(0, 3600))
def test_trust_ends_before_the_lease_does(length: timedelta, sent: float, travelled: float) -> None:
    """Whenever the statement arrived, its lease lasts longer at the database than the trust here."""
    lease = Lease(length, sent)

    assert lease.trusted_until < sent + travelled + length.total_seconds()


@given(lengths, st.lists(boottimes, min_size=1))
def test_the_latest_sending_counts(length: timedelta, sendings: list[float]) -> None:
    """In whatever order the answers come."""
    lease = Lease(length, sent=0.0)
    for sent in sendings:
        lease = lease.extended(sent=sent)

    assert lease.sent == max(sendings)
