"""The store's verbs, told once over a database: what SQLite and PostgreSQL have in common, which is all but the SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from once.clock import Clock
from once.run import Ending, Hold, Outcome, Run, Task
from once.store import claiming, finishing, migrations, rows
from once.store.base import Beat, Cancelled, Claim, Claimed, Excused, Migration, Pruned, Recorded
from once.store.session import Database, Row
from once.verdict import Facts

if TYPE_CHECKING:
    from once.event import Event, Operator
    from once.reports.due import InForce, Quiet
    from once.reports.gaps import Page
    from once.reports.health import Vitals
    from once.reports.timeline import Strip

PAGE = 500
"""Rows of history read at a time: no cursor outlives its statement, so neither a pooler nor a writer is held up."""

BEYOND_ALL = 2**63 - 1


class Ledger:
    """A Store over a Database."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.name = database.name

    def bound(self, answer_within: timedelta) -> None:
        self._database.bound(answer_within)

    def connect(self) -> None:
        self._database.session()

    def look(self, claim: Claim) -> Facts:
        return claiming.look(self._database.session(), claim, store=self.name)

    def claim(self, claim: Claim) -> Claimed:
        # What the holder needs when its command has ended: by then another version may stand where it is loaded from.
        from once.store import pruning  # noqa: F401

        with self._database.transaction() as session:
            return claiming.claim(session, claim, store=self.name)

    def beat(self, hold: Hold, lease: timedelta, *, started_at: datetime | None = None) -> Beat:
        session = self._database.session()
        kept = session.row("beat", {**rows.of_hold(hold), "lease": lease, "started_at": started_at})
        if kept is not None:
            return Beat(ours=True, stop=kept["stop_asked"])
        row = session.row("own_row", rows.of_hold(hold))
        return Beat(ours=False, outcome=Outcome(row["outcome"]), reason=row["reason"]) if row else Beat(ours=False)

    def finish(self, hold: Hold, ending: Ending) -> Recorded:
        if finishing.finish(self._database.session(), hold, ending):
            return Recorded.AS_ENDED
        with self._database.transaction() as session:
            return finishing.finish_late(session, hold, ending)

    def record_unguarded(self, claim: Claim, ending: Ending) -> Recorded:
        from once.store import unguarded  # what hardly any start needs

        with self._database.transaction() as session:
            return unguarded.record(session, claim, ending, store=self.name)

    def sight(self, claim: Claim) -> None:
        claiming.sight(self._database.session(), claim)

    def tasks(self) -> list[Task]:
        return [rows.task(row) for row in self._database.session().rows("tasks", {"task": None})]

    def task(self, name: str) -> Task | None:
        row = self._database.session().row("tasks", {"task": name})
        return rows.task(row) if row else None

    def runs(self, task: str, *, limit: int | None = None) -> Iterator[Run]:
        before, left = BEYOND_ALL, BEYOND_ALL if limit is None else limit
        while left > 0:
            page = min(PAGE, left)
            found = self._database.session().rows("runs", {"task": task, "before": before, "page": page})
            yield from map(rows.run, found)
            if len(found) < page:
                return
            before, left = found[-1]["number"], left - page

    def run(self, task: str, number: int | None = None) -> Run | None:
        if number is None:
            newest = self.newest([task]).get(task)
            if newest is None:
                return None
            number = newest.number
        row = self._database.session().row("run", {"task": task, "number": number})
        return rows.run(row) if row else None

    def prune(
        self,
        task: str,
        keep: timedelta,
        *,
        beyond: int = 0,
        page: int = PAGE,
        slack: timedelta = timedelta(),
        by: Operator | None = None,
        rehearse: bool = False,
    ) -> Pruned:
        from once.store import pruning  # what hardly any start needs; a winner's claim has loaded it

        session = self._database.session()
        oldest = pruning.oldest(session, task)
        if oldest is None or oldest[1] <= keep + slack:
            return Pruned()
        now = self.now()
        if rehearse:
            return pruning.rehearse(session, task, now=now, keep=keep, beyond=oldest[0] - 1)
        foreseen = pruning.look(session, task, now=now, keep=keep, beyond=beyond, page=page)
        if not foreseen.runs:
            return foreseen
        with self._database.transaction() as session:
            return pruning.prune(session, task, now=now, keep=keep, beyond=beyond, page=page, by=by, store=self.name)

    def pause(self, task: str | None, *, by: Operator, length: timedelta | None = None, scope: str = "") -> bool:
        from once.store import by_hand  # what no start needs, here and below

        with self._database.transaction() as session:
            return by_hand.pause(session, task, scope=scope, length=length, by=by)

    def resume(self, task: str | None, *, by: Operator, scope: str = "") -> bool:
        from once.store import by_hand

        with self._database.transaction() as session:
            return by_hand.resume(session, task, scope=scope, by=by)

    def retire(self, task: str, *, by: Operator) -> bool:
        from once.store import by_hand

        with self._database.transaction() as session:
            return by_hand.retire(session, task, by=by)

    def cancel(self, task: str, number: int | None = None, *, by: Operator, boot: str | None = None) -> Cancelled:
        from once.store import by_hand

        with self._database.transaction() as session:
            return by_hand.cancel(session, task, number, boot=boot, by=by)

    def excuse(self, claims: Sequence[Claim], *, by: Operator, continued: bool = False) -> Excused:
        from once.store import by_hand

        with self._database.transaction() as session:
            return by_hand.excuse(session, claims, by=by, continued=continued)

    def note_rerun(self, hold: Hold, slot: datetime | None, *, by: Operator) -> None:
        from once.store import by_hand

        by_hand.note_rerun(self._database.session(), hold, slot, by=by)

    def events(self, task: str, *, since: datetime, limit: int = 100) -> list[Event]:
        from once.store import by_hand

        return by_hand.events(self._database.session(), task, since=since, limit=limit)

    def newest(self, tasks: Collection[str] | None = None) -> Mapping[str, Run]:
        from once.store import looking_back

        return looking_back.newest(self._database.session(), tasks)

    def running(self, tasks: Collection[str] | None = None) -> list[Run]:
        from once.store import looking_back

        return looking_back.running(self._database.session(), tasks)

    def durations(self, tasks: Collection[str], *, limit: int = 100) -> Mapping[str, Sequence[timedelta]]:
        from once.store import looking_back

        return looking_back.durations(self._database.session(), tasks, limit=limit)

    def in_force(self, tasks: Collection[str] | None = None) -> list[InForce]:
        from once.store import looking_back

        return looking_back.in_force(self._database.session(), tasks)

    def pauses(self) -> list[Quiet]:
        from once.store import looking_back

        return looking_back.pauses(self._database.session())

    def slots(self, tasks: Collection[str], *, since: datetime, until: datetime) -> Iterator[Page]:
        from once.store import looking_back

        return looking_back.slots(self._database.session(), tasks, since, until)

    def crossing(self, tasks: Collection[str], *, since: datetime, until: datetime, now: datetime) -> list[Run]:
        from once.store import looking_back

        return looking_back.crossing(self._database.session(), tasks, since, until, now)

    def silences(
        self, task: str, longest: timedelta, *, since: datetime, until: datetime
    ) -> list[tuple[datetime, datetime]]:
        from once.store import looking_back

        return looking_back.silences(self._database.session(), task, longest, since=since, until=until)

    def strips(self, tasks: Collection[str], *, since: datetime, now: datetime, length: timedelta) -> list[Strip]:
        from once.store import watching

        return watching.strips(self._database.session(), tasks, since=since, now=now, length=length)

    def vitals(self, tasks: Collection[str] | None = None, *, newest: int = 20) -> Mapping[str, Vitals]:
        from once.store import watching

        return watching.vitals(self._database.session(), tasks, newest=newest)

    def now(self) -> datetime:
        now: datetime = self._told("now")["now"]
        return now

    def identity(self) -> str:
        return str(self._told("identity")["identity"])

    def pending(self) -> list[Migration]:
        return migrations.pending(self._database)

    def migrate(self, *, despite_old_hosts: bool = False) -> list[Migration]:
        return migrations.migrate(self._database, clock=self._clock, despite_old_hosts=despite_old_hosts)

    def grants(self, role: str) -> list[str]:
        return self._database.grants(role)

    def grant(self, role: str) -> None:
        grants = self.grants(role)
        if grants:
            migrations.grant(self._database, grants, clock=self._clock)

    def close(self) -> None:
        self._database.close()

    def _told(self, statement: str) -> Row:
        row = self._database.session().row(statement)
        assert row is not None
        return row
