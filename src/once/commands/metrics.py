"""`once metrics`: each task's state as Prometheus reads it, in the text format of its textfile collector."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from once import __version__
from once.commands.looking import look
from once.commands.options import database
from once.commands.watching import Checked, watched
from once.errors import FileNotWritten, MetricsMissing, OnceError
from once.journal import Journal
from once.render import Answer
from once.reports import health
from once.reports.health import Kind, Limits
from once.schedule import Schedule

if TYPE_CHECKING:
    from prometheus_client import Metric

MODE = 0o644
"""The collector is another user."""


@click.command(short_help="Prometheus text, for a textfile collector.")
@click.argument("tasks", metavar="[TASK]...", nargs=-1)
@click.option("--write", metavar="FILE", help="Write to this file, in one step, instead of printing.")
@database
def metrics(*, tasks: tuple[str, ...], write: str | None, db: str | None) -> Answer:
    """Print the state of each TASK, or of every task, as Prometheus reads it. Needs the extra `metrics`.

    \b
    Example, in a crontab:
      * * * * *  once metrics --write /var/lib/node_exporter/once.prom
    """
    try:
        import prometheus_client
    except ImportError:
        raise MetricsMissing(extra="metrics") from None
    asked = look(tasks, db)
    now = asked.store.now()
    checked = list(watched(asked.store, [task.name for task in asked.tasks] if tasks else (), Limits(), now=now))
    waiting = Journal(asked.where.journal).waiting()
    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(_families(checked, waiting, now)))
    text = prometheus_client.generate_latest(registry)
    if write is None:
        return Answer(verb="metrics", raw=text)
    _write(write, text)
    return Answer(verb="metrics")


class _Snapshot:
    """What was found, in the shape that the library asks."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(checked: list[Checked], waiting: int, now: datetime) -> Iterator[Metric]:
    """The families in the order of the man page."""
    for name, text, value in PER_TASK:
        family = _gauge(f"once_task_{name}", text, ["task"])
        for one in checked:
            found = value(one, now)
            if found is not None:
                family.add_metric([one.name], float(found))
        yield family
    family = _gauge(
        "once_task_finding", "What once check finds wrong; absent where it finds nothing.", ["task", "kind"]
    )
    for one in checked:
        for kind in sorted({str(found.kind) for found in one.findings}):
            family.add_metric([one.name, kind], 1)
    yield family
    family = _gauge("once_journal_waiting", "Outcomes that wait on this host for the database.", [])
    family.add_metric([], waiting)
    yield family
    family = _gauge("once_seen_timestamp_seconds", "When this was found out, by the database's clock.", [])
    family.add_metric([], now.timestamp())
    yield family
    family = _gauge("once_info", "The version of once that found it out.", ["version"])
    family.add_metric([__version__], 1)
    yield family


def _gauge(name: str, text: str, labels: list[str]) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(name, text, labels=labels)


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at is not None else None


def _last_start(one: Checked, _now: datetime) -> float | None:
    return next((_seconds(run.claimed_at) for run in one.vitals.recent if run.outcome.was_started), None)


def _last_duration(one: Checked, _now: datetime) -> float | None:
    return next((run.duration.total_seconds() for run in one.vitals.recent if run.duration is not None), None)


def _next_slot(one: Checked, now: datetime) -> float | None:
    if one.task is None or one.task.line is None or one.task.retired_at is not None:
        return None
    try:
        return next(map(_seconds, islice(Schedule.of(one.task.line).after(now), 1)), None)
    except OnceError:  # written by a newer once, or with zone data that this host lacks
        return None


def _paused(one: Checked, now: datetime) -> bool:
    return one.task is not None and one.task.is_paused(now)


PER_TASK = (
    ("state", "As once check has it: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.", lambda one, _now: int(one.state)),
    ("last_success_timestamp_seconds", "The newest slot that succeeded.", lambda one, _now: _seconds(one.last_success)),
    ("last_start_timestamp_seconds", "When a run began last.", _last_start),
    ("last_duration_seconds", "How long the newest run that ended took.", _last_duration),
    ("next_slot_timestamp_seconds", "When it is due next.", _next_slot),
    ("failures", "Failures in a row.", lambda one, _now: len(health.failures(one.vitals))),
    ("running", "Runs that say running, stuck ones among them.", lambda one, _now: len(one.running)),
    (
        "stuck",
        "Whether a run says running though its lease has ended.",
        lambda one, _now: any(found.kind is Kind.STUCK for found in one.findings),
    ),
    ("paused", "Whether it is paused.", _paused),
)
"""Name, help, and value; None where there is nothing to tell."""


def _write(path: str, text: bytes) -> None:
    """Write a draft and rename it: the collector never reads half of a file. Raises FileNotWritten.

    A rename by root would replace a device such as /dev/stdout, so only a regular file is replaced; a link is followed.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileNotWritten(path=path, why="it is not a regular file")
    place = os.path.realpath(path)
    draft = f"{place}.{os.getpid()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, MODE)
            file.write(text)
        os.replace(draft, place)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise FileNotWritten(path=path, why=error.strerror) from error
