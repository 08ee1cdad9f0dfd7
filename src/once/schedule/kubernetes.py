"""The instant in the name of a Job that a CronJob made.

The controller names a Job `<cronjob>-<minutes since 1970>` for its scheduled time (getJobName in
pkg/controller/cronjob/utils.go of Kubernetes, since 1.21); older ones wrote seconds. A pod gets that name from its
label `batch.kubernetes.io/job-name` by the downward API, so a late or repeated pod still knows its slot.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from once import errors
from once.instants import EPOCH, MINUTE, SECOND

JOB = re.compile(r".+-(?P<digits>[1-9][0-9]{7,9})")
POD = re.compile(r"(?P<job>.+-[1-9][0-9]{7,9})-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""A pod's name is its Job's and five characters of an alphabet without vowels."""

LABEL = "metadata.labels['batch.kubernetes.io/job-name']"

FIRST_IN_MINUTES = datetime(2021, 1, 1, tzinfo=UTC)
"""Before Kubernetes 1.21. Eight digits below this are a date that somebody typed, such as 20250606."""
FIRST_IN_SECONDS = datetime(2015, 1, 1, tzinfo=UTC)
LAST = datetime(2100, 1, 1, tzinfo=UTC)


def instant_of_job(name: str) -> datetime | None:
    """The scheduled time of this Job, in UTC, or None for a Job that no schedule made (`kubectl create job --from`).

    Raises JobNameInvalid for an empty name, a variable that was not expanded, and a pod's name.
    """
    if not name.strip():
        raise errors.JobNameInvalid(name=name, why="it is empty", label=LABEL)
    if "$" in name:
        raise errors.JobNameInvalid(name=name, why="the variable was not expanded", label=LABEL)
    if (pod := POD.fullmatch(name)) and _instant_in(pod["job"]):
        raise errors.JobNameInvalid(name=name, why="it is a pod's name, not its Job's", label=LABEL)
    return _instant_in(name)


def _instant_in(name: str) -> datetime | None:
    match = JOB.fullmatch(name)
    if not match:
        return None
    count = int(match["digits"])
    for unit, first in ((MINUTE, FIRST_IN_MINUTES), (SECOND, FIRST_IN_SECONDS)):
        if first - EPOCH <= count * unit < LAST - EPOCH:
            return EPOCH + count * unit
    return None
