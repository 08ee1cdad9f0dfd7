"""The store: a port of domain verbs. These docstrings are the contract; one conformance suite holds every store to it.

Every verb is bounded in time and leaves nothing half written. Breakage is an exception: `Unreachable` when a later
try may succeed (and the answer, if one was under way, is unknown), another OnceError when it will not. Everything
else is a value. A verb that raised may be called again with the same arguments: claims find their own token, beats
and finishes find their own row.

Times that decide are the store's: the server's clock in PostgreSQL, CLOCK_BOOTTIME of the same boot in SQLite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from once.noun import Noun
from once.run import Ending, Hold, Holder, Line, Outcome, Run, Slot, Task
from once.verdict import Facts, Verdict, Wish

if TYPE_CHECKING:  # no start needs them
    from once.event import Event, Operator
    from once.reports.due import InForce, Quiet
    from once.reports.gaps import Page
    from once.reports.health import Vitals
    from once.reports.timeline import Strip


class Claim(Noun):
    """One start's request to be the holder. The token is made before the first try and kept for every further one.

    `retry_of` is the token of this start's own attempt before, which has failed and kept the slot for this one.

    `unbroken_since`: a line that was seen from here on has left no slot out before this start, so its interval goes
    on though another line was seen since (None: it does not); see `store.intervals`.
    """

    task: str
    token: str
    wish: Wish
    slot: Slot | None
    line: Line | None
    lease: timedelta
    holder: Holder
    command: tuple[str, ...]
    command_hash: str
    retry_of: str | None = None
    clock_offset: timedelta | None = None
    by_hand: bool = False
    unbroken_since: datetime | None = None


class Claimed(Noun):
    """What came of a claim. `hold` is there exactly when the verdict is Go: this start is the holder."""

    verdict: Verdict
    facts: Facts
    hold: Hold | None = None


class Beat(Noun):
    """The answer to a beat. When the run is no longer ours, `outcome` and `reason` are what its row says now.

    `stop` is why the holder is to stop: an operator or a newer run asks for it.
    """

    ours: bool
    outcome: Outcome | None = None
    reason: str | None = None
    stop: str | None = None


class Recorded(StrEnum):
    """What a finish came to."""

    AS_ENDED = "as ended"
    ALREADY = "already"
    INSTEAD_OF_LOST = "instead of lost"
    LATE = "late"
    UNKNOWN = "unknown"


class Pruned(Noun):
    """What came of a prune: how many runs went, and through which slot the task is settled.

    `next` is the number beyond which the next page begins; None when nothing old follows. `busy`: another had the
    task, so nothing was done.
    """

    runs: int = 0
    settled_through: datetime | None = None
    next: int | None = None
    busy: bool = False


class Cancelled(Noun):
    """What came of a cancel: numbers of runs that are over by it, and runs whose holders were asked to stop."""

    ended: tuple[int, ...] = ()
    asked: tuple[Run, ...] = ()


class Excused(Noun):
    """What came of an excuse: the slots that are excused by it, and how many it left because a run is alive."""

    slots: tuple[datetime, ...] = ()
    alive: int = 0


class Migration(Noun):
    """A numbered, forward-only step of the schema, run in one transaction with its record.

    `script` is all of it, for whoever runs it by other means: transaction, step and record.
    """

    number: int
    name: str
    sql: str
    script: str

    @property
    def meanwhile(self) -> str:
        """What waits while a long history is rewritten or indexed; nothing where the step takes a moment."""
        return self.sql.partition("-- Meanwhile: ")[2].partition("\n")[0]


class Store(Protocol):
    """Where tasks and runs are recorded."""

    name: str
    """What messages call it: the address without any password."""

    def bound(self, answer_within: timedelta) -> None:
        """From now on wait so long at most for each answer of a server; to connect there are always two seconds."""
        ...

    def connect(self) -> None:
        """Make the connection now, if there is none, so that what follows can be timed without it."""
        ...

    def look(self, claim: Claim) -> Facts:
        """What is known before a claim: one query, no lock, on a connection made for it if there is none.

        Running rows of expired leases count as not alive. An unknown task is `known=False`; `taken_name` is the
        task whose name differs in case only. Raises NotInitialised, SchemaTooNew or SchemaTooOld, RightsMissing.
        """
        ...

    def claim(self, claim: Claim) -> Claimed:
        """The transaction: lock, expire, touch, find our token, decide, write, commit.

        Rows that cannot be locked count as alive. A repeated call with a token that already holds answers Go with
        the same Hold. A Skip that is to be recorded is, where the slot has no row.
        """
        ...

    def beat(self, hold: Hold, lease: timedelta, *, started_at: datetime | None = None) -> Beat:
        """Extend the lease to the store's now + lease, if the row is ours and running, even when it has expired.

        The answer brings a request to stop.
        """
        ...

    def finish(self, hold: Hold, ending: Ending) -> Recorded:
        """Record how the run ended, if the row is ours and running.

        After LOST: with no later attempt of the slot the true ending replaces it (INSTEAD_OF_LOST), otherwise the
        late_* columns are filled (LATE). Recorded before: ALREADY. No row with that token: UNKNOWN.
        """
        ...

    def record_unguarded(self, claim: Claim, ending: Ending) -> Recorded:
        """Record a run that was never claimed, since nobody could be asked, below the attempts of its slot.

        Its times are its host's. A claim of this token that came through after all is finished instead; so what was
        recorded before is ALREADY.
        """
        ...

    def sight(self, claim: Claim) -> None:
        """Note that this host started `once` for the task, with this line; a row a host, last_seen at most a day old.

        A claim does so, too, whatever its verdict. A start by hand is none, and the pods of a CronJob are one host
        here, `kubernetes`.
        """
        ...

    def tasks(self) -> list[Task]:
        """Every task, by name, each with the line it was last seen with."""
        ...

    def task(self, name: str) -> Task | None:
        """One task."""
        ...

    def runs(self, task: str, *, limit: int | None = None) -> Iterator[Run]:
        """The task's runs, newest first, streamed; without the tails."""
        ...

    def run(self, task: str, number: int | None = None) -> Run | None:
        """One run whole, tail included; without a number the newest that was started."""
        ...

    def prune(
        self,
        task: str,
        keep: timedelta,
        *,
        beyond: int = 0,
        page: int = 500,
        slack: timedelta = timedelta(),
        by: Operator | None = None,
        rehearse: bool = False,
    ) -> Pruned:
        """Forget what is older than `keep` of a page of the task's history, oldest first, beyond a run's number.

        Settles first: no slot through the newest that is forgotten runs again. Never a run that is running or waits to
        retry, the newest start, the newest success, nor, for thirty days, a lost run whose end may still come. Waits
        for nobody. While the task's oldest run is not `slack` older than `keep`, nothing is done but to look it up by
        key. `by`: the operator who asked for it; leaves an event. `rehearse`: only say what would be done, in
        all pages together.
        """
        ...

    def pause(self, task: str | None, *, by: Operator, length: timedelta | None = None, scope: str = "") -> bool:
        """Let nothing of the task start for so long, or until it is resumed; False for an unknown task.

        None: nothing of any task whose name begins with `scope`, and of none that comes to be known.
        """
        ...

    def resume(self, task: str | None, *, by: Operator, scope: str = "") -> bool:
        """End that pause, or the task's retirement; False where there was none. Other pauses stay as they are."""
        ...

    def retire(self, task: str, *, by: Operator) -> bool:
        """The task is no more: a start is skipped, and no slot is due; False if that was so before."""
        ...

    def cancel(self, task: str, number: int | None = None, *, by: Operator, boot: str | None = None) -> Cancelled:
        """End the task's runs, or that one: those that are alive are asked to stop, and their next beat tells them.

        A run whose lease has ended is cancelled at once, and so is a retry that is waited for. `boot`: this host's.
        """
        ...

    def excuse(self, claims: Sequence[Claim], *, by: Operator, continued: bool = False) -> Excused:
        """Record that these slots of one task are a known gap, in one transaction: pass some hundreds at a time.

        `continued`: they belong to what the operator has just excused, and to its event.
        """
        ...

    def note_rerun(self, hold: Hold, slot: datetime | None, *, by: Operator) -> None:
        """Leave word that an operator started this run."""
        ...

    def events(self, task: str, *, since: datetime, limit: int = 100) -> list[Event]:
        """What was done by hand to the task, and to all since it was first started anywhere, newest first."""
        ...

    def newest(self, tasks: Collection[str] | None = None) -> Mapping[str, Run]:
        """The newest run that was started of each of these tasks, or of all, by task; without the tails."""
        ...

    def running(self, tasks: Collection[str] | None = None) -> list[Run]:
        """Every run of these tasks, or of all, that says running, by task and number; without the tails."""
        ...

    def durations(self, tasks: Collection[str], *, limit: int = 100) -> Mapping[str, Sequence[timedelta]]:
        """How long the last successes of each of these tasks took, so many at most."""
        ...

    def in_force(self, tasks: Collection[str] | None = None) -> list[InForce]:
        """The intervals in which these tasks, or all, were seen with a line, by task and time."""
        ...

    def pauses(self) -> list[Quiet]:
        """When operators wanted no start: what has ended, and the pauses of many tasks that go on.

        A task's own pause or retirement that goes on is told by the task.
        """
        ...

    def slots(self, tasks: Collection[str], *, since: datetime, until: datetime) -> Iterator[Page]:
        """What became of the slots with since ≤ slot < until, a page a task, in the order of the tasks as given.

        Every slot of these tasks in that time is held in memory at once, so ask for a week of some tasks at a time.
        """
        ...

    def crossing(self, tasks: Collection[str], *, since: datetime, until: datetime, now: datetime) -> list[Run]:
        """The runs that share time with another of their task, both of them at work within since ≤ time < until.

        In the order of task, claim and number, without the tails; how long a run takes up is told in
        `once.reports.overlaps`. A superset: who shares time with whom is decided there.
        """
        ...

    def silences(
        self, task: str, longest: timedelta, *, since: datetime, until: datetime
    ) -> list[tuple[datetime, datetime]]:
        """Where more than `longest` passed from one start of the task to the next, or to `until`.

        The first start that counts is the last one before `since`; without one, nothing was silent before the first.
        """
        ...

    def strips(self, tasks: Collection[str], *, since: datetime, now: datetime, length: timedelta) -> list[Strip]:
        """What ran from `since` to `now`, in cells of this length, alike runs counted together; ends lie beyond."""
        ...

    def vitals(self, tasks: Collection[str] | None = None, *, newest: int = 20) -> Mapping[str, Vitals]:
        """What a monitor asks of each of these tasks, or of all: so many of its newest rows, its hosts; by task."""
        ...

    def now(self) -> datetime:
        """The store's clock."""
        ...

    def identity(self) -> str:
        """A random name that the store got when it was made: journals tell by it where an entry belongs."""
        ...

    def pending(self) -> list[Migration]:
        """The migrations that this once has and the store has not."""
        ...

    def migrate(self, *, despite_old_hosts: bool = False) -> list[Migration]:
        """Bring the schema up to date and say what was done; waits for no lock longer than a second at a time.

        Raises HostsStillOld, RightsMissing, SchemaTooNew.
        """
        ...

    def grants(self, role: str) -> list[str]:
        """The SQL that lets a role run once; empty where the store knows no roles."""
        ...

    def grant(self, role: str) -> None:
        """Give the role these rights."""
        ...

    def close(self) -> None:
        """Give back the connection. The next verb makes a new one."""
        ...
