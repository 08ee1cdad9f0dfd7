"""The instant in a Job's name."""

from datetime import UTC, datetime

import pytest

from once import errors
from once.schedule import Schedule
from once.schedule.kubernetes import instant_of_job


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report-29153520", datetime(2025, 6, 6, 12, tzinfo=UTC)),
        ("nightly-report-29153525", datetime(2025, 6, 6, 12, 5, tzinfo=UTC)),
        ("report-1749211200", datetime(2025, 6, 6, 12, tzinfo=UTC)),
        ("report-1749211230", datetime(2025, 6, 6, 12, 0, 30, tzinfo=UTC)),
    ],
)
def test_the_controller_writes_minutes_since_1970_older_ones_seconds(name, expected):
    """So a pod that comes ten minutes late still knows its slot."""
    actual = instant_of_job(name)

    assert actual == expected


@pytest.mark.parametrize(
    "name",
    ["report", "report-manual", "report-42", "report-20250606", "report-202506061200", "29153520", "report-9999999999"],
)
def test_a_name_without_a_plausible_instant_is_a_run_by_hand(name):
    """`kubectl create job --from`, also with a date in its name."""
    actual = instant_of_job(name)

    assert actual is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is empty"),
        ("$(JOB_NAME)", "the variable was not expanded"),
        ("${JOB_NAME}", "the variable was not expanded"),
        ("report-29153520-x7k2p", "it is a pod's name"),
    ],
)
def test_a_name_that_cannot_be_a_jobs_is_refused(name, why):
    """Taken for a run by hand, each pod would run."""
    with pytest.raises(errors.JobNameInvalid) as refusal:
        instant_of_job(name)

    assert why in refusal.value.message
    assert "metadata.labels['batch.kubernetes.io/job-name']" in refusal.value.advice


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("30 2 * * *", "2026-10-25T00:30Z", "2026-10-25T00:30Z"),
        ("30 2 * * *", "2026-10-25T01:30Z", "2026-10-25T00:30Z"),
        ("30 2 * * *", "2026-10-24T00:30Z", "2026-10-24T00:30Z"),
        ("*/30 2 * * *", "2026-10-25T01:30Z", "2026-10-25T01:30Z"),
        ("30 2 * * *", "2026-03-29T01:00Z", None),
        ("30 2 * * *", "2026-10-25T01:31Z", None),
        ("30 2 * * *", "2026-10-26T02:30Z", None),
    ],
)
def test_the_second_job_of_the_repeated_hour_meets_the_slot_of_the_first(expression, at, expected):
    """Both passes are two Jobs for a fixed time, and one slot. In the gap of spring there is neither Job nor slot."""
    slot = Schedule.parse(expression, "Europe/Berlin", engine="kubernetes").of_job(datetime.fromisoformat(at))

    assert (slot and slot.at) == (expected and datetime.fromisoformat(expected))
