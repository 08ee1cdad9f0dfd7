"""Events: who did what by hand, when, on what, and why."""

from __future__ import annotations

from datetime import timedelta

from once.event import Event, Operator, What
from once.store.base import Store
from tests.conformance.by_hand import ALICE, BOB, HOUR, knows, row, told
from tests.conformance.claims import NOON, claim, ending, held, slot
from tests.conformance.conftest import Bench


class TestEvents:
    """Who did what, when, on what, and why."""

    def test_they_are_told_newest_first(self, bench: Bench, store: Store) -> None:
        """Those of the task, and those of all that concern it."""
        knows(store, "eu/report", "eu/other")
        minute = timedelta(minutes=1)
        store.pause("eu/report", by=ALICE, length=HOUR)
        bench.let_pass(minute)
        store.pause("eu/other", by=ALICE)
        store.pause(None, by=BOB, scope="eu/")
        bench.let_pass(minute)
        store.pause(None, by=BOB, scope="us/")
        store.resume(None, by=BOB, scope="eu/")

        assert store.events("eu/report", since=NOON) == [
            Event(at=NOON + 2 * minute, what=What.RESUME, login="bob", host="web2", scope="eu/"),
            Event(at=NOON + minute, what=What.PAUSE, login="bob", host="web2", scope="eu/"),
            Event(
                at=NOON,
                what=What.PAUSE,
                login="alice",
                host="web1",
                task="eu/report",
                until=NOON + HOUR,
                why="deploy",
            ),
        ]

    def test_of_one_instant_the_last_comes_first(self, store: Store) -> None:
        """Two within a clock's grain keep their order."""
        knows(store, "report")
        store.pause("report", by=ALICE)
        store.resume("report", by=ALICE)
        store.retire("report", by=ALICE)

        assert told(store) == [What.RETIRE, What.RESUME, What.PAUSE]

    def test_they_begin_where_one_asks(self, bench: Bench, store: Store) -> None:
        """And are no more than one asks for."""
        knows(store, "report")
        for _ in range(3):
            store.pause("report", by=ALICE)
            bench.let_pass(HOUR)
        newest = store.events("report", since=NOON, limit=1)

        assert [event.at for event in store.events("report", since=NOON + HOUR)] == [NOON + 2 * HOUR, NOON + HOUR]
        assert [event.at for event in newest] == [NOON + 2 * HOUR]

    def test_what_was_done_to_all_before_a_task_was_there_is_no_part_of_its_history(
        self, bench: Bench, store: Store
    ) -> None:
        """Else a new task would begin with every pause that there ever was."""
        store.pause(None, by=BOB)
        store.resume(None, by=BOB)
        bench.let_pass(HOUR)
        knows(store, "report")
        store.pause(None, by=BOB)

        assert told(store) == [What.PAUSE]

    def test_what_a_database_cannot_hold_does_not_cost_the_event(self, store: Store) -> None:
        """NUL and bytes that are no UTF-8 are replaced, in the reasons of rows too."""
        knows(store, "report")
        odd = Operator("al\0ice", "web\udcff", "caf\udce9\0")
        store.excuse([claim(slot(-1))], by=odd)
        store.pause("report", by=odd)
        store.claim(claim())
        event, excused = store.events("report", since=NOON)

        assert excused == event.replaced(what=What.EXCUSE, slot=slot(-1).at, until=slot(-1).at)
        assert (event.login, event.host, event.why) == (
            "al\N{REPLACEMENT CHARACTER}ice",
            "web?",
            "caf?\N{REPLACEMENT CHARACTER}",
        )
        assert row(store, 2).reason == f"by {event.login} on {event.host}: {event.why}"
        assert row(store, 3).reason == f"paused: {row(store, 2).reason}"

    def test_a_prune_by_hand_is_one_too(self, bench: Bench, store: Store) -> None:
        """It says how much went."""
        for hour in range(3):
            store.finish(held(store, claim(slot(hour))), ending())
        bench.let_pass(9 * HOUR)
        store.prune("report", HOUR, by=ALICE)
        (event,) = store.events("report", since=NOON)

        assert (event.what, event.login) == (What.PRUNE, "alice")
        assert event.why is not None and event.why.startswith("runs: 2, settled through: ")
