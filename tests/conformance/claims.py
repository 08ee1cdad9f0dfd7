"""Claims and endings with everything filled in, so that a test names only what it is about."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from once.run import Ending, Hold, Holder, Line, Outcome, Slot
from once.store.base import Claim, Store
from once.verdict import Go, Wish

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
"""When the clocks of a bench begin. The slots of these tests lie on the hour before."""

LEASE = timedelta(minutes=5)
HOURLY = Line("0 * * * *", "UTC")
_tokens = (f"token{number}" for number in itertools.count(1))


def slot(hours_after_noon: float = 0) -> Slot:
    """A slot so many hours after the bench's first instant."""
    at = NOON + timedelta(hours=hours_after_noon)
    return Slot(at, f"{at:%Y-%m-%dT%H:%M}", 0)


def holder(
    host: str = "a",
    *,
    machine: str | None = None,
    boot: str | None = "boot1",
    pid: int = 42,
    booted_at: datetime = NOON,
) -> Holder:
    """Somebody who starts a command."""
    return Holder(host, machine, boot, pid, "ops", booted_at)


def claim(
    at: Slot | None = slot(),  # noqa: B008  # frozen
    *,
    task: str = "report",
    token: str | None = None,
    line: Line | None = HOURLY,
    lease: timedelta = LEASE,
    by: Holder = holder(),  # noqa: B008  # frozen
    fired_at: datetime | None = None,
    command: tuple[str, ...] = ("report", "--email"),
    **wish: Any,
) -> Claim:
    """A claim, fired at its slot unless said otherwise, with a token of its own."""
    fired_at = fired_at or (at.at if at else NOON)
    return Claim(
        task=task,
        token=token or next(_tokens),
        wish=Wish(slot=at.at if at else None, fired_at=fired_at, **wish),
        slot=at,
        line=line if at else None,
        lease=lease,
        holder=by,
        command=command,
        command_hash=f"hash of {' '.join(command)}".encode("utf-8", "replace").decode(),
        clock_offset=timedelta(milliseconds=-250),
    )


def held(store: Store, wanted: Claim | None = None) -> Hold:
    """What one holds after a claim that must not fail."""
    claimed = store.claim(wanted or claim())
    assert isinstance(claimed.verdict, Go) and claimed.hold is not None, claimed
    return claimed.hold


def ending(outcome: Outcome = Outcome.SUCCEEDED, **how: Any) -> Ending:
    """An ending as a holder sees it."""
    status = {Outcome.SUCCEEDED: 0, Outcome.FAILED: 1}.get(outcome)
    return Ending(**{"outcome": outcome, "exit_status": status, "finished_at": NOON + timedelta(minutes=1), **how})
