"""Jobs as the controller runs them: containers started one after another until one succeeds or backoffLimit is reached.

Each container is `once` as the first process of a namespace of its own, on a disk that goes with it. restartPolicy
OnFailure starts the next one in the same pod, Never in another: a pod's name is its host's.
"""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest

from tests.acceptance.conftest import ONCE, Host, ended, needs, until
from tests.acceptance.test_pid_one import first_child_of

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.parametrize("store_kind", ["postgres"], indirect=True),
]

ARGS = (
    "run", "--task", "report", "--schedule", "*/5 * * * *", "--tz", "UTC", "--job-name", "$(JOB_NAME)",
    "--lease", "5s", "-v", "--", "sh", "-c",
)  # fmt: skip
UNTIL_LET_GO = "until [ -e let_go ]; do sleep 0.05; done"
INSIDE = 'echo "$0" > /proc/sys/kernel/hostname && mount -t tmpfs none /var/lib && exec "$@"'


class Policy(StrEnum):
    """restartPolicy."""

    ON_FAILURE = "OnFailure"
    NEVER = "Never"


@dataclass
class Job:
    """One that a CronJob has made, of containers that run this script."""

    host: Host
    policy: Policy
    script: str
    backoff_limit: int = 2
    statuses: list[int] = field(default_factory=list)

    def pod(self) -> str:
        """The name of the pod in which the next container is started."""
        return f"{name_of_job()}-{len(self.statuses) if self.policy is Policy.NEVER else 0}"

    def start(self) -> subprocess.Popen[bytes]:
        """A container, with what the downward API puts into its environment and the kubelet into its arguments."""
        name = name_of_job()
        disk = self.host.root / f"container{len(self.host.processes)}"
        disk.mkdir()
        environ = self.host.environ | {"HOME": str(disk), "JOB_NAME": name, "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        del environ["ONCE_STATE_DIR"]
        args = [arg.replace("$(JOB_NAME)", environ["JOB_NAME"]) for arg in ARGS]
        own = [needs("unshare"), "--pid", "--uts", "--fork", "--mount-proc", "--kill-child"]
        process = subprocess.Popen(
            [*own, "sh", "-c", INSIDE, self.pod(), str(ONCE), *args, self.script],
            env=environ,
            cwd=self.host.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.host.processes.append(process)
        return process

    def has_ended(self, status: int) -> bool:
        """Whether the controller starts no further container after one that ended so."""
        self.statuses.append(status)
        return status == 0 or len(self.statuses) > self.backoff_limit

    def run(self) -> str:
        """Start containers until the Job has ended; what its condition says then."""
        while not self.has_ended(ended(self.start()).status):
            pass
        return self.condition

    @property
    def condition(self) -> str:
        return "Complete" if self.statuses[-1] == 0 else "Failed"

    def told(self) -> list[tuple[Any, ...]]:
        """The record: each attempt's pod, outcome and status."""
        runs = self.host.runs("report")
        return [(run["host"].removeprefix(name_of_job()), run["outcome"], run["exit_status"]) for run in runs]


def name_of_job() -> str:
    """Of a slot that was a while ago, so that no test sees it change."""
    return f"report-{SLOT // 60}"


SLOT = int((datetime.now(UTC) - timedelta(minutes=20)).timestamp()) // 300 * 300

policies = pytest.mark.parametrize("policy", Policy)


def at_work(job: Job) -> subprocess.Popen[bytes]:
    """A container whose command has said that it is up."""
    process = job.start()
    assert process.stdout and process.stdout.readline() == b"up\n"
    return process


def waiting(job: Job) -> subprocess.Popen[bytes]:
    """A container that waits for the one that holds the slot."""
    process = job.start()
    assert process.stderr
    until(lambda: b"waiting for run 1 on" in process.stderr.readline())
    return process


def pods(policy: Policy, number: int) -> list[str]:
    """How the names of the pods of so many containers end."""
    return [f"-{index if policy is Policy.NEVER else 0}" for index in range(number)]


@policies
def test_success(host: Host, policy: Policy) -> None:
    """One container, one run."""
    job = Job(host, policy, "true")

    assert job.run() == "Complete"
    assert job.statuses == [0]
    assert job.told() == [("-0", "succeeded", 0)]


@policies
def test_failure_then_success(host: Host, policy: Policy) -> None:
    """The next container is the slot's next attempt."""
    job = Job(host, policy, "[ $ONCE_ATTEMPT -gt 1 ] || exit 4")

    assert job.run() == "Complete"
    assert job.statuses == [4, 0]
    assert job.told() == list(zip(pods(policy, 2), ["failed", "succeeded"], [4, 0], strict=True))


@policies
def test_failure_for_good(host: Host, policy: Policy) -> None:
    """The cap is backoffLimit; no container says that all is well."""
    job = Job(host, policy, "exit $((ONCE_ATTEMPT + 3))")

    assert job.run() == "Failed"
    assert job.statuses == [4, 5, 6]
    assert job.told() == list(zip(pods(policy, 3), ["failed"] * 3, [4, 5, 6], strict=True))


@policies
def test_out_of_memory_takes_the_container(host: Host, policy: Policy) -> None:
    """No end was recorded: the next container waits for the lease, and runs."""
    job = Job(host, policy, "[ $ONCE_ATTEMPT -gt 1 ] || { echo up; exec sleep 600; }")
    first = at_work(job)
    os.kill(first_child_of(first.pid), signal.SIGKILL)
    has_ended = job.has_ended(ended(first).status)

    assert not has_ended
    assert job.run() == "Complete"
    assert job.told() == list(zip(pods(policy, 2), ["lost", "succeeded"], [None, 0], strict=True))


@policies
def test_out_of_memory_takes_the_command_alone(host: Host, policy: Policy) -> None:
    """`once` is the smaller process: it lives to say so."""
    job = Job(host, policy, "[ $ONCE_ATTEMPT -gt 1 ] || kill -KILL $$")

    assert job.run() == "Complete"
    assert job.statuses == [137, 0]
    assert job.told() == list(zip(pods(policy, 2), ["failed", "succeeded"], [137, 0], strict=True))


def test_the_successor_of_an_evicted_pod_starts_while_that_still_stops(host: Host) -> None:
    """One after the other; the Job ends with the successor."""
    stops = f"trap '{UNTIL_LET_GO}; exit 143' TERM; echo up; while :; do sleep 0.05; done"
    job = Job(host, Policy.NEVER, f"[ $ONCE_ATTEMPT -gt 1 ] || {{ {stops}; }}")
    evicted = at_work(job)
    os.kill(first_child_of(evicted.pid), signal.SIGTERM)
    job.statuses.append(143)
    successor = waiting(job)
    (host.root / "let_go").touch()
    statuses = [ended(one).status for one in (evicted, successor)]

    assert statuses == [143, 0]
    assert job.told() == [("-0", "stopped", 143), ("-1", "succeeded", 0)]


def test_two_pods_at_once(host: Host) -> None:
    """One runs it; the other ends no sooner, and as that does."""
    job = Job(host, Policy.NEVER, f"echo up; {UNTIL_LET_GO}")
    first = at_work(job)
    job.statuses.append(0)
    second = waiting(job)
    (host.root / "let_go").touch()
    ran = [ended(one) for one in (first, second)]

    assert [(one.status, one.out) for one in ran] == [(0, b""), (0, b"")]
    assert job.told() == [("-0", "succeeded", 0)]
