"""Who may import whom, late imports included: the table of CONTRIBUTING, held."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.meta.tree import ROOT, SOURCE


@dataclass(frozen=True, slots=True)
class Room:
    """A module or package. It may import every room below `under`, and the named ones `beside` it."""

    level: int
    under: int
    beside: tuple[str, ...] = ()


ROOMS = {
    "errors": Room(0, 0),
    "noun": Room(0, 0),
    "signals": Room(0, 0),
    "voice": Room(0, 0, ("noun", "stdio")),
    "stdio": Room(0, 0),
    "instants": Room(1, 1),
    "schedule": Room(1, 1, ("instants", "run")),
    "run": Room(1, 1, ("instants",)),
    "event": Room(1, 1),
    "table": Room(1, 1),
    "lease": Room(1, 1, ("instants",)),
    "verdict": Room(1, 1, ("run", "lease")),
    "reports": Room(1, 1, ("instants", "run", "schedule", "verdict")),
    "clock": Room(2, 2),
    "command": Room(2, 2),
    "store.base": Room(2, 2),
    "store": Room(3, 3),
    "child": Room(3, 3, ("tail",)),
    "tail": Room(3, 3),
    "entry": Room(3, 3),
    "journal": Room(3, 3, ("entry",)),
    "host": Room(3, 3),
    "keeper": Room(4, 3),
    "supervision": Room(4, 3),
    "recording": Room(4, 4, ("supervision",)),
    "admission": Room(4, 4, ("start",)),
    "start": Room(4, 4),
    "missing": Room(4, 3),
    "wording": Room(4, 3),
    "tenure": Room(4, 4, ("admission", "keeper", "recording", "start", "supervision", "wording")),
    "unguarded": Room(4, 4, ("recording", "start", "supervision", "tenure", "wording")),
    "turn": Room(4, 4, ("admission", "start", "tenure", "unguarded", "wording")),
    "catching_up": Room(4, 4, ("missing", "start", "turn", "wording")),
    "runner": Room(4, 4, ("admission", "catching_up", "start", "turn", "wording")),
    "settings": Room(5, 4),
    "embedded": Room(5, 4, ("settings",)),
    "store.connect": Room(5, 4, ("settings", "embedded")),
    "render": Room(5, 4),
    "commands": Room(6, 6),
    "cli": Room(7, 7),
    "__main__": Room(7, 7, ("cli",)),
}

HOMES = {
    "croniter": (),
    "dateutil": ("instants",),
    "prometheus_client": ("commands.metrics",),
    "psycopg": ("store.postgres",),
    "rich": ("render",),
    "sqlite3": ("store.sqlite",),
    "subprocess": ("child",),
}

NAMES_THAT_SAY_NOTHING = {"utils", "util", "common", "helpers", "helper", "manager", "managers", "misc"}


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name without `once.`; the package itself is left out."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def room_of(module: str) -> str | None:
    """The room with the longest name that the module lies in."""
    inside = [room for room in ROOMS if module == room or module.startswith(f"{room}.")]
    return max(inside, key=len, default=None)


def imported(path: Path) -> Iterator[str]:
    """Every absolute name that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import hides which room it reads"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_of_ours(path: Path) -> set[str]:
    """The modules of the package that a module imports."""
    known = modules()
    ours = set()
    for name in imported(path):
        if name.startswith("once."):
            inner = name.removeprefix("once.")
            ours.add(inner if inner in known else inner.rpartition(".")[0])
    return ours - {""}


def test_every_module_has_a_room() -> None:
    """A new module gets a line in ROOMS and in CONTRIBUTING's table."""
    homeless = [module for module in modules() if room_of(module) is None]

    assert homeless == []


def test_a_module_imports_lower_levels_only() -> None:
    """Whatever is imported lies below, or is named as a neighbour, or lies in the same room."""
    wrong = []
    for module, path in modules().items():
        home = room_of(module)
        assert home is not None
        for other in imports_of_ours(path):
            room = room_of(other)
            assert room is not None
            below = ROOMS[room].level < ROOMS[home].under
            if not (below or room == home or room in ROOMS[home].beside):
                wrong.append(f"{module} (level {ROOMS[home].level}) imports {other} (level {ROOMS[room].level})")

    assert wrong == []


def test_a_verb_imports_no_verb() -> None:
    """What two verbs share lies in a room of its own."""
    verbs = {path.stem for path in (ROOT / "man").glob("once-*.1")}
    verbs = {f"commands.{stem.removeprefix('once-').replace('-', '_')}" for stem in verbs}
    wrong = [
        f"{verb} imports {other}"
        for verb in sorted(verbs & modules().keys())
        for other in sorted(imports_of_ours(modules()[verb]) & verbs)
    ]

    assert wrong == []


def test_a_store_never_imports_the_other() -> None:
    """SQLite and PostgreSQL know the port, not each other, and what they share knows neither."""
    stores = ("store.sqlite", "store.postgres")

    def store_of(module: str) -> str | None:
        return next((store for store in stores if module == store or module.startswith(f"{store}.")), None)

    wrong = [
        f"{module} imports {other}"
        for module, path in modules().items()
        if room_of(module) in ("store", "store.base")
        for other in imports_of_ours(path)
        if store_of(other) not in (None, store_of(module))
    ]

    assert wrong == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_its_home_only(library: str) -> None:
    """What may be exchanged, or costs start-up time, is known in one place."""
    strangers = [
        module
        for module, path in modules().items()
        if any(name == library or name.startswith(f"{library}.") for name in imported(path))
        and not any(module == home or module.startswith((f"{home}.", f"{home}_")) for home in HOMES[library])
    ]

    assert strangers == []


def test_no_room_is_named_after_nothing() -> None:
    """A drawer called utils fills by itself."""
    parts = {part for module in modules() for part in module.split(".")}

    assert parts & NAMES_THAT_SAY_NOTHING == set()


def test_contributing_shows_the_same_table() -> None:
    """CONTRIBUTING names every room at its level, and no other."""
    shown = {}
    for level, names in re.findall(r"^\| (\d) \| (`[^|]*`) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            shown[name.removesuffix("/…").replace("/", ".")] = int(level)
    held = {name: room.level for name, room in ROOMS.items()}

    assert shown == held
