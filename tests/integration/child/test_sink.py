"""The three ways to write without ever waiting for a reader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from once.child import sink
from once.child.sink import Sink


@dataclass(frozen=True)
class Pipe:
    reading: int
    writing: int


@pytest.fixture(params=["a private open file", "a write that may not wait", "little writes"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel grants: another user's pipe cannot be opened anew, an old kernel knows no RWF_NOWAIT."""
    if request.param != "a private open file":
        monkeypatch.setattr(Sink, "_reopened", lambda _self: False)
    if request.param == "little writes":
        monkeypatch.setattr(sink, "RWF_NOWAIT", 0)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe that would block."""
    made = Pipe(*os.pipe())
    yield made
    os.close(made.writing)
    with suppress(OSError):  # some tests have closed it
        os.close(made.reading)


def fill(sink: Sink) -> int:
    """Write until there is no room; how much went in."""
    written = 0
    try:
        while True:
            written += sink.write(memoryview(b"x" * 100_000))
    except BlockingIOError:
        return written


@pytest.mark.usefixtures("way")
def test_a_full_pipe_does_not_block(pipe: Pipe) -> None:
    """It says so, what went in is what comes out, and then there is room again."""
    sink = Sink(pipe.writing)
    first = fill(sink)
    got = os.read(pipe.reading, 2 * first)
    second = sink.write(memoryview(b"y"))
    sink.close()

    assert (got, second) == (b"x" * first, 1)


@pytest.mark.usefixtures("way")
def test_the_callers_own_descriptor_stays_as_it_was(pipe: Pipe) -> None:
    """O_NONBLOCK would be seen by everybody who shares the open file."""
    sink = Sink(pipe.writing)
    fill(sink)
    blocking = os.get_blocking(pipe.writing)
    sink.close()

    assert blocking
    assert os.fstat(pipe.writing)


@pytest.mark.usefixtures("way")
def test_a_reader_that_has_gone_is_an_error(pipe: Pipe) -> None:
    """EPIPE, not a lack of room."""
    sink = Sink(pipe.writing)
    os.close(pipe.reading)
    with pytest.raises(BrokenPipeError):
        sink.write(memoryview(b"x"))
    sink.close()
