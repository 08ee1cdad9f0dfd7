"""The last bytes of what a command wrote: bounded, as bytes, whatever they are."""

from __future__ import annotations


class Tail:
    """Keeps the last `limit` bytes that were added, in order of arrival, and counts what it let go."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._added = 0
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take note of some output. Its cost does not grow with what is kept: the front is cut now and then."""
        self._added += len(chunk)
        if len(chunk) >= self.limit:
            self._bytes[:] = memoryview(chunk)[len(chunk) - self.limit :]
            return
        self._bytes += chunk
        if len(self._bytes) >= 2 * self.limit:
            del self._bytes[: len(self._bytes) - self.limit]

    def pass_over(self, count: int) -> None:
        """Count so many bytes that came before what is added next, and are not kept."""
        self._added += count

    @property
    def kept(self) -> bytes:
        """At most `limit` bytes: the end of the output."""
        return bytes(self._bytes[max(0, len(self._bytes) - self.limit) :])

    @property
    def dropped(self) -> int:
        """How many bytes came before those."""
        return self._added - min(len(self._bytes), self.limit)
