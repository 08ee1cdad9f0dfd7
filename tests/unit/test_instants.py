"""Durations and instants, as typed and as written back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from once import errors
from once.instants import in_words, parse_duration, parse_instant, rfc3339

NOW = datetime(2026, 3, 29, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", timedelta(seconds=90)),
        ("90s", timedelta(seconds=90)),
        ("0", timedelta()),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(minutes=90)),
        ("1h 30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(weeks=1)),
        ("500ms", timedelta(milliseconds=500)),
        (" 5m ", timedelta(minutes=5)),
    ],
)
def test_a_duration_is_seconds_or_amounts_with_units(text, expected):
    """What people type after --lease, --wait and their like."""
    actual = parse_duration(text)

    assert actual == expected


@pytest.mark.parametrize("text", ["", " ", "-5", "-1h", "5x", "5M", "m", "1m1h", "1e5", "1h30", "5m5m", "٣s", "inf"])
def test_what_is_no_duration_is_refused(text):
    """Empty, negative, nonsense, units out of order: none of them is guessed at."""
    with pytest.raises(errors.DurationInvalid):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36526d", "99999999999999w", "9" * 400])
def test_a_duration_of_more_than_a_hundred_years_is_refused(text):
    """It was mistyped, and would leave the range of datetime."""
    with pytest.raises(errors.DurationInvalid, match="more than a hundred years"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"),
        ("2026-03-29t01:00:00z", "2026-03-29T01:00:00Z"),
        ("2026-03-29 03:00+02:00", "2026-03-29T01:00:00Z"),
        ("2026-03-29T01:00:00.25-00:30", "2026-03-29T01:30:00.250000Z"),
        ("2026-03-29", "2026-03-29T00:00:00Z"),
        ("1774746000", "2026-03-29T01:00:00Z"),
        ("1774746000.5", "2026-03-29T01:00:00.500000Z"),
        ("2h", "2026-03-28T23:00:00Z"),
        ("90", "2026-03-29T00:58:30Z"),
        ("Sun, 29 Mar 2026 03:00:05 +0200", "2026-03-29T01:00:05Z"),
        ("Sun Mar 29 01:00:05 UTC 2026", "2026-03-29T01:00:05Z"),
    ],
)
def test_an_instant_is_rfc_3339_unix_seconds_a_duration_ago_or_pasted_from_a_mail(text, expected):
    """Whatever it is, it comes out in UTC."""
    actual = rfc3339(parse_instant(text, NOW))

    assert actual == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "last",
        "tomorrow",
        "2026-03-29T01:00",
        "2026-03-29 01:00:00",
        "2026-02-30",
        "2026-03-29T25:00:00Z",
        "20260329",
        "1774746000000",
        "0001-01-01T00:00:00+02:00",
        "29 Mar 01:00 UTC",
        "Mar 2026 UTC",
        "Sun Mar 29 03:00:05 CEST 2026",
        "Sun Mar 29 03:00:05 2026",
        "-2h",
    ],
)
def test_an_instant_without_offset_or_with_parts_missing_is_refused(text):
    """A time without an offset would mean something else on each host; eight digits may be a date."""
    with pytest.raises(errors.InstantInvalid):
        parse_instant(text, NOW)


@pytest.mark.parametrize("text", ["2026-03-29T01:00", "2026-03-29 01:00:00"])
def test_a_time_that_lacks_its_offset_is_told_so(text):
    """It looks right: whoever typed it would look elsewhere."""
    with pytest.raises(errors.InstantInvalid, match="is not an instant: its offset from UTC is missing"):
        parse_instant(text, NOW)


@pytest.mark.parametrize("text", ["last", "20260329", "2026-03-29T25:00:00Z", "2026-02-30"])
def test_what_has_another_fault_is_not_told_of_an_offset(text):
    """One reason, and the right one."""
    with pytest.raises(errors.InstantInvalid) as refusal:
        parse_instant(text, NOW)

    assert refusal.value.message == f"{text!r} is not an instant"


def test_an_instant_is_written_in_utc_with_microseconds_only_if_there_are_any():
    """RFC 3339 with a Z, as in every JSON that we print."""
    at = datetime(2026, 3, 29, 3, tzinfo=timezone(timedelta(hours=2)))

    actual = [rfc3339(at), rfc3339(at + timedelta(microseconds=1))]

    assert actual == ["2026-03-29T01:00:00Z", "2026-03-29T01:00:00.000001Z"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (0.85, "850ms"),
        (0.9996, "1s"),
        (5, "5s"),
        (12.34, "12.3s"),
        (59.94, "59.9s"),
        (59.96, "1m"),
        (90, "1m 30s"),
        (3599.9, "1h"),
        (5400, "1h 30m"),
        (86399, "1d"),
        (273600, "3d 4h"),
        (-5400, "-1h 30m"),
    ],
)
def test_an_interval_is_told_in_the_two_units_that_matter(seconds, expected):
    """Rounded first, so that no `60s` and no `24h 0m` comes out."""
    actual = in_words(timedelta(seconds=seconds))

    assert actual == expected
