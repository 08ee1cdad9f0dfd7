"""Fork and exec, by hand: from the main thread, since the kernel sends PR_SET_PDEATHSIG when the forking *thread* ends.

Every signal is blocked around the fork. So a signal either comes before, and is noted by us, or after, and finds a
command that has its own dispositions: never a copy of our handlers in the child, writing into our pipes. What failed
on the way to exec comes back through a pipe that exec closes.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
from collections.abc import Mapping, Sequence
from typing import NoReturn

from once.child.kernel import PR_SET_PDEATHSIG, Prctl
from once.child.search import USUAL_PATH, execute
from once.errors import CommandNotExecutable, CommandNotFound
from once.noun import Noun

IGNORED_BY_PYTHON = frozenset((signal.SIGPIPE, signal.SIGXFSZ))
"""The interpreter ignores these for itself, and a command would inherit it."""

WANT = frozenset((errno.EAGAIN, errno.ENOMEM, errno.ENFILE, errno.EMFILE))
"""What exec says when this host lacks something: the command is not to blame (EAGAIN: execve(2), RLIMIT_NPROC)."""

RESET = IGNORED_BY_PYTHON | {signal.SIGCHLD}


class Launch(Noun):
    """A command to be: which of its descriptors are which of ours, what it finds blocked, whether it leads a group."""

    argv: Sequence[str]
    env: Mapping[str, str]
    wiring: Mapping[int, int]
    mask: set[int]
    own_group: bool
    prctl: Prctl

    def start(self) -> int:
        """The process number of the command, once it is executed.

        Raises CommandNotFound or CommandNotExecutable; OSError for want of processes, memory or descriptors.
        """
        hearing, telling = os.pipe()
        try:
            pid = self._fork(telling)
        except OSError:
            os.close(hearing)
            raise
        finally:
            os.close(telling)
        with os.fdopen(hearing, "rb") as pipe:
            told = pipe.read()
        if told:
            os.waitpid(pid, 0)
            raise self._failure(told)
        return pid

    def _fork(self, telling: int) -> int:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        parent = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                self._become(telling, parent=parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def _become(self, telling: int, *, parent: int) -> NoReturn:
        """In the child: put everything as the command shall find it, and execute it. No finaliser may ever run here."""
        try:
            gc.disable()
            number, why = self._prepare_and_execute(parent)
        except OSError as error:
            number, why = error.errno or errno.EIO, ""
        except BaseException as error:  # noqa: BLE001 - whatever it is, this copy of the parent must not live on
            number, why = errno.EIO, repr(error)
        try:
            os.write(telling, f"{number}:{why}".encode(errors="replace"))
        finally:
            os._exit(127)

    def _prepare_and_execute(self, parent: int) -> tuple[int, str]:
        if self.own_group:
            os.setpgid(0, 0)
        self.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the kernel was asked to tell us
            os._exit(128 + signal.SIGTERM)
        for signum in signal.valid_signals():
            if signum in RESET or callable(signal.getsignal(signum)):
                signal.signal(signum, signal.SIG_DFL)
        for theirs, ours in self.wiring.items():
            os.dup2(ours, theirs)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
        return execute(self.argv, self.env)

    def _failure(self, told: bytes) -> CommandNotFound | CommandNotExecutable | OSError:
        number, _, why = told.decode().partition(":")
        if int(number) in WANT:
            return OSError(int(number), os.strerror(int(number)))
        if int(number) in (errno.ENOENT, errno.ENOTDIR) and not why:
            what = "file" if "/" in self.argv[0] else f"command (PATH is {self.env.get('PATH', USUAL_PATH)})"
            return CommandNotFound(command=self.argv[0], what=what)
        return CommandNotExecutable(command=self.argv[0], why=why or os.strerror(int(number)))
