"""How a long time is looked back on: in spans, task by task, and without holding more than can be held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from once.commands import looking
from once.commands.looking import Period

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def period(days: float) -> Period:
    return Period(NOW - days * DAY, NOW, NOW)


@pytest.mark.parametrize("tasks", [1, 5, 25, 1000])
@pytest.mark.parametrize("days", [0.5, 7, 30, 365])
def test_the_spans_of_a_period_follow_each_other(days: float, tasks: int) -> None:
    """From its beginning to its end, none longer than four weeks, nor more than so many tasks allow."""
    spans = list(period(days).spans(tasks))

    assert (spans[0][0], spans[-1][1]) == (NOW - days * DAY, NOW)
    assert [until for _, until in spans[:-1]] == [since for since, _ in spans[1:]]
    assert max(until - since for since, until in spans) * tasks <= looking.SPAN * max(looking.TASKS_AT_ONCE, 4 * tasks)


@pytest.mark.parametrize(("held", "asked_together"), [(1000, True), (10, False)])
def test_what_is_found_comes_task_by_task_earliest_first(
    monkeypatch: pytest.MonkeyPatch, held: int, *, asked_together: bool
) -> None:
    """Whether it is held until it can be put in order, or is too much for that and the tasks are asked one by one."""
    monkeypatch.setattr(looking, "HELD_AT_MOST", held)
    asked: list[tuple[str, ...]] = []

    def find(names: Sequence[str], since: datetime, until: datetime) -> Iterator[tuple[str, datetime]]:
        asked.append(tuple(names))
        for name in names:
            yield from ((name, since + hour * (until - since) / 4) for hour in range(4))

    names = [f"task-{number:02}" for number in range(looking.TASKS_AT_ONCE)]
    found = list(period(21).by_task(names, find))
    times = [at for name, at in found if name == names[0]]

    assert [name for name, _ in found] == sorted(name for name, _ in found)
    assert times == sorted(times)
    assert {name for name, _ in found} == set(names)
    assert all(len(each) == len(names) for each in asked) is asked_together


def test_one_task_is_told_as_it_is_found() -> None:
    """Nothing is held: what is asked for first has been told before the next span is looked at."""
    asked = 0

    def find(names: Sequence[str], since: datetime, _until: datetime) -> Iterator[tuple[str, datetime]]:
        nonlocal asked
        asked += 1
        yield names[0], since

    next(period(365).by_task(["report"], find))

    assert asked == 1
