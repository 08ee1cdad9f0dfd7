"""A real crontab on two hosts: each has its own cron daemon, and the same line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance import cron_daemon
from tests.acceptance.conftest import ONCE
from tests.acceptance.own_server import OwnServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MINUTES = 5
MINUTE = timedelta(minutes=1)
HOSTS = ("h1", "h2")

LINE = (
    '* * * * *  once run --task beat --schedule "* * * * *" --tz UTC -v -- '
    "sh -c 'echo $ONCE_SLOT on $(uname -n) >> {lab}/ran' 2>> {lab}/$(uname -n).said"
)


@pytest.fixture
def server() -> Iterator[OwnServer]:
    own = OwnServer()
    yield own
    own.stop()


def test_five_minutes_are_five_slots_and_five_runs_each_on_one_host(server: OwnServer, tmp_path: Path) -> None:
    """Whichever host wins a slot, the other steps aside and says why; nothing else was ever said.

    A minute that begins while the daemons do has a slot of its own, before those that are waited for.
    """
    if lacking := cron_daemon.missing():
        pytest.skip(f"cron cannot be run here, for want of {lacking}")
    settings = [f"PATH={ONCE.parent}:/usr/bin:/bin", f"ONCE_DB={server.address()}"]
    with ExitStack() as daemons:
        for host in HOSTS:
            own = f"ONCE_STATE_DIR={tmp_path}/{host}.state"
            crontab = [*settings, own, LINE.format(lab=tmp_path)]
            daemons.enter_context(cron_daemon.on_host(tmp_path / host, host, *crontab))
        first = (datetime.now(UTC) + MINUTE + timedelta(seconds=10)).replace(second=0, microsecond=0)
        slots = [first + number * MINUTE for number in range(MINUTES)]
        _sleep_until(slots[-1] + MINUTE / 2)
    rows = server.ask("SELECT slot, host, outcome FROM once.run ORDER BY slot")
    runs = [(slot.astimezone(UTC), host) for slot, host, _outcome in rows]
    ran = (tmp_path / "ran").read_text().splitlines()
    said = {host: (tmp_path / f"{host}.said").read_text().splitlines() for host in HOSTS}

    assert [slot for slot, _ in runs][-MINUTES:] == slots
    assert len(runs) <= MINUTES + 1
    assert {outcome for _, _, outcome in rows} == {"succeeded"}
    assert ran == [f"{slot:%Y-%m-%dT%H:%M:%SZ} on {host}" for slot, host in runs]
    assert {host: len(lines) for host, lines in said.items()} == {
        host: sum(winner != host for _, winner in runs) for host in HOSTS
    }
    assert all(line.startswith("once run: beat: slot ") for lines in said.values() for line in lines)
    assert {host for (host,) in server.ask("SELECT host FROM once.sighting")} == set(HOSTS)


def _sleep_until(moment: datetime) -> None:
    """Real time is the point: cron fires by it."""
    time.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))
