"""Which zone, and which names are refused."""

from datetime import UTC, datetime

import pytest

from once import errors
from once.run import Line
from once.schedule.zones import check, implied, resolve

NINE = "0 9 * * *"
MORNING = datetime(2025, 6, 2, 7, 0, 3, tzinfo=UTC)


@pytest.fixture
def etc(tmp_path):
    """An /etc of its own, where nothing is set."""
    return tmp_path


@pytest.mark.parametrize(
    "name", ["UTC", "Etc/UTC", "GMT-0", "Europe/Berlin", "America/Argentina/Buenos_Aires", "EST5EDT"]
)
def test_a_name_of_the_tz_database_is_taken(name):
    """From the system, else from the package tzdata."""
    check(name)


@pytest.mark.parametrize(
    ("name", "why", "repair"),
    [
        ("", "it is empty", "UTC"),
        ("  ", "it is empty", "UTC"),
        ("Europe/Berlin ", "there are blanks around it", "Europe/Berlin"),
        ("europe/berlin", "upper and lower case matter", "Europe/Berlin"),
        ("utc", "upper and lower case matter", "UTC"),
        ("Europe", "it is a region, not a zone", "a place in it, such as Europe/Amsterdam"),
        ("Europe/", "it is a region, not a zone", "a place in it, such as Europe/Amsterdam"),
        ("UTC+2", "an offset knows no daylight saving", "Etc/GMT-2"),
        ("GMT-5", "an offset knows no daylight saving", "Etc/GMT+5"),
        ("+02:00", "an offset knows no daylight saving", "Etc/GMT-2"),
        ("PST", "it is an abbreviation", "America/Los_Angeles"),
        ("localtime", "it means another zone on each host", "Europe/Berlin"),
        ("posixrules", "it means another zone on each host", "Europe/Berlin"),
        ("Factory", "it means another zone on each host", "Europe/Berlin"),
        ("../x", "it is a path", "Europe/Berlin"),
        ("Europe/../UTC", "it is a path", "Europe/Berlin"),
        ("/etc/localtime", "it is a path", "Europe/Berlin"),
        (":Europe/Berlin", "it is a path", "Europe/Berlin"),
        ("right/Europe/Berlin", "it is a variant", "Europe/Berlin"),
        ("Europe/Berln", "no such zone", "Europe/Berlin"),
        ("tzdata.zi", "no such zone", "UTC"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", "no such zone", "UTC"),
        ("Europe/\0Berlin", "no such zone", "Europe/Berlin"),
    ],
)
def test_a_bad_name_is_refused_in_one_line_with_a_repair(name, why, repair):
    """For these zoneinfo raises three kinds of errors, or none."""
    with pytest.raises(errors.ZoneInvalid) as refusal:
        check(name)

    actual = (why in refusal.value.message, repair in refusal.value.advice, "\n" in str(refusal.value))
    assert actual == (True, True, False), str(refusal.value)


def test_a_host_implies_cron_tz_then_tz_then_localtime(etc):
    """The strongest first; a colon or a path of zone files before the name is as TZ takes it."""
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")

    actual = implied({"CRON_TZ": "Asia/Tokyo", "TZ": ":/usr/share/zoneinfo/Europe/Berlin"}, etc)

    assert actual == ["Asia/Tokyo", "Europe/Berlin", "Europe/Paris"]


def test_a_relative_link_names_the_zone_too(etc):
    """As timedatectl makes it."""
    (etc / "localtime").symlink_to("../usr/share/zoneinfo/Europe/Berlin")

    actual = implied({}, etc)

    assert actual == ["Europe/Berlin"]


def test_a_copy_of_a_zone_is_named_by_etc_timezone(etc):
    """As Debian keeps it."""
    (etc / "localtime").write_bytes(b"TZif2\nCET-1CEST,M3.5.0,M10.5.0/3\n")
    (etc / "timezone").write_text("Europe/Berlin\n")

    actual = implied({}, etc)

    assert actual == ["Europe/Berlin"]


def test_a_copy_of_an_unknown_zone_is_refused_rather_than_taken_for_utc(etc):
    """The host's cron fires by it."""
    (etc / "localtime").write_bytes(b"TZif2\nCET-1CEST,M3.5.0,M10.5.0/3\n")

    with pytest.raises(errors.ZoneAmbiguous, match="is a copy that does not tell which zone it is"):
        implied({}, etc)


def test_a_copy_of_utc_is_utc(etc):
    """As in many container images."""
    (etc / "localtime").write_bytes(b"TZif2\nUTC0\n")

    actual = implied({}, etc)

    assert actual == ["UTC"]


@pytest.mark.parametrize(("environ", "expected"), [({}, ["UTC"]), ({"TZ": ""}, ["UTC"]), ({"CRON_TZ": ""}, ["UTC"])])
def test_where_nothing_is_set_the_zone_is_utc(etc, environ, expected):
    """An empty TZ means UTC, an empty CRON_TZ nothing."""
    actual = implied(environ, etc)

    assert actual == expected


@pytest.mark.parametrize(
    ("flag", "setting", "environ", "expected"),
    [
        ("Europe/Berlin", "Asia/Tokyo", {"TZ": "America/New_York"}, "Europe/Berlin"),
        (None, "Asia/Tokyo", {"TZ": "America/New_York"}, "Asia/Tokyo"),
    ],
)
def test_what_the_user_says_comes_before_what_the_host_implies(flag, setting, environ, expected):
    """--tz, else ONCE_TZ."""
    actual = resolve(flag, setting, environ, expression=NINE, at=MORNING)

    assert actual == expected


@pytest.mark.parametrize(("flag", "setting"), [("europe/berlin", None), ("", "UTC"), (None, "PST")])
def test_what_the_user_says_is_checked(flag, setting):
    """An empty --tz is a variable that was not set, not a wish for the default."""
    with pytest.raises(errors.ZoneInvalid):
        resolve(flag, setting, {}, expression=NINE, at=MORNING)


@pytest.mark.parametrize(
    ("setting", "environ", "origin"),
    [
        ("Foo", {}, "the setting tz"),
        ("Foo", {"ONCE_TZ": "Foo"}, "ONCE_TZ"),
        (None, {"TZ": "Foo"}, "TZ"),
        (None, {"CRON_TZ": "Foo", "TZ": "UTC"}, "CRON_TZ"),
    ],
)
def test_a_refusal_tells_where_the_name_comes_from(setting, environ, origin):
    """Nobody has written it on the line."""
    with pytest.raises(errors.ZoneInvalid) as refusal:
        resolve(None, setting, environ, expression=NINE, at=MORNING)

    assert refusal.value.message == f"Time zone 'Foo' is refused: no such zone (it comes from {origin})"


@pytest.mark.parametrize("value", [":/etc/localtime", "/etc/localtime"])
def test_a_tz_that_names_the_hosts_own_file_says_nothing_else(etc, value):
    """It is set for speed: the C library then does not look at the file at every call."""
    (etc / "timezone").write_text("Asia/Tokyo\n")

    assert implied({"TZ": value}, etc) == ["Asia/Tokyo"]
    assert implied({"TZ": value, "CRON_TZ": "UTC"}, etc) == ["UTC", "Asia/Tokyo"]


@pytest.fixture
def host_in(monkeypatch):
    """Make /etc/localtime, which is the tests' own, name a zone."""

    def set_zone(name):
        monkeypatch.setattr("once.schedule.zones._of_host", lambda _etc: name)

    return set_zone


def test_implied_zones_that_name_different_slots_are_refused(host_in):
    """With CRON_TZ, which Debian's cron ignores and cronie follows."""
    host_in("UTC")

    with pytest.raises(errors.ZoneAmbiguous) as refusal:
        resolve(None, None, {"CRON_TZ": "Asia/Tokyo"}, expression=NINE, at=MORNING)

    assert "this host implies Asia/Tokyo and UTC, and they name different slots" in refusal.value.message
    assert "(2025-06-02T00:00:00Z and 2025-06-01T09:00:00Z)" in refusal.value.message
    assert refusal.value.advice == "write --tz on every line"


def test_implied_zones_that_name_the_same_slot_are_fine(host_in):
    """Every five minutes is every five minutes in all zones of whole hours."""
    host_in("Europe/Berlin")

    actual = resolve(None, None, {"TZ": "UTC"}, expression="*/5 * * * *", at=MORNING)

    assert actual == "UTC"


def test_a_zone_that_names_another_slot_than_the_one_the_task_is_known_by_is_refused(host_in):
    """Host A is in UTC, host B in Berlin, and no line has --tz: the job would run twice."""
    host_in("UTC")
    known = Line(NINE, "Europe/Berlin")

    with pytest.raises(errors.ZoneAmbiguous, match="known in Europe/Berlin"):
        resolve(None, None, {}, expression=NINE, at=MORNING, known=known)


@pytest.mark.parametrize(
    "known",
    [Line(NINE, "UTC"), Line(NINE, "Etc/UTC"), Line("0 8 * * *", "Europe/Berlin"), None],
    ids=["same", "same slots", "another expression", "never seen"],
)
def test_a_zone_that_agrees_with_what_is_known_is_taken(host_in, known):
    """An edited expression says nothing about the zone."""
    host_in("UTC")

    actual = resolve(None, None, {}, expression=NINE, at=MORNING, known=known)

    assert actual == "UTC"


def test_a_known_zone_that_this_host_has_no_data_for_cannot_be_agreed_with(host_in):
    """Older zone data here: refused rather than guessed."""
    host_in("UTC")

    with pytest.raises(errors.ZoneAmbiguous, match="unknown here"):
        resolve(None, None, {}, expression=NINE, at=MORNING, known=Line(NINE, "Europe/Atlantis"))
