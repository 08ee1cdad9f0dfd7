"""Tables: whole in a pipe, no wider than a terminal, whatever a name is like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from once import table

TITLES = ("TASK", "OUTCOME", "HOST", "NOTE")
FINE = ["nightly", "succeeded", "db1", ""]
FAILED = ["billing", "failed", "app2", "exit 3"]


def on_terminal(*rows: list[str], width: int, gives_way: tuple[str, ...] = ()) -> list[str]:
    """What is shown, without the words for colours."""
    lines = table.fitted(TITLES, rows, width, gives_way)
    return ["".join(text for text, _ in line) for line in lines]


def test_in_a_pipe_columns_are_aligned() -> None:
    """And no line ends in blanks; without rows there are no titles either."""
    assert list(table.plain(TITLES, [FINE, FAILED])) == [
        "TASK     OUTCOME    HOST  NOTE",
        "nightly  succeeded  db1",
        "billing  failed     app2  exit 3",
    ]
    assert list(table.plain(TITLES, [])) == []


def test_a_long_name_moves_its_own_line_alone() -> None:
    """It is whole, and its neighbours' columns stand where they would without it."""
    name = "x" * 200

    assert list(table.plain(TITLES, [[name, "failed", "h1", "exit 3"], FINE]))[1:] == [
        f"{name}  failed     h1    exit 3",
        "nightly" + " " * 33 + "  succeeded  db1",
    ]


def test_two_columns_of_a_terminal_count_as_two() -> None:
    """A letter of East Asia or an emoji takes two, an accent that combines takes none."""
    assert [table.columns(text) for text in ("abc", "🚀", "日本", "e\N{COMBINING ACUTE ACCENT}")] == [3, 2, 4, 1]
    assert list(table.plain(("A", "B"), [["🚀", "1"], ["abc", "2"]])) == ["A    B", "🚀   1", "abc  2"]


def test_what_fits_is_one_line_a_row() -> None:
    """As in a pipe."""
    assert on_terminal(FINE, FAILED, width=80) == list(table.plain(TITLES, [FINE, FAILED]))


def test_columns_that_have_no_room_stand_below_their_row() -> None:
    """First those that were named, then from the right; each behind its title, but for the last, which comes first."""
    assert on_terminal(FINE, FAILED, width=30, gives_way=("HOST",)) == [
        "TASK     OUTCOME    NOTE",
        "nightly  succeeded",
        "    host db1",
        "billing  failed     exit 3",
        "    host app2",
    ]
    assert on_terminal(FINE, FAILED, width=20) == [
        "TASK     OUTCOME",
        "nightly  succeeded",
        "    host db1",
        "billing  failed",
        "    exit 3",
        "    host app2",
    ]


def test_a_cell_that_says_nothing_is_not_told_below() -> None:
    """Neither empty ones nor dashes."""
    assert on_terminal(["nightly", "-", "-", ""], width=8) == ["TASK", "nightly"]


def test_the_first_column_is_folded_and_the_last_is_wrapped() -> None:
    """A name behind a dash, or wherever it must be, a note between its words."""
    note = "its lease ended, found by app1 (pid 7)"

    assert on_terminal(["etl-customers-orders-and-invoices", "lost", "db1", note], width=60) == [
        "TASK                  OUTCOME  HOST  NOTE",
        "etl-customers-        lost     db1   its lease ended, found",
        "orders-and-invoices                  by app1 (pid 7)",
    ]


def test_a_first_column_that_has_room_is_not_folded() -> None:
    """However much of the line it takes: beside it little may be to tell."""
    name = "etl-customers-orders-and-invoices"

    assert on_terminal([name, "lost", "db1", "no news, and no end of it"], width=80) == [
        "TASK                               OUTCOME  HOST  NOTE",
        f"{name}  lost     db1   no news, and no end of it",
    ]
    assert on_terminal([name, "lost", "db1", "its lease ended, found by app1 (pid 7)"], width=80) == [
        "TASK                               OUTCOME  HOST  NOTE",
        f"{name}  lost     db1   its lease ended, found by app1",
        f"{'':50}(pid 7)",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 120, 400])
@pytest.mark.parametrize("name", ["n", "🚀" * 100, "x" * 200, "a b " * 49 + "c", "[bold]x[/bold]"])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(name: str, width: int) -> None:
    """Every character of a name is there, in its order, in the first column."""
    lines = on_terminal([name, "timed_out", "h1", "exit 124 after 3h"], width=width)[1:]
    inner = [line for line in lines if not line.startswith(table.INDENT)]
    first = "".join(line.split(table.GAP)[0] for line in inner)

    assert max(map(table.columns, lines)) <= width
    assert first.replace(" ", "") == name.replace(" ", "")
    assert {"timed_out", "h1", "exit", "124"} <= set(" ".join(lines).replace(";", " ").split())


@pytest.mark.parametrize("width", [0, 1, 3, 4])
def test_a_line_has_room_for_a_character_at_least(width: int) -> None:
    """Also where nothing is left of it beside the indent: an end is reached, and nothing is lost."""
    lines = on_terminal(["backup", "failed", "漢", "exit 3"], width=width)

    assert "".join(lines[1:]).replace(" ", "").startswith("backupexit3")


def test_a_word_for_colour_stands_by_each_cell_but_the_first() -> None:
    """A task may be called what an outcome is called."""
    _, line = table.fitted(TITLES, [["failed", "failed", "db1", ""]], 80)

    assert [piece for piece in line if piece[1]] == [("failed", "failed"), ("db1", "db1")]


def test_a_history_goes_through_a_page_at_a_time() -> None:
    """Of a million rows no more than a page is asked for before the first line comes."""
    asked = 0

    def rows() -> Iterator[list[str]]:
        nonlocal asked
        for asked in range(1, 10**6):  # noqa: B007 — counts what was asked for
            yield FINE

    next(table.plain(TITLES, rows()))
    in_a_pipe = asked
    next(table.fitted(TITLES, rows(), 80))

    assert (in_a_pipe, asked) == (table.AT_A_TIME + 1, table.AT_A_TIME + 1)
