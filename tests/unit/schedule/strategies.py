"""Random expressions, known twice: as text, and as the sets of values that the text must mean."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import strategies as st

from once.schedule.stretches import changes_of

ZONES = sorted(
    zone
    for zone in available_timezones()
    if zone not in {"localtime", "posixrules", "Factory"} and not zone.startswith(("posix/", "right/"))
)
CHANGING = [zone for zone in ZONES if any(changes_of(zone, year) for year in (1985, 2005, 2025))]


@dataclass(frozen=True)
class Known:
    """A field: what is written, and what it means."""

    text: str
    values: frozenset[int] = field(repr=False)

    @property
    def begins_with_star(self):
        return self.text.startswith("*")


@dataclass(frozen=True)
class Expression:
    """Five fields, and cron's matching of a local time, minute by minute, as its source has it."""

    minute: Known
    hour: Known
    day: Known
    month: Known
    weekday: Known

    @property
    def text(self):
        return " ".join(field.text for field in (self.minute, self.hour, self.day, self.month, self.weekday))

    @property
    def is_wild(self):
        return self.minute.begins_with_star or self.hour.begins_with_star

    def matches(self, local):
        by_date = local.day in self.day.values
        by_weekday = local.isoweekday() % 7 in {value % 7 for value in self.weekday.values}
        both = self.day.begins_with_star or self.weekday.begins_with_star
        return (
            local.minute in self.minute.values
            and local.hour in self.hour.values
            and local.month in self.month.values
            and (by_date and by_weekday if both else by_date or by_weekday)
        )


def items(low, high):
    """One item of a list: a star, a number, a range, with or without a step."""
    value, step = st.integers(low, high), st.integers(1, max(2, high // 2))
    span = st.tuples(value, value).map(sorted)
    return st.one_of(
        st.just(Known("*", frozenset(range(low, high + 1)))),
        step.map(lambda by: Known(f"*/{by}", frozenset(range(low, high + 1, by)))),
        value.map(lambda one: Known(f"{one}", frozenset({one}))),
        span.map(lambda ends: Known(f"{ends[0]}-{ends[1]}", frozenset(range(ends[0], ends[1] + 1)))),
        st.tuples(span, step).map(
            lambda both: Known(
                f"{both[0][0]}-{both[0][1]}/{both[1]}", frozenset(range(both[0][0], both[0][1] + 1, both[1]))
            )
        ),
    )


def fields(low, high):
    """A field: one item, or a list of up to three."""
    lists = st.lists(items(low, high), min_size=2, max_size=3).map(
        lambda parts: Known(",".join(part.text for part in parts), frozenset().union(*(part.values for part in parts)))
    )
    return st.one_of(items(low, high), lists)


def some_day():
    """Day fields that usually match: else most windows hold no slot at all."""
    everything = st.just(Known("*", frozenset(range(1, 32))))
    return st.one_of(everything, everything, fields(1, 31))


expressions = st.builds(
    Expression,
    fields(0, 59),
    st.one_of(fields(0, 23), st.integers(0, 3).map(lambda hour: Known(f"{hour}", frozenset({hour})))),
    some_day(),
    st.one_of(st.just(Known("*", frozenset(range(1, 13)))), fields(1, 12)),
    st.one_of(st.just(Known("*", frozenset(range(8)))), fields(0, 7)),
)

zones = st.sampled_from(ZONES)

instants = st.datetimes(datetime(1975, 1, 1), datetime(2070, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001


@st.composite
def near_changes(draw):
    """A zone and an instant shortly before, or after, a change of its clocks."""
    zone, year = draw(st.sampled_from(CHANGING)), draw(st.integers(1975, 2069))
    later = (change for candidate in range(year, year + 60) for change in changes_of(zone, candidate))
    change = next(later, None)
    if change is None:
        change = next(change for candidate in range(1975, 2070) for change in changes_of(zone, candidate))
    return zone, change.at + draw(st.timedeltas(timedelta(hours=-30), timedelta(hours=6)))


places = st.one_of(near_changes(), near_changes(), st.tuples(zones, instants))


def local_time(at, zone):
    """The wall clock, naive."""
    return at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
