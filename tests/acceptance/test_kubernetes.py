"""A CronJob's pods: the slot is the one in the Job's name, however late, and however often a pod starts."""

from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest

from once.schedule import Schedule
from tests.acceptance.conftest import Host, Ran, ended, until
from tests.acceptance.test_bad_input import refused

MINUTE = timedelta(minutes=1)
EVERY_FIVE = "*/5 * * * *"


def job(at: datetime, cronjob: str = "report") -> str:
    """The name of the Job that the controller makes for this instant."""
    return f"{cronjob}-{int(at.timestamp()) // 60}"


def line(name: str, schedule: str = EVERY_FIVE, tz: str = "UTC", *more: str) -> list[str]:
    return ["run", "--task", "report", "--schedule", schedule, "--tz", tz, "--job-name", name, *more, "--"]


def text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def at() -> datetime:
    """A slot of every five minutes, two slots ago."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    return now - timedelta(minutes=now.minute % 5 + 10)


def test_pods_that_start_after_the_next_slot_have_the_slots_of_their_jobs(host: Host, at: datetime) -> None:
    """Two Jobs whose images came late: two slots, two runs; by the clock both would be the newest. Not a word."""
    ran = [host.once(*line(job(at + late * MINUTE)), "sh", "-c", "echo $ONCE_SLOT") for late in (0, 5)]
    runs = host.runs("report")

    assert ran == [Ran(0, f"{text(at + late * MINUTE)}\n".encode(), "") for late in (0, 5)]
    assert [(run["slot"], run["outcome"], run["by_hand"]) for run in runs] == [
        (text(at), "succeeded", False),
        (text(at + 5 * MINUTE), "succeeded", False),
    ]


def test_a_pod_that_starts_again_finds_its_slot_done(host: Host, at: datetime) -> None:
    """Nothing is run, nothing is said."""
    host.once(*line(job(at)), "true")
    again = host.once(*line(job(at)), "touch", "ran")

    assert again == Ran(0, b"", "")
    assert not (host.root / "ran").exists()


def test_a_pod_of_the_next_job_is_not_held_up_by_one_that_failed(lone_host: Host, at: datetime) -> None:
    """Each Job has its slot, whatever became of the other."""
    first = lone_host.once(*line(job(at)), "false")
    second = lone_host.once(*line(job(at + 5 * MINUTE)), "true")

    assert (first.status, second.status) == (1, 0)
    assert [run["outcome"] for run in lone_host.runs("report")] == ["failed", "succeeded"]


def outcomes(host: Host) -> list[tuple[int, str, int | None]]:
    return [(run["attempt"], run["outcome"], run["exit_status"]) for run in host.runs("report")]


def test_a_pod_after_one_that_failed_is_the_next_attempt(host: Host, at: datetime) -> None:
    """The Job's restartPolicy or backoffLimit decides how often; a false success would hide the outage."""
    ran = [host.once(*line(job(at)), "sh", "-c", "[ $ONCE_ATTEMPT -ge 3 ] || exit 4") for _ in range(4)]

    assert [one.status for one in ran] == [4, 4, 0, 0]
    assert outcomes(host) == [(1, "failed", 4), (2, "failed", 4), (3, "succeeded", 0)]


def test_the_successor_of_an_evicted_pod_runs(lone_host: Host, at: datetime) -> None:
    """It starts while the old pod still stops, and waits for that."""
    script = "trap 'echo stopping; read _; exit 143' TERM; echo up; while :; do sleep 0.05; done"
    old = lone_host.start(*line(job(at)), "bash", "-c", script, stdin=subprocess.PIPE)
    assert old.stdout and old.stdout.readline() == b"up\n"
    old.terminate()
    assert old.stdout.readline() == b"stopping\n"
    new = lone_host.start(*line(job(at), EVERY_FIVE, "UTC", "-v"), "true")
    assert new.stderr
    until(lambda: b"waiting for run 1" in new.stderr.readline())
    old.communicate(b"\n")
    ran = ended(new)

    assert (old.returncode, ran.status) == (143, 0)
    assert outcomes(lone_host) == [(1, "stopped", 143), (2, "succeeded", 0)]


def test_a_pod_that_was_killed_is_replaced_within_its_lease(lone_host: Host, at: datetime) -> None:
    """Out of memory: no end was recorded, and the container is started again at once."""
    old = lone_host.start(*line(job(at), EVERY_FIVE, "UTC", "--lease", "5s"), "sh", "-c", "echo up; exec sleep 600")
    assert old.stdout and old.stdout.readline() == b"up\n"
    old.kill()
    ran = lone_host.once(*line(job(at)), "echo", "took over")

    assert ran == Ran(0, b"took over\n", "")
    assert [run["outcome"] for run in lone_host.runs("report")] == ["lost", "succeeded"]


@pytest.mark.parametrize("status", [0, 9])
def test_two_pods_of_one_job_run_it_once_and_end_alike(host: Host, at: datetime, status: int) -> None:
    """The loser must not end the Job while the winner works, nor turn its failure into a success."""
    winner = host.start(*line(job(at)), "sh", "-c", f"echo up; read _; exit {status}", stdin=subprocess.PIPE)
    assert winner.stdout and winner.stdout.readline() == b"up\n"
    loser = host.start(*line(job(at), EVERY_FIVE, "UTC", "-v", "--attempts", "1"), "touch", "ran")
    assert loser.stderr
    until(lambda: b"waiting for run 1" in loser.stderr.readline())
    winner.communicate(b"\n")

    assert (winner.returncode, ended(loser).status) == (status, status)
    assert not (host.root / "ran").exists()


def test_an_older_controllers_name_counts_seconds(lone_host: Host, at: datetime) -> None:
    """Before Kubernetes 1.21."""
    ran = lone_host.once(*line(f"report-{int(at.timestamp())}"), "true")

    assert ran == Ran(0, b"", "")
    assert lone_host.run("report")["slot"] == text(at)


def test_the_two_jobs_of_a_repeated_hour_are_one_slot(lone_host: Host) -> None:
    """The controller makes one for each pass; the second finds the first one's slot done."""
    passes = [datetime(2025, 10, 26, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    ran = [lone_host.once(*line(job(one), "30 2 * * *", "Europe/Berlin"), "true") for one in passes]

    assert ran == [Ran(0, b"", ""), Ran(0, b"", "")]
    assert lone_host.run("report")["slot"] == text(passes[0])


def test_an_instant_that_the_schedule_does_not_have_is_refused(lone_host: Host) -> None:
    """The CronJob is in Berlin, the line is not: the two nearest slots are named, and nothing is run."""
    nine_in_berlin = datetime(2025, 10, 24, 7, tzinfo=UTC)
    ran = lone_host.once(*line(job(nine_in_berlin), "0 9 * * *", "UTC"), "touch", "ran")

    refused(
        ran,
        125,
        "Job report-29354820 is for 2025-10-24T07:00:00Z, but '0 9 * * *' in UTC has 2025-10-23T09:00:00Z and",
        "zone, dialect or edit differ",
        "spec.timeZone",
    )
    assert not (lone_host.root / "ran").exists()
    assert not (lone_host.root / "state").exists()


@pytest.mark.parametrize(("ahead", "status"), [(1, 0), (3, 125)])
def test_a_job_of_the_future_is_early_by_the_skew_of_two_clocks_at_most(
    lone_host: Host, ahead: int, status: int
) -> None:
    """Claimed longer before, its own start would find it done."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    ran = lone_host.once(*line(job(now + ahead * MINUTE), "* * * * *", "UTC", "--max-skew", "2m"), "true")

    assert ran.status == status
    assert ("in the future by this host's clock" in ran.err) is (status == 125)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("$(JOB_NAME)", [], "was not expanded"),
        ("", [], "it is empty"),
        ("report-29355420-x7k2p", [], "it is a pod's name"),
        ("report-29355420", ["--slot", "last"], "both name the slot"),
        ("report-manual", ["--slot", "last"], "both name the slot"),
        ("report-29355420", ["--schedule", "@every 15m"], "counts @every from"),
    ],
)
def test_a_name_that_says_nothing_or_too_much_is_refused(
    lone_host: Host, name: str, options: list[str], said: str
) -> None:
    """Taken for a run by hand, each pod would run; the line says where the name comes from."""
    ran = lone_host.once(*line(name, "* * * * *", "UTC", *options), "touch", "ran")

    refused(ran, 125, said)
    assert not (lone_host.root / "ran").exists()


def test_a_job_that_no_schedule_made_is_a_run_by_hand(host: Host, at: datetime) -> None:
    """`kubectl create job --from`: without a slot, as often as one likes, and it says so."""
    ran = [host.once(*line("report-manual"), "sh", "-c", 'echo "[$ONCE_SLOT]"') for _ in range(2)]
    scheduled = host.once(*line(job(at)), "true")
    runs = host.runs("report")

    said = "once run: report: no schedule made the Job report-manual: this is a run by hand, without a slot\n"
    assert ran == [Ran(0, b"[]\n", said)] * 2
    assert scheduled == Ran(0, b"", "")
    assert [(run["slot"], run["by_hand"]) for run in runs] == [(None, True), (None, True), (text(at), False)]


def test_a_job_by_hand_is_skipped_while_another_run_is_alive(lone_host: Host, at: datetime) -> None:
    """Two different Jobs: the second exits with 0 and says whose fault it is."""
    holder = lone_host.start(*line(job(at)), "sh", "-c", "until [ -e end ]; do sleep 0.05; done")
    until(lambda: lone_host.runs("report"))
    by_hand = lone_host.once(*line("report-manual"), "touch", "ran")
    (lone_host.root / "end").touch()

    assert (by_hand.status, by_hand.out) == (0, b"")
    assert by_hand.err.splitlines()[1].startswith("once run: report: the command was skipped: another run is alive")
    assert ended(holder).status == 0
    assert not (lone_host.root / "ran").exists()


def test_start_within_counts_from_the_slot(lone_host: Host, at: datetime) -> None:
    """Certain is not the same as wanted however late."""
    ran = lone_host.once(*line(job(at), EVERY_FIVE, "UTC", "--start-within", "5m"), "touch", "ran")

    assert ran.status == 0
    assert "more than --start-within" in ran.err
    assert lone_host.run("report")["outcome"] == "skipped"


def test_what_is_told_of_the_task_is_by_the_controllers_rules(lone_host: Host) -> None:
    """`*/2` in a day field is no star to it, as it is to cron: the engine is stored with the line."""
    schedule = Schedule.parse("0 9 */2 * 1", "UTC", engine="kubernetes")
    now = datetime.now(UTC)
    slot = next(schedule.before(now))
    lone_host.once(*line(job(slot), "0 9 */2 * 1"), "true")
    (status,) = lone_host.json("status")
    told = lone_host.once("next", "--task", "report", "--count", "9", "--at", text(now))

    assert told.err == ""
    assert status["next_slot"] == text(next(schedule.after(now)))
    assert told.out.decode().splitlines()[0].endswith(", as Kubernetes fires it")
    following = schedule.after(now)
    assert [row.split()[4] for row in told.out.decode().splitlines()[3:]] == [text(next(following)) for _ in range(9)]


def test_a_pod_without_job_name_at_the_wrong_hour_does_nothing(lone_host: Host) -> None:
    """Started hours before its time it belongs to the day before: done, or not in force yet."""
    daily = Schedule.parse(f"{time.gmtime().tm_min} {(time.gmtime().tm_hour + 4) % 24} * * *", "UTC")
    by_clock = ["run", "--task", "report", "--schedule", daily.expression, "--tz", "UTC"]
    first_sight = lone_host.once(*by_clock, "--", "touch", "ran")
    lone_host.once(*by_clock, "--slot", "last", "--", "true")
    done = lone_host.once(*by_clock, "--", "touch", "ran")

    assert first_sight.status == 0
    assert "this schedule is new here: noted, nothing was run" in first_sight.err
    assert done == Ran(0, b"", "")
    assert not (lone_host.root / "ran").exists()
