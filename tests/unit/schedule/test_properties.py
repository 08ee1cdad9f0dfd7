"""What holds for every expression in every zone, near clock changes and far from them.

The strongest is the last: a model of the daemon's main loop, written down from its manual and source, fires the same
instants.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile

from hypothesis import assume, given
from hypothesis import strategies as st

from once import errors
from once.instants import at_unix_seconds
from once.schedule import Schedule
from once.schedule.stretches import STRIDE, changes_of, stretches_of
from tests.unit.schedule.strategies import ZONES, expressions, local_time, places

MINUTE = timedelta(minutes=1)
WINDOW = timedelta(days=3)
NIGHT = timedelta(hours=36)


def parsed(expression, zone, **engine):
    """The schedule, or this example is of no interest: a date that never comes."""
    try:
        return Schedule.parse(expression.text, zone, **engine)
    except errors.ScheduleInvalid as refusal:
        assume("never matches" not in refusal.message)
        raise


@given(expressions, places, st.sampled_from(["cron", "kubernetes"]))
def test_slots_ascend_and_both_ways_give_the_same(expression, place, engine):
    """Enumeration forwards, backwards and in between is one and the same set, each slot once."""
    zone, at = place
    schedule = parsed(expression, zone, engine=engine)

    forwards = list(schedule.between(at, at + WINDOW))
    backwards = list(takewhile(lambda slot: slot >= at, schedule.before(at + WINDOW)))

    assert backwards[::-1] == forwards
    assert [at_unix_seconds(slot) for day in schedule.seconds(at, at + WINDOW) for slot in day] == forwards
    assert all(earlier < later for earlier, later in pairwise(forwards))
    assert [slot for slot in islice(schedule.after(at), len(forwards)) if slot < at + WINDOW] == [
        slot for slot in forwards if slot > at
    ]


@given(expressions, places)
def test_the_one_before_the_next_is_the_latest_and_the_other_way_round(expression, place):
    """Next and previous agree on every boundary."""
    zone, at = place
    schedule = parsed(expression, zone)

    latest, coming = schedule.nearest(at)

    assert latest <= at < coming
    assert (next(schedule.before(coming)), next(schedule.after(latest))) == (latest, coming)
    assert (schedule.slot_at(latest).at, schedule.slot_for(latest).at) == (latest, latest)


@given(expressions, places)
def test_a_slot_matches_its_expression_unless_it_is_the_end_of_a_gap(expression, place):
    """On the wall clock of its zone."""
    zone, at = place
    schedule = parsed(expression, zone)

    ends_of_gaps = {
        change.at for year in range(at.year, at.year + 2) for change in changes_of(zone, year) if change.skips
    }
    misfits = {
        slot
        for slot in islice(schedule.between(at, at + WINDOW), 500)
        if slot not in ends_of_gaps and not expression.matches(local_time(slot, zone))
    }

    assert misfits == set()


@given(expressions, places)
def test_a_start_is_never_for_a_slot_further_away_than_its_neighbours(expression, place):
    """Rounding up happens within five seconds and a quarter of the distance, and nowhere else."""
    zone, at = place
    schedule = parsed(expression, zone)
    latest, coming = schedule.nearest(at)

    actual = schedule.slot_for(at).at

    is_early = coming - at <= min(timedelta(seconds=5), (coming - latest) / 4)
    assert actual == (coming if is_early else latest)


@given(expressions, places, st.sampled_from(["cron", "kubernetes"]))
def test_no_more_of_a_zone_is_looked_at_than_the_years_up_to_the_slot(expression, place, engine):
    """Bounded work for the rarest schedule: one look a year, and the year around."""
    zone, at = place
    schedule = parsed(expression, zone, engine=engine)
    stretches_of.cache_clear()

    coming = next(schedule.after(at))

    assert stretches_of.cache_info().misses <= coming.year - at.year + 1


@given(st.sampled_from(ZONES), st.integers(1900, 2100))
def test_changes_are_where_the_offset_changes_and_nowhere_else(zone, year):
    """Held against a look at every sixth hour."""
    start, end, step = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC), timedelta(hours=6)
    instants = [*(start + n * step for n in range((end - start) // step)), end - timedelta(seconds=1)]
    offsets = [local_time(at, zone) - at.replace(tzinfo=None) for at in instants]

    expected = [n for n, (before, after) in enumerate(pairwise(offsets), 1) if before != after]
    actual = [-((start - change.at) // step) for change in changes_of(zone, year) if change.at > start]

    assert actual == expected
    assert all(later.at - earlier.at > STRIDE for earlier, later in pairwise(changes_of(zone, year)))


@given(expressions, places)
def test_slots_are_the_starts_of_the_daemons_loop(expression, place):
    """Debian's cron keeps a virtual clock, and wakes up each minute of real time."""
    zone, at = place
    start = at.replace(second=0, microsecond=0)
    changes = [change for year in (start.year, (start + WINDOW).year) for change in changes_of(zone, year)]
    assume(all(5 * MINUTE < abs(change.after - change.before) < 180 * MINUTE for change in changes))
    assume(all(change.at.second == 0 and change.after % MINUTE == timedelta() for change in changes))
    assume(all(abs(change.at - start) > 180 * MINUTE for change in changes))
    schedule = parsed(expression, zone)

    actual = list(schedule.between(start, start + NIGHT))

    assert actual == daemon(expression, zone, start, start + NIGHT)


def daemon(expression, zone, start, end):
    """The instants at which cron starts a job, its clock being set only by the zone; starts of a minute count once."""
    fired = []
    virtual = local_time(start, zone) - MINUTE
    while start < end:
        real = local_time(start, zone)
        ahead = real - virtual
        if ahead <= timedelta():  # set back: wild jobs only, until the virtual clock is caught up
            runs = expression.is_wild and expression.matches(real)
        elif ahead == MINUTE:
            runs, virtual = expression.matches(real), real
        else:  # set forward: wild jobs of this minute, and all others of each minute left out
            missed = (virtual + n * MINUTE for n in range(1, ahead // MINUTE + 1))
            runs = expression.matches(real) if expression.is_wild else any(map(expression.matches, missed))
            virtual = real
        if runs:
            fired.append(start)
        start += MINUTE
    return fired
