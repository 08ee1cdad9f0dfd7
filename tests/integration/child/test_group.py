"""Freezing, thawing and killing takes in all that the command has started."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.integration.child.conftest import Supervise, Wrapped, members, stat_of, until

WORKER = "while :; do echo >> {witness}; done & while :; do echo >> {witness}; done"


def group_of(wrapped: Wrapped) -> list[int]:
    """The living processes that are the command's."""
    return [pid for pid in members(wrapped.process.pid) if pid != wrapped.process.pid]


def assert_it_works_only_when_thawed(wrapped: Wrapped, witness: Path) -> None:
    """What is frozen writes nothing while its supervisor answers a hundred times; thawed it does. Then it is killed."""
    before = witness.stat().st_size
    for _ in range(100):
        wrapped.order("gone")
    after = witness.stat().st_size
    wrapped.order("thaw")

    assert after == before
    assert until(lambda: witness.stat().st_size > before)
    wrapped.order("kill")


def test_a_frozen_group_does_no_work_until_it_is_thawed(supervise: Supervise, tmp_path: Path) -> None:
    """A witness that two processes of the group write to stands still meanwhile, and grows afterwards."""
    witness = tmp_path / "witness"
    wrapped = supervise("sh", "-c", WORKER.format(witness=witness))
    until(lambda: witness.exists() and witness.stat().st_size > 0 and len(group_of(wrapped)) == 2)
    wrapped.order("freeze")
    until(lambda: all(stat_of(pid)[0] == "T" for pid in group_of(wrapped)))

    assert_it_works_only_when_thawed(wrapped, witness)
    assert wrapped.end()["exit"] == 137


def test_what_has_made_a_group_of_its_own_is_frozen_and_killed_too(supervise: Supervise, tmp_path: Path) -> None:
    """As timeout(1) in a script does, or a nested `once`: it would work on past the lease."""
    witness = tmp_path / "witness"
    script = f"timeout 300 sh -c 'while :; do echo >> {witness}; done'; echo end"
    wrapped = supervise("sh", "-c", script)
    until(lambda: witness.exists() and witness.stat().st_size > 0)
    wrapped.order("freeze")
    until(lambda: [stat_of(pid)[:1] for pid in group_of(wrapped)] == [["T"]] * 3)

    assert_it_works_only_when_thawed(wrapped, witness)
    assert wrapped.end()["exit"] == 137
    assert until(lambda: not members(wrapped.process.pid))


def test_a_kill_leaves_nothing_of_the_group(supervise: Supervise) -> None:
    """Frozen or not, asked to end or not."""
    wrapped = supervise("bash", "-c", "trap '' TERM; (trap '' TERM; while :; do sleep 300; done) & wait")
    until(lambda: len(group_of(wrapped)) == 3)
    wrapped.order("freeze")
    wrapped.order("kill")

    assert wrapped.end()["exit"] == 137
    assert until(lambda: not members(wrapped.process.pid))


def test_a_group_is_gone_when_only_zombies_are_left(supervise: Supervise, tmp_path: Path) -> None:
    """killpg(2) counts a zombie that its parent does not bury; the living are what matters."""
    # The leader's child leaves the session, as a daemon does, and keeps a zombie that stayed in the group.
    script = (
        "import os, signal, time\n"
        "if os.fork() == 0:\n"
        "    stayed = os.fork()\n"
        "    if stayed == 0: os._exit(0)\n"
        "    os.setsid()\n"
        "    os.waitid(os.P_PID, stayed, os.WEXITED | os.WNOWAIT)\n"
        f"    open({str(tmp_path / 'zombie')!r}, 'w').write(str(stayed))\n"
        "    signal.pause()\n"
        "signal.pause()\n"
    )
    wrapped = supervise("python3", "-c", script, options=["--linger"])
    command = wrapped.started()
    zombie = int(until(lambda: (tmp_path / "zombie").exists() and (tmp_path / "zombie").read_text()))
    keeper = int(stat_of(zombie)[1])
    living = wrapped.order("gone")
    os.kill(command, signal.SIGKILL)
    wrapped.answers.until("exited")
    left = wrapped.order("gone")
    state = stat_of(zombie)[0]
    os.kill(keeper, signal.SIGKILL)

    assert (living, left, state) == ("gone False", "gone True", "Z")


def test_what_the_command_leaves_in_its_group_is_still_alive(supervise: Supervise) -> None:
    """After its end the group may be asked for, signalled and killed; and then is gone."""
    wrapped = supervise("sh", "-c", "sleep 300 & exit 3", options=["--linger"])
    wrapped.answers.until("exited")
    alive = wrapped.order("gone")
    wrapped.order("kill")
    until(lambda: wrapped.order("gone") == "gone True")

    assert alive == "gone False"
    wrapped.order("leave")
    assert wrapped.end()["exit"] == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away needs root")
@pytest.mark.parametrize(("mode", "escapes"), [(0o4755, True), (0o2755, True), (0o755, False)])
def test_a_set_user_id_command_is_known_to_escape(
    supervise: Supervise, tmp_path: Path, mode: int, escapes: bool
) -> None:
    """The kernel forgets that it was to be told of our end (sudo)."""
    path = tmp_path / "program"
    shutil.copy("/bin/true", path)
    os.chown(path, 65534, 65534)
    path.chmod(mode)

    assert supervise(str(path)).end()["escaped"] is escapes
