"""The reports at scale, beside the textbook queries, as ratios of one run; and their plans.

    python tests/benchmarks/reports.py --runs 1e6 --db sqlite:/tmp/scale/once.db --fill
    python tests/benchmarks/reports.py --runs 1e7 --db postgresql://postgres@127.0.0.1/scale --fill

The database must be empty, or filled by an earlier call with the same --until. Nothing is asserted but that the known
answers come back: the call fails if they do not. A report is a process of its own, as an operator starts it, less one
that only says its version. The textbook queries are sent bare: the newest run of each task, LAG over all starts, and
the self-join of intervals.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import psycopg

from once.clock import SystemClock
from once.instants import rfc3339
from once.store.connect import open_store
from tests.benchmarks import history

YEAR, WEEK = 365, 7
WRONG = "WRONG"
MINUTELY = history.name(0)
TASKS = 1000

LAG = """
SELECT count(*) FROM (
    SELECT task, claimed_at - lag(claimed_at) OVER (PARTITION BY task ORDER BY claimed_at) AS distance
    FROM {run} WHERE {where}
) AS starts WHERE distance > {longest}
"""
NEWEST = """
SELECT count(*) FROM {run} AS run JOIN (SELECT task, max(number) AS number FROM {run} GROUP BY task) AS newest
ON run.task = newest.task AND run.number = newest.number
"""
SELF_JOIN = """
SELECT count(*) FROM {run} AS a JOIN {run} AS b
ON a.task = b.task AND a.number < b.number AND a.started_at < b.finished_at AND b.started_at < a.finished_at
WHERE {where}
"""


def plan_of(runs: float, until: datetime) -> history.Plan:
    """A year of a thousand tasks: what the minutely one leaves, the others share."""
    left = max(runs - YEAR * 24 * 60, runs / 10)
    minutes = max(1, round(YEAR * 24 * 60 * (TASKS - 1) / left))
    return history.Plan.of(tasks=TASKS, days=YEAR, every=timedelta(minutes=minutes), until=until)


class Bench:
    """One filled store."""

    def __init__(self, address: str, plan: history.Plan) -> None:
        self.address = address
        self.plan = plan
        self.is_sqlite = address.startswith("sqlite:")

    def connect(self) -> Any:
        """A bare connection."""
        if self.is_sqlite:
            return sqlite3.connect(self.address.removeprefix("sqlite:"), isolation_level=None)
        return psycopg.connect(self.address, autocommit=True)

    def fill(self) -> int:
        """Write the history."""
        store = open_store(self.address, clock=SystemClock(), state_dir="/nowhere")
        store.migrate()
        store.close()
        connection = self.connect()
        written = (history.fill_sqlite if self.is_sqlite else history.fill_postgres)(connection, self.plan)
        connection.close()
        return written

    def report(self, *arguments: str) -> tuple[float, int, list[dict[str, Any]]]:
        """Seconds, the peak of memory in KiB, and the answer."""
        with tempfile.TemporaryDirectory() as state:
            environ = {**os.environ, "ONCE_DB": self.address, "ONCE_STATE_DIR": state}
            environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed once has its bytecode
            call = [sys.executable, "-m", "once", *arguments]
            begun = time.perf_counter()
            with subprocess.Popen(call, env=environ, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                text = process.stdout.read()
                _, _, usage = os.wait4(process.pid, 0)
                taken = time.perf_counter() - begun
                process.returncode = 0
        items = json.loads(text)["items"] if "--json" in arguments else []
        return taken, usage.ru_maxrss, items

    def textbook(self, sql: str, **parts: str) -> float:
        """Seconds of a query that the literature would send."""
        run = "run" if self.is_sqlite else "once.run"
        connection = self.connect()
        begun = time.perf_counter()
        connection.execute(sql.format(run=run, **parts)).fetchall()
        taken = time.perf_counter() - begun
        connection.close()
        return taken


def best(work: Callable[[], tuple[float, int, Any]], repetitions: int = 3) -> tuple[float, int, Any]:
    """The fastest."""
    return min((work() for _ in range(repetitions)), key=lambda one: one[0])


def check(plan: history.Plan, verb: str, since: int, task: str | None, items: list[dict[str, Any]]) -> str:
    """Whether the known answers came back."""

    def instant(microseconds: int) -> str:
        return rfc3339(history.EPOCH + timedelta(microseconds=microseconds))

    match verb:
        case "gaps":
            told: list[Any] = [(i["task"], i["kind"], i["first"], i["last"], i["count"]) for i in items]
            known: list[Any] = [(t, k, instant(f), instant(z), c) for t, k, f, z, c in history.gaps(plan, since)]
        case "overlaps":
            told = [(i["task"], i["start"], i["shared"]) for i in items]
            known = [(t, instant(s), d / history.SECOND) for t, s, d in history.overlaps(plan, since)]
        case "status":
            told, known = [i["task"] for i in items], [history.name(number) for number in range(plan.tasks)]
            return f"{len(known)} tasks" if told == known else f"{WRONG}: {len(told)} told, {len(known)} known"
        case "check":
            kinds = {"stuck": "no beat", "running too long": "too long"}
            found = ((i["task"], kinds.get(finding["kind"])) for i in items for finding in i["findings"])
            told, known = [one for one in found if one[1]], list(history.stuck(plan))
        case _:
            told, known = [(i["task"], i["sign"]) for i in items], list(history.stuck(plan))
    known = [one for one in known if task in (None, one[0])]
    return f"{len(known)} known answers" if told == known else f"{WRONG}: {len(told)} told, {len(known)} known"


def measure(bench: Bench) -> bool:
    """Print the table; whether every answer was right."""
    plan = bench.plan
    start = best(lambda: bench.report("--version"))[0]
    until = rfc3339(history.EPOCH + timedelta(microseconds=plan.until))
    week = plan.until - WEEK * history.DAY
    print(f"start-up alone: {start * 1000:.0f} ms\n")
    print(f"{'report':42}{'ms, net':>9}{'MiB':>6}  answers")
    seconds: dict[str, float] = {}
    calls: list[tuple[str, str, int, str | None]] = [
        ("status, all tasks", "status", 0, None),
        ("check, all tasks", "check", 0, None),
        ("stuck, all tasks", "stuck", 0, None),
        ("gaps, all tasks, a week", "gaps", week, None),
        ("gaps, the minutely task, a year", "gaps", plan.start, MINUTELY),
        ("overlaps, all tasks, a week", "overlaps", week, None),
        ("overlaps, the minutely task, a year", "overlaps", plan.start, MINUTELY),
    ]
    right = True
    for title, verb, since, task in calls:
        period = (
            () if since == 0 else ("--since", rfc3339(history.EPOCH + timedelta(microseconds=since)), "--until", until)
        )
        call = (verb, *period, *((task,) if task else ()), "--json")
        taken, memory, items = best(lambda call=call: bench.report(*call))  # type: ignore[misc]
        seconds[title] = taken - start
        answers = check(plan, verb, since, task, items)
        right = right and not answers.startswith(WRONG)
        print(f"{title:42}{seconds[title] * 1000:9.0f}{memory // 1024:6}  {answers}")
    compare(bench, seconds, week)
    return right


def compare(bench: Bench, seconds: dict[str, float], week: int) -> None:
    """The textbook's way, each as often as it takes our way's time."""
    plan = bench.plan
    longest = {True: f"{plan.every * 3 // 2}", False: f"interval '{plan.every * 3 // 2} microseconds'"}[bench.is_sqlite]

    def after(column: str, at: int) -> str:
        return (
            f"{column} >= {at if bench.is_sqlite else repr((history.EPOCH + timedelta(microseconds=at)).isoformat())}"
        )

    books: list[tuple[str, str, str, dict[str, str]]] = [
        ("status, all tasks", "newest run of each", NEWEST, {}),
        ("check, all tasks", "newest run of each", NEWEST, {}),
        ("gaps, all tasks, a week", "LAG over all starts", LAG, {"where": "true", "longest": longest}),
        ("gaps, all tasks, a week", "LAG over the week", LAG, {"where": after("claimed_at", week), "longest": longest}),
        ("gaps, the minutely task, a year", "LAG", LAG, {"where": f"task = '{MINUTELY}'", "longest": longest}),
        (
            "overlaps, all tasks, a week",
            "self-join of the week",
            SELF_JOIN,
            {"where": f"{after('a.started_at', week)} AND {after('b.started_at', week)}"},
        ),
    ]
    print(f"\n{'the textbook':42}{'ms':>9}{'ratio':>8}")
    for title, how, sql, parts in books:
        taken = bench.textbook(sql, **parts)
        print(f"{title + ': ' + how:62}{taken * 1000:9.0f}{taken / seconds[title]:8.1f} x")


def explain(bench: Bench) -> None:
    """The plans of the statements, as the store sends them."""
    from once.store.queries import statements

    named = statements("sqlite" if bench.is_sqlite else "postgres")
    week = bench.plan.until - WEEK * history.DAY
    names = [history.name(task) for task in range(50)]
    moments = {"since": week, "until": bench.plan.until, "now": bench.plan.until}
    values: dict[str, Any] = {"tasks": names, "task": MINUTELY, "newest": 100}
    if bench.is_sqlite:
        values |= {**moments, "tasks": json.dumps(names), "longest": bench.plan.every}
    else:
        values |= {key: history.EPOCH + timedelta(microseconds=at) for key, at in moments.items()}
        values["longest"] = timedelta(microseconds=bench.plan.every)
    connection = bench.connect()
    if bench.is_sqlite:
        connection.create_function("once_now", 0, lambda: bench.plan.until)
    for name in (
        "newest_runs",
        "running_runs",
        "usual_durations",
        "done_slots",
        "undone_slots",
        "crossing_runs",
        "silences",
        "recent_runs",
        "last_successes",
    ):
        prefix = "EXPLAIN QUERY PLAN " if bench.is_sqlite else "EXPLAIN (COSTS OFF) "
        lines = [str(row[-1]) for row in connection.execute(prefix + named[name].rstrip(";"), values).fetchall()]
        print(f"\n{name}{'  <-- SCANS run' if any(_scans(line) for line in lines) else ''}")
        print("\n".join(f"    {line}" for line in lines))
    connection.close()


def _scans(line: str) -> bool:
    return "Seq Scan on run" in line or ("SCAN run" in line and "INDEX" not in line)


def main() -> None:
    """Fill if asked to, measure, and show the plans."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", required=True)
    parser.add_argument("--runs", type=float, default=1e6)
    parser.add_argument("--until", type=datetime.fromisoformat, default=datetime.now(UTC))
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--plans", action="store_true")
    asked = parser.parse_args()
    bench = Bench(asked.db, plan_of(asked.runs, asked.until))
    if asked.fill:
        begun = time.perf_counter()
        print(f"{bench.fill():,} runs written in {time.perf_counter() - begun:.0f} s")
    right = measure(bench)
    if asked.plans:
        explain(bench)
    if not right:
        sys.exit("The known answers did not come back.")


if __name__ == "__main__":
    main()
