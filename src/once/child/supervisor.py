"""The command while it runs: one poll over its output, the signals that arrive, its end, and the thread that beats."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from once.child import terminal, wiring
from once.child.bell import Bell
from once.child.group import Group, Own, Shared
from once.child.kernel import PR_SET_CHILD_SUBREAPER, prctl
from once.child.launch import Launch
from once.child.search import escapes
from once.child.stream import Stream
from once.child.written import Written
from once.clock import BOOTTIME, LONGEST_WAIT
from once.command import Event, Exited, Signalled, Woken
from once.signals import STOPPING, Arrivals
from once.tail import Tail

UNKNOWN = 125 << 8
"""The wait status of a command whose own was taken by somebody else's waitpid: a failure, never a success."""


class Child:
    """A command that was started. All of it is for the main thread, save `wake`."""

    def __init__(
        self,
        pid: int,
        group: Group,
        *,
        streams: list[Stream],
        files: list[Written],
        tail: Tail,
        bell: Bell,
        arrivals: Arrivals,
        missed: int = 0,
    ) -> None:
        """`missed`: so many of the signals that wait came before there was a command for a terminal to tell."""
        self.pid = pid
        self.shares_terminal = isinstance(group, Shared)
        self.escaped = False
        self._group, self._streams, self._files, self._tail = group, streams, files, tail
        self._bell, self._arrivals = bell, arrivals
        self._ended: Exited | None = None
        self._end_was_told = False
        self._frozen = False
        self._told_by_terminal: set[int] = set()
        self._missed = missed

    def wait(self, timeout: float) -> Event | None:
        """Pass output on until something happens, or so many seconds have gone by: then None.

        Signals come first, in the order in which they arrived, the end of the command comes last, and once.
        """
        self._told_by_terminal.clear()
        deadline = time.clock_gettime(BOOTTIME) + timeout
        while (event := self._next_event()) is None:
            left = deadline - time.clock_gettime(BOOTTIME)
            self._turn(max(0.0, min(left, LONGEST_WAIT)))
            if left <= 0:
                return self._next_event()
        return event

    def wake(self) -> None:
        """End a wait early; from any thread, at any time, also after `close`."""
        self._bell.ring()

    def send(self, signum: int) -> None:
        """Signal the command and what it started.

        A signal that `wait` has just reported and the terminal has delivered by itself is not sent again. What asks
        to end is followed by SIGCONT, since a stopped process does not see it; unless it was we who stopped it.
        """
        if signum in self._told_by_terminal:
            return
        self._group.signal(signum)
        if signum in STOPPING and not self._frozen:
            self._group.signal(signal.SIGCONT)

    def freeze(self) -> None:
        """SIGSTOP to all of it."""
        self._frozen = True
        self._group.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT to all of it."""
        self._frozen = False
        self._group.signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to all of it, frozen or not."""
        self._group.signal(signal.SIGKILL)

    def group_is_gone(self) -> bool:
        """Whether nothing of it is alive any more."""
        self._reap()
        return self._group.is_gone()

    def output(self) -> Tail:
        """The last bytes of its output so far, both streams in order of arrival. Complete once Exited was reported.

        What was written to files is taken to have come before what came through pipes.
        """
        whole = Tail(self._tail.limit)
        for file in self._files:
            file.add_to(whole)
        whole.pass_over(self._tail.dropped)
        whole.add(self._tail.kept)
        return whole

    def drain(self, within: float) -> int:
        """After the end: pass on to a slow reader what is left, for so many seconds; how many bytes were given up.

        A signal that asks to stop ends it early: there is no command any more to forward it to.
        """
        deadline = time.clock_gettime(BOOTTIME) + within
        while any(stream.unsent for stream in self._streams):
            left = deadline - time.clock_gettime(BOOTTIME)
            if left <= 0 or self._arrivals.take() in STOPPING:
                break
            self._turn(min(left, LONGEST_WAIT))
        return sum(stream.unsent for stream in self._streams)

    def close(self) -> None:
        """Give back descriptors and handlers."""
        for stream in self._streams:
            stream.close()
        for file in self._files:
            file.close()
        self._bell.close()

    def _next_event(self) -> Event | None:
        signum = self._arrivals.take()
        if signum is not None:
            if self._missed > 0:
                self._missed -= 1
            elif self.shares_terminal and terminal.has_told(signum):
                self._told_by_terminal.add(signum)
            return Signalled(signum)
        if self._bell.was_rung():
            return Woken()
        if self._ended is None or self._end_was_told:
            return None
        self._end_was_told = True
        return self._ended

    def _turn(self, seconds: float) -> None:
        """Sleep until there is something to do, and do it, within bounds."""
        poll = select.poll()
        poll.register(self._bell.ear, select.POLLIN)
        for stream in self._streams:
            stream.watch(poll)
        ready = dict(poll.poll(seconds * 1000))
        for stream in self._streams:
            stream.turn(ready)
        if self._bell.ear in ready:
            self._bell.hush()
            self._reap()

    def _reap(self) -> None:
        """Bury the dead: orphans that fell to us, and the command, whose status is kept. Nobody else may do it."""
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if dead[0] == self.pid:
                    self._has_ended(dead[1])
        except ChildProcessError:
            if self._ended is None:
                self._has_ended(UNKNOWN)

    def _has_ended(self, wait_status: int) -> None:
        self._ended = Exited(wait_status, time.clock_gettime(BOOTTIME))
        self._group.reaped = True
        for stream in self._streams:
            stream.finish()


def spawn(argv: Sequence[str], *, env: Mapping[str, str], tail: int, arrivals: Arrivals) -> Child:
    """Start the command, from the main thread, while `arrivals` only notes signals.

    The last `tail` bytes of its output are kept; with 0 it writes to our descriptors itself. Raises CommandNotFound or
    CommandNotExecutable; OSError for want of processes, memory or descriptors, and then gives back what it took.
    """
    call = prctl()
    call(PR_SET_CHILD_SUBREAPER, 1)
    shared = terminal.foreground_group() is not None
    kept, streams, files = Tail(tail), [], []
    with ExitStack() as taken:
        bell = Bell()
        taken.callback(bell.close)
        for fds in wiring.copied() if tail > 0 else ():
            streams.append(Stream(fds, kept))
            taken.callback(streams[-1].close)
        for fds in wiring.written() if tail > 0 else ():
            files.append(Written(fds))
            taken.callback(files[-1].close)
        launch = Launch(
            argv=argv,
            env=dict(env),
            wiring={fd: stream.far for stream in streams for fd in stream.fds},
            mask=bell.inherited_mask,
            own_group=not shared,
            prctl=call,
        )
        missed = arrivals.waiting()
        pid = launch.start()
        taken.pop_all()
    for stream in streams:
        stream.handed_over()
    group = Shared(pid) if shared else Own(pid)
    child = Child(pid, group, streams=streams, files=files, tail=kept, bell=bell, arrivals=arrivals, missed=missed)
    child.escaped = escapes(argv, env)
    return child
