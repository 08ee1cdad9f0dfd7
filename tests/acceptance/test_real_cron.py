"""Debian's daemon through the nights of the clock change: it starts at our slots, and at no other instant."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from once.schedule import Schedule
from tests.acceptance import cron_daemon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXPRESSIONS = [
    "30 2 * * *",
    "10,30 2 * * *",
    "5 1-3 * * *",
    "*/30 * * * *",
    "0 */2 * * *",
    "*/20 2 * * *",
    "15 * * * *",
    "0 3 * * *",
    "@hourly",
    "45 2 * * 7",
    "40-40/5 2 * * *",
    "20 2 1-31 * 1",
    "20 2 */2 * 1",
    "0-59/15 2,3 * * *",
    "1,*/10 2 * * *",
    "*/25 1,3 * * *",
]

NIGHTS = {
    "Berlin, autumn": ("Europe/Berlin", datetime(2026, 10, 25, 0, 50), 250),  # noqa: DTZ001 -- wall clock time
    "Berlin, spring": ("Europe/Berlin", datetime(2026, 3, 29, 0, 50), 190),  # noqa: DTZ001
    "Lord Howe, autumn": ("Australia/Lord_Howe", datetime(2026, 4, 5, 0, 50), 190),  # noqa: DTZ001
    "Lord Howe, spring": ("Australia/Lord_Howe", datetime(2026, 10, 4, 0, 50), 190),  # noqa: DTZ001
}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """All nights at once, each with a daemon of its own: what was started, by night and expression."""
    if lacking := cron_daemon.missing():
        pytest.skip(f"Debian's cron cannot be played here, for want of {lacking}")
    labs = {night: tmp_path_factory.mktemp("cron") for night in NIGHTS}
    with ThreadPoolExecutor() as nights:
        started = {
            night: nights.submit(cron_daemon.play, labs[night], EXPRESSIONS, zone=zone, start=start, minutes=minutes)
            for night, (zone, start, minutes) in NIGHTS.items()
        }
        return {night: future.result() for night, future in started.items()}


def test_the_daemon_starts_at_our_slots_and_at_no_other_instant(played):
    """Several starts that it moves to the end of a gap are one slot. One test, since one process plays the nights."""
    ours = {}
    for night, (zone, local, minutes) in NIGHTS.items():
        start = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) + timedelta(minutes=1)
        for expression in EXPRESSIONS:
            slots = Schedule.parse(expression, zone).between(start, start + timedelta(minutes=minutes))
            ours[night, expression] = list(slots)
    daemons = {(night, expression): sorted(played[night][expression]) for night, expression in ours}

    assert daemons == ours
