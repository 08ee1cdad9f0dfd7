"""Where values come from, on real files."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from once.errors import SettingInvalid
from once.settings import Settings, resolve


@pytest.fixture
def system_file(tmp_path: Path) -> Path:
    return tmp_path / "once.toml"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    return {"HOME": str(home), "ONCE_STATE_DIR": str(tmp_path / "state")}


def test_without_files_and_variables_nothing_is_set(environ: dict[str, str], system_file: Path, tmp_path: Path) -> None:
    """The defaults are those of a host without any set-up."""
    found = resolve(environ, system_file=str(system_file))

    assert found == Settings(state_dir=str(tmp_path / "state"), state_dir_given=True)


def test_the_environment_beats_the_users_file_beats_the_system_file(environ: dict[str, str], system_file: Path) -> None:
    """The first that has a value wins, value by value."""
    system_file.write_text('db = "system"\ntz = "Europe/Berlin"\nscope = "eu"\n')
    (Path(environ["HOME"]) / ".config/once.toml").write_text('db = "user"\ntz = "Asia/Tokyo"\n')
    found = resolve(environ | {"ONCE_DB": "variable"}, system_file=str(system_file))

    assert (found.db, found.tz, found.scope) == ("variable", "Asia/Tokyo", "eu")


def test_an_empty_database_variable_is_no_database(environ: dict[str, str], system_file: Path) -> None:
    """`ONCE_DB=` in a unit file must not hide what /etc/once.toml says."""
    system_file.write_text('db = "system"\n')
    found = resolve(environ | {"ONCE_DB": ""}, system_file=str(system_file))

    assert found.db == "system"


def test_durations_flags_and_sizes_are_read(environ: dict[str, str], system_file: Path) -> None:
    """In a file as TOML has them, in a variable as text."""
    system_file.write_text('lease = "90s"\nmax_skew = 30\noff = true\nrecord_args = false\n')
    found = resolve(environ | {"ONCE_TAIL": "0", "ONCE_OFF": "0"}, system_file=str(system_file))

    assert (found.lease, found.max_skew, found.tail) == (timedelta(seconds=90), timedelta(seconds=30), 0)
    assert (found.off, found.record_args) == (False, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('dbb = "x"\n', "unknown setting 'dbb'"),
        ("lease = true\n", "lease: must be a text"),
        ('off = "perhaps"\n', "off: must be true or false, not 'perhaps'"),
        ("off = 1\n", "off: must be true or false, not 1"),
        ("db = \n", "Invalid value"),
        ('db = ""\n', "db: must be one address in quotes"),
        ('db = ["postgresql://ops:s3cret@db1/ops"]\n', "db: must be one address in quotes"),
        ('[db]\nhost = "db1"\npassword = "s3cret"\n', "db: must be one address in quotes"),
        ("tail = -1\n", "tail: must be a number of bytes"),
        ("tail = true\n", "tail: must be a number of bytes"),
        ('lease = "x"\n', "lease: 'x' is not a duration"),
        ('state_dir = "state"\n', "state_dir: must be an absolute path"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_key(
    environ: dict[str, str], system_file: Path, text: str, said: str
) -> None:
    """A typing error in a settings file must not go unnoticed until the database is needed."""
    system_file.write_text(text)
    del environ["ONCE_STATE_DIR"]
    with pytest.raises(SettingInvalid) as refusal:
        resolve(environ, system_file=str(system_file))

    assert str(refusal.value).startswith(str(system_file))
    assert said in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("ONCE_TAIL", "lots", "ONCE_TAIL: must be a number of bytes, not 'lots'"),
        ("ONCE_TAIL", "-1", "ONCE_TAIL: must be a number of bytes, not '-1'"),
        ("ONCE_LEASE", "x", "ONCE_LEASE: 'x' is not a duration. Try: 90, 90s, 5m, 1h30m or 2d"),
        ("ONCE_OFF", "perhaps", "ONCE_OFF: must be true or false, not 'perhaps'"),
        ("ONCE_SCOPE", "eu/", "ONCE_SCOPE: must be without the slash that follows it, not 'eu/'"),
        ("ONCE_SCOPE", "a\nb", "ONCE_SCOPE: Task name 'a\\nb' is refused: it has a control character"),
    ],
)
def test_a_bad_variable_is_refused_by_name(
    environ: dict[str, str], system_file: Path, variable: str, text: str, said: str
) -> None:
    """The reader knows which of five places to mend, and what it should hold."""
    with pytest.raises(SettingInvalid) as refusal:
        resolve(environ | {variable: text}, system_file=str(system_file))

    assert str(refusal.value) == said


def test_a_file_that_is_a_directory_or_may_not_be_read_is_told(environ: dict[str, str], system_file: Path) -> None:
    """It may have named a database, so the embedded default must not take its place."""
    system_file.mkdir()
    found = resolve(environ, system_file=str(system_file))

    assert found.unreadable == (str(system_file),)


def test_a_link_to_nowhere_is_a_file_that_cannot_be_read(environ: dict[str, str], system_file: Path) -> None:
    """It leads to a disk or a secret that is not mounted yet."""
    system_file.symlink_to("/nowhere/once.toml")
    found = resolve(environ, system_file=str(system_file))

    assert found.unreadable == (str(system_file),)


def test_a_relative_directory_of_the_xdg_specification_is_ignored(
    environ: dict[str, str], system_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it asks for: else each working directory would have settings and a record of its own."""
    monkeypatch.setattr("once.settings.os.geteuid", lambda: 1000)
    (Path(environ["HOME"]) / ".config/once.toml").write_text('tz = "Asia/Tokyo"\n')
    del environ["ONCE_STATE_DIR"]
    found = resolve(environ | {"XDG_CONFIG_HOME": "here", "XDG_STATE_HOME": "here"}, system_file=str(system_file))

    assert (found.tz, found.state_dir) == ("Asia/Tokyo", f"{environ['HOME']}/.local/state/once")


HOMELESS = """
import os, sys
from once.errors import SettingInvalid
from once.settings import resolve
path = f"/var/tmp/once-{sys.argv[1]}"
os.mkdir(path)
os.chmod(path, 0o777)
os.setuid(int(sys.argv[1]))
try:
    print(resolve({}, system_file="/nowhere").state_dir)
except SettingInvalid as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_user_without_a_home_gets_no_directory_of_another() -> None:
    """It has the run's token and its output in it, and whoever may write there writes the record."""
    nobody_has = 3_000_000_000 + os.getpid()
    room = 'mount -t tmpfs none /var/tmp && exec "$@"'
    line = ["unshare", "--mount", "sh", "-c", room, "sh", sys.executable, "-c", HOMELESS, str(nobody_has)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)

    assert (done.stdout, done.stderr) == (
        f"/var/tmp/once-{nobody_has}: others may write there, and nothing says where else to; set state_dir\n",
        "",
    )
