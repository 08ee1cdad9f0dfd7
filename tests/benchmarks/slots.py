"""Slots beside croniter and cronsim, as ratios of one run: `python tests/benchmarks/slots.py`. Nothing is asserted.

Each figure is the best of some repetitions. Start-up is a process of its own, less `python -c pass`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from once.schedule import Schedule

ZONE = "Europe/Berlin"
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 30, 11, 0, 5, tzinfo=UTC)
LONG_BEFORE = datetime(2088, 3, 1, tzinfo=UTC)

SLOT_FOR = f"""
from datetime import UTC, datetime
from once.schedule import Schedule
Schedule.parse("0 17 * * 5", "{ZONE}").slot_for(datetime.now(UTC))
"""


def best(work: Callable[[], object], repetitions: int) -> float:
    """Seconds of the fastest."""
    times = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def process(code: str) -> Callable[[], object]:
    """A Python process of its own that runs this."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def compare(title: str, contenders: dict[str, float]) -> None:
    """One line a contender, beside the first."""
    print(f"\n{title}")
    ours = next(iter(contenders.values()))
    for name, seconds in contenders.items():
        print(f"  {name:24}{seconds * 1000:12.3f} ms{seconds / ours:10.1f} x")


def main() -> None:
    """Print the tables."""
    zone = ZoneInfo(ZONE)
    compare(
        "a year of `* * * * *`",
        {
            "once": best(lambda: list(Schedule.parse("* * * * *", ZONE).between(START, END)), 3),
            "cronsim": best(
                lambda: list(takewhile(lambda slot: slot < END, CronSim("* * * * *", START.astimezone(zone)))), 1
            ),
            "croniter, a hundredth": best(
                lambda: list(islice(croniter("* * * * *", START.astimezone(zone), ret_type=datetime), 5256)), 1
            ),
        },
    )
    compare(
        "`0 9 29 2 */7`, forty years away",
        {
            "once": best(lambda: next(Schedule.parse("0 9 29 2 */7", ZONE).after(LONG_BEFORE)), 1),
            "cronsim": best(lambda: next(CronSim("0 9 29 2 */7", LONG_BEFORE.astimezone(zone))), 1),
        },
    )
    compare(
        "the slot of `0 17 * * 5`",
        {
            "once": best(lambda: Schedule.parse("0 17 * * 5", ZONE).slot_for(NOON), 50),
            "cronsim": best(lambda: next(CronSim("0 17 * * 5", NOON.astimezone(zone), reverse=True)), 50),
            "croniter": best(lambda: croniter("0 17 * * 5", NOON.astimezone(zone)).get_prev(datetime), 50),
        },
    )
    nothing = best(process("pass"), 10)
    compare(
        "in a new process, import and all",
        {
            "once, a whole slot_for": best(process(SLOT_FOR), 10) - nothing,
            "import cronsim": best(process("import cronsim"), 10) - nothing,
            "import croniter": best(process("import croniter"), 10) - nothing,
        },
    )


if __name__ == "__main__":
    main()
