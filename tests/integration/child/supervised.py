"""A stand-in for `once`: runs one command under `once.child` and writes down what it saw.

    supervised.py --report FILE [--tail N] [--control FD] [--answer FD] … COMMAND [ARG…]

It forwards signals as the runner does. Lines that come in on the control descriptor are done to the command by name
(`freeze`, `thaw`, `kill`, `gone`, a signal's number, `leave` to end a --linger), in the main thread, woken by the
thread that reads them; each is answered by a line.
The report is one JSON object; the exit status is the command's.
"""

from __future__ import annotations

from once.signals import Arrivals  # isort: skip

arrivals = Arrivals()
arrivals.catch()

import argparse  # noqa: E402 - after the handlers
import json  # noqa: E402
import os  # noqa: E402
import queue  # noqa: E402
import threading  # noqa: E402
from pathlib import Path  # noqa: E402

from once.child import Child, Exited, Signalled, Woken, spawn  # noqa: E402
from once.errors import OnceError  # noqa: E402
from once.run import exit_status_of  # noqa: E402


def peak() -> int:
    """The most memory that this process had resident, in KiB; the own peak, without what was forked."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


class Supervised:
    """One command, from spawn to report."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.orders: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.signals: list[int] = []
        self.leaving = False

    def run(self) -> int:
        """Run the command to its end; its status."""
        if self.given.early is not None:
            os.kill(os.getpid(), self.given.early)
        child = spawn(self.given.command, env=dict(os.environ), tail=self.given.tail, arrivals=arrivals)
        if self.given.steal:
            os.waitpid(child.pid, 0)
        peak_before = peak()
        self.say("started", child.pid)
        if self.given.control is not None:
            threading.Thread(target=self.listen, args=(child,), daemon=True).start()
        exited = self.until_exit(child)
        self.say("exited")
        while self.given.linger and not self.leaving:
            self.listen_once(child)
        given_up = child.drain(self.given.drain)
        self.report(child, exited, given_up=given_up, grown=peak() - peak_before)
        child.close()
        child.wake()
        return exit_status_of(exited.wait_status)[0]

    def until_exit(self, child: Child) -> Exited:
        """Do what the runner does, and what the control descriptor orders."""
        while True:
            event = child.wait(self.given.patience)
            if event is None:
                self.say("nothing")
            if isinstance(event, Exited):
                return event
            if isinstance(event, Signalled):
                self.signals.append(event.signum)
                child.send(event.signum)
                self.say("signal", event.signum)
            if isinstance(event, Woken):
                self.obey_all(child)

    def listen_once(self, child: Child) -> None:
        """The command has ended; what it left behind is still to be dealt with."""
        assert not isinstance(child.wait(self.given.patience), Exited)
        self.obey_all(child)

    def listen(self, child: Child) -> None:
        """Read orders, in a thread as the keeper is one."""
        with os.fdopen(self.given.control) as control:
            for line in control:
                self.orders.put(line.strip())
                child.wake()

    def obey_all(self, child: Child) -> None:
        """Do what was ordered meanwhile."""
        while not self.orders.empty():
            self.obey(child, self.orders.get())

    def obey(self, child: Child, order: str) -> None:
        """Do one thing to the command."""
        if order == "gone":
            self.say("gone", child.group_is_gone())
        elif order == "leave":
            self.leaving = True
            self.say("leave")
        elif order.isdecimal():
            child.send(int(order))
            self.say("sent", order)
        else:
            getattr(child, order)()
            self.say(order)

    def say(self, *words: object) -> None:
        """Tell the test what has just happened."""
        if self.given.answer is not None:
            os.write(self.given.answer, (" ".join(map(str, words)) + "\n").encode())

    def report(self, child: Child, exited: Exited, **more: int) -> None:
        """Write down everything that a test may ask for."""
        seen = {
            "status": exit_status_of(exited.wait_status)[0],
            "signal": exit_status_of(exited.wait_status)[1],
            "tail": child.output().kept.decode("latin-1"),
            "dropped": child.output().dropped,
            "shares_terminal": child.shares_terminal,
            "escaped": child.escaped,
            "signals": self.signals,
            "zombies": zombies(),
            **more,
        }
        Path(self.given.report).write_text(json.dumps(seen))


def zombies() -> int:
    """Children of this process that nobody has buried."""
    states = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        states.append((state, int(parent)))
    return states.count(("Z", os.getpid()))


def main() -> int:
    """Parse, run, report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", required=True)
    parser.add_argument("--tail", type=int, default=16384)
    parser.add_argument("--drain", type=float, default=60)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--linger", action="store_true")
    parser.add_argument("--steal", action="store_true")
    parser.add_argument("--early", type=int)
    parser.add_argument("--control", type=int)
    parser.add_argument("--answer", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    arrivals.only_note()
    try:
        return Supervised(given).run()
    except OnceError as error:
        Path(given.report).write_text(json.dumps({"error": type(error).__name__, "message": error.message}))
        return error.wrapping


if __name__ == "__main__":
    raise SystemExit(main())
