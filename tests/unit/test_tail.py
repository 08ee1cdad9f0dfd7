"""The end of the output is kept, whatever pieces it came in."""

from __future__ import annotations

import pytest

from once.tail import Tail


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 64, 1000])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 63, 64, 65, 500])
def test_it_keeps_the_last_bytes_and_counts_the_others(limit: int, size: int) -> None:
    """For every limit and every size of piece, at every moment."""
    tail, whole = Tail(limit), b""
    for number in range(40):
        piece = bytes((number + i) % 256 for i in range(size))
        tail.add(piece)
        whole += piece

        assert tail.kept == whole[max(0, len(whole) - limit) :]
        assert tail.dropped == max(0, len(whole) - limit)


def test_of_nothing_it_keeps_nothing() -> None:
    """A command may be silent."""
    tail = Tail(16)
    tail.add(b"")

    assert (tail.kept, tail.dropped) == (b"", 0)


def test_its_memory_is_bounded() -> None:
    """By twice its limit, however small the pieces and however long it goes on."""
    tail = Tail(100)
    for _ in range(10_000):
        tail.add(b"abc")

    assert len(tail._bytes) <= 200
