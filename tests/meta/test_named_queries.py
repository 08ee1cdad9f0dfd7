"""The SQL: the same statements under the same names in both dialects, each with its intent, each in use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from once.store.queries import statements
from tests.meta.tree import SOURCE

SQL = SOURCE / "store" / "sql"
DIALECTS = ("postgres", "sqlite")
ASKING = {"row", "rows", "write"}
"""The methods of a session, which take a statement's name first."""


def layout(dialect: str) -> dict[str, list[str]]:
    """The names in each file of a dialect, in their order."""
    return {
        path.name: re.findall(r"^-- name: (\w+)$", path.read_text(), re.MULTILINE)
        for path in sorted((SQL / dialect).glob("*.sql"))
    }


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Every piece of the stores' code."""
    for path in sorted((SOURCE / "store").rglob("*.py")):
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text())))


def test_both_dialects_have_the_same_statements_in_the_same_files() -> None:
    """They can be read side by side, and what one store can the other can."""
    assert layout("postgres") == layout("sqlite")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_says_what_it_is_for(dialect: str) -> None:
    """A line of intent stands between the name and the SQL."""
    blocks = [block for path in (SQL / dialect).glob("*.sql") for block in path.read_text().split("-- name: ")[1:]]
    silent = [block.splitlines()[0] for block in blocks if not re.match(r"\w+\n-- \S", block)]

    assert blocks
    assert silent == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_used(dialect: str) -> None:
    """A statement that no code names is dead."""
    words = {node.value for _, node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}

    assert statements(dialect).keys() - words == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_that_is_asked_for_exists(dialect: str) -> None:
    """A misspelt name would be found out in production, on the rare path."""
    asked = {
        node.args[0].value
        for _, node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ASKING
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }

    assert asked
    assert asked - statements(dialect).keys() == set()


def test_migrations_are_numbered_alike() -> None:
    """A step of the schema is one step in both dialects."""
    numbered = {
        dialect: [path.name for path in sorted((SQL / dialect / "migrations").glob("*.sql"))] for dialect in DIALECTS
    }

    assert numbered["postgres"] == numbered["sqlite"]
    assert [int(name[:4]) for name in numbered["sqlite"]] == list(range(1, len(numbered["sqlite"]) + 1))
