"""What a release would be: the wheel is built, installed into an environment of its own, and used."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import once
from tests.meta.tree import ROOT, SOURCE, verbs


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built with the backend that is installed: no index is asked."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", directory, ROOT], check=True)
    (built,) = directory.glob("once_run-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """The root of a fresh environment with the wheel in it; its dependencies are borrowed from this one."""
    root = tmp_path_factory.mktemp("installed")
    venv.create(root, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", root / "bin" / "python", "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    (site,) = root.glob("lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return root


def run(*command: object) -> str:
    """What a command of the environment prints, started away from the checkout."""
    done = subprocess.run([str(word) for word in command], cwd="/", capture_output=True, text=True, check=True)
    return done.stdout


def test_the_installed_once_tells_its_version(installed: Path) -> None:
    """`once --version` works from the wheel, whose code it is."""
    where = run(installed / "bin" / "python", "-c", "import once; print(once.__file__)")

    assert where.startswith(str(installed))
    assert once.__version__ in run(installed / "bin" / "once", "--version")


def test_the_installed_once_runs_a_command(installed: Path, tmp_path: Path) -> None:
    """The wheel's own SQL makes the schema."""
    once_lock = [installed / "bin" / "once", "lock", "--task", "wheel", "--db", f"sqlite:{tmp_path}/once.db"]

    assert run(*once_lock, "--", "echo", "ran") == "ran\n"


def test_pages_and_completions_are_where_man_and_the_shells_look(installed: Path) -> None:
    """They land under share/, as distributions have it."""
    pages = {path.name for path in (installed / "share/man/man1").iterdir()}

    assert pages == {"once.1", *(f"once-{verb}.1" for verb in verbs())}
    assert (installed / "share/bash-completion/completions/once").is_file()
    assert (installed / "share/zsh/site-functions/_once").is_file()
    assert (installed / "share/fish/vendor_completions.d/once.fish").is_file()


def test_everything_of_the_package_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    """SQL and py.typed come along; tests and caches do not."""
    source = {
        f"once/{path.relative_to(SOURCE)}"
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix in (".py", ".sql", ".typed")
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("once_run-")}

    assert packed == source
    assert "once/py.typed" in packed
    assert any(name.endswith(".sql") for name in packed)
