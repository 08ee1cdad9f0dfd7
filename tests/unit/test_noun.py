"""Nouns behave as frozen dataclasses do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from once.noun import Noun


class Point(Noun):
    x: int
    y: int = 0
    rule: Callable[[int], int] = lambda number: number + 1


class Place(Noun):
    x: int
    y: int = 0
    rule: Callable[[int], int] = Point(0).rule


def test_fields_are_given_in_order_or_by_name() -> None:
    """And have their defaults."""
    assert Point(1, 2) == Point(y=2, x=1)
    assert Point(1).y == 0


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, abs, 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_a_wrong_field_is_refused(values: tuple[object, ...], named: dict[str, object]) -> None:
    """As by a function."""
    with pytest.raises(TypeError, match="Point has the fields x, y, rule"):
        Point(*values, **named)


def test_nothing_can_be_set_or_added() -> None:
    """A noun that was handed on stays what it was."""
    point = Point(1)
    with pytest.raises(AttributeError, match="cannot be set"):
        point.x = 2  # type: ignore[misc]

    assert point.x == 1


def test_equal_nouns_are_of_one_kind_and_have_one_hash() -> None:
    """The same values in another kind of noun are something else."""
    assert {Point(1): "a"}[Point(1, 0)] == "a"
    assert Point(1) != Place(1)
    assert Point(1) != Point(2)


def test_another_can_be_made_from_one() -> None:
    """The first is left as it was."""
    point = Point(1, 2)

    assert point.replaced(y=3) == Point(1, 3)
    assert point == Point(1, 2)


def test_a_function_as_a_default_is_no_method() -> None:
    """It is called with what it is called with."""
    assert Point(1).rule(1) == 2


def test_a_noun_shows_its_fields() -> None:
    """In messages of tests."""
    assert repr(Point(1, rule=abs)) == "Point(x=1, y=0, rule=<built-in function abs>)"


def test_a_noun_can_be_matched_by_position() -> None:
    """In the order of its fields."""
    match Point(1, 2):
        case Point(x, y):
            seen = (x, y)

    assert seen == (1, 2)
