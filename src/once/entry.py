"""One outcome that waits: as a noun, and as the JSON of its file.

An entry of a run that was never claimed (--db-down run) carries the claim that would have been made.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from once.errors import TaskNameTaken
from once.noun import Noun
from once.run import Ending, Hold, Holder, Line, Outcome, Slot
from once.store.base import Claim, Recorded, Store
from once.verdict import Wish

VERSION = 1
"""Of what is written in a file."""

NOT_CLAIMED = 0
"""The number of a run that never got one; no run has it."""


REFUSED_FOR_GOOD = TaskNameTaken
"""What a store says to a run that nobody claimed when it knows the task in another spelling: no later try succeeds."""


class Entry(Noun):
    """One outcome that waits: which store, which run, how it ended. `store` is the address as messages show it.

    `identity` is empty if the store could not be asked for it: then its address decides. `claim`: of a run that was
    never claimed.
    """

    identity: str
    store: str
    hold: Hold
    ending: Ending
    claim: Claim | None = None
    slot: datetime | None = None

    def is_for(self, store: Store, *, identity: str) -> bool:
        """Whether it belongs to this store."""
        return self.identity == identity if self.identity else self.store == store.name

    def record_in(self, store: Store) -> Recorded:
        """Write it down there. Raises what the store raises; doing it again changes nothing."""
        if self.claim is None:
            return store.finish(self.hold, self.ending)
        return store.record_unguarded(self.claim, self.ending)


class Unread(Noun):
    """A file in which an outcome may wait, and why it cannot be read. `broken`: it never will be."""

    path: str
    why: str
    broken: bool


def written(entry: Entry) -> str:
    """Its JSON, in ASCII."""
    import json

    ending, hold = entry.ending, entry.hold
    return json.dumps(
        {
            "journal": VERSION,
            "identity": entry.identity,
            "store": entry.store,
            "task": hold.task,
            "number": hold.number,
            "token": hold.token,
            "outcome": ending.outcome,
            "reason": ending.reason,
            "exit_status": ending.exit_status,
            "signal": ending.signal,
            "started_at": ending.started_at.isoformat() if ending.started_at else None,
            "finished_at": ending.finished_at.isoformat(),
            "duration": ending.duration.total_seconds() if ending.duration is not None else None,
            "tail": ending.tail.hex(),
            "tail_dropped": ending.tail_dropped,
            "slot": entry.slot.isoformat() if entry.slot is not None else None,
            "claim": _claim_written(entry.claim) if entry.claim is not None else None,
        }
    )


def read(path: str) -> Entry | Unread:
    """What a file holds."""
    import json

    try:
        with open(path, "rb") as file:
            kept: dict[str, Any] = json.load(file)
        if kept["journal"] > VERSION:
            return Unread(path, "a newer once wrote it", broken=False)
        ending = Ending(
            outcome=Outcome(kept["outcome"]),
            reason=kept["reason"],
            exit_status=kept["exit_status"],
            signal=kept["signal"],
            started_at=datetime.fromisoformat(kept["started_at"]) if kept["started_at"] else None,
            finished_at=datetime.fromisoformat(kept["finished_at"]),
            duration=timedelta(seconds=kept["duration"]) if kept["duration"] is not None else None,
            tail=bytes.fromhex(kept["tail"]),
            tail_dropped=kept["tail_dropped"],
        )
        hold = Hold(kept["task"], kept["number"], kept["token"])
        claim = _claim(hold, kept["claim"]) if kept.get("claim") is not None else None
        slot = datetime.fromisoformat(kept["slot"]) if kept.get("slot") is not None else None
        return Entry(kept["identity"], kept["store"], hold, ending, claim, slot)
    except OSError as error:
        return Unread(path, error.strerror or str(error), broken=False)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Unread(path, "it holds no outcome", broken=True)


def _claim_written(claim: Claim) -> dict[str, Any]:
    slot, line, holder = claim.slot, claim.line, claim.holder
    return {
        "slot": [slot.at.isoformat(), slot.local, slot.fold] if slot else None,
        "line": [line.expression, line.zone, line.engine] if line else None,
        "holder": [holder.host, holder.machine, holder.boot, holder.pid, holder.user],
        "command": list(claim.command),
        "command_hash": claim.command_hash,
        "fired_at": claim.wish.fired_at.isoformat(),
        "attempts": claim.wish.attempts,
        "by_hand": claim.by_hand,
    }


def _claim(hold: Hold, kept: dict[str, Any]) -> Claim:
    slot = None
    if kept["slot"] is not None:
        at, local, fold = kept["slot"]
        slot = Slot(datetime.fromisoformat(at), local, fold)
    fired_at = datetime.fromisoformat(kept["fired_at"])
    return Claim(
        task=hold.task,
        token=hold.token,
        wish=Wish(slot=slot.at if slot else None, fired_at=fired_at, attempts=kept["attempts"]),
        slot=slot,
        line=Line(*kept["line"]) if kept["line"] is not None else None,
        lease=timedelta(),
        holder=Holder(*kept["holder"]),
        command=tuple(kept["command"]),
        command_hash=kept["command_hash"],
        by_hand=kept["by_hand"],
    )
