"""Named SQL: the statements of a dialect, read once from its `.sql` files.

A file is a row of statements, each under a line `-- name: NAME` and one line that says what it is for. Both dialects
have the same names; a test holds them to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

SQL = os.path.join(os.path.dirname(__file__), "sql")
MARK = "-- name: "


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """Every statement of `postgres` or `sqlite`, by its name, without the two lines above it."""
    found: dict[str, str] = {}
    for path in _files(os.path.join(SQL, dialect)):
        with open(path, encoding="utf-8") as file:
            for block in file.read().split(MARK)[1:]:
                name, _intent, sql = block.split("\n", 2)
                assert name not in found, f"{path}: a second statement named {name}"
                found[name] = sql.strip()
    return found


def _files(directory: str) -> list[str]:
    return sorted(entry.path for entry in os.scandir(directory) if entry.name.endswith(".sql"))
