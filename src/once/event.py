"""Events: who did what by hand, on which host, when and why. Whatever overrides the rules leaves one."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from once.noun import Noun


class What(StrEnum):
    """What was done."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RERUN = "rerun"
    EXCUSE = "excuse"
    RETIRE = "retire"
    PRUNE = "prune"


class Operator(Noun):
    """Who does it. `login` is a person's where it can be known, the one behind sudo, not root; `why` as given."""

    login: str
    host: str
    why: str | None = None

    def __str__(self) -> str:
        """As rows and messages name it: `by alice on web1: deploy`."""
        return f"by {self.login} on {self.host}{f': {self.why}' if self.why else ''}"


class Event(Noun):
    """Something that was done by hand. `task` is None for all tasks whose names begin with `scope`.

    `until` is the end of a pause, if it has one, and the last slot of an excuse.
    """

    at: datetime
    what: What
    login: str
    host: str
    task: str | None = None
    scope: str | None = None
    run: int | None = None
    slot: datetime | None = None
    until: datetime | None = None
    why: str | None = None
