"""The errors: one class, one message, one status, and details that fit."""

from __future__ import annotations

import ast
import string
from collections import Counter

import pytest

from once import errors
from tests.meta.tree import SOURCE

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.OnceError)]

WRAPPING = {75, 122, 123, 124, 125, 126, 127}
"""Statuses of `once run` and `once lock` that are not the command's."""

TELLING = {1, 2, 75}
"""Statuses of every other verb."""


def fields_of(text: str) -> set[str]:
    """The names that a format string asks for."""
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}


def asked(error: type[errors.OnceError]) -> set[str]:
    """The details that an error's message and hint ask for."""
    return fields_of(error.__doc__ or "") | fields_of(error.hint)


def constructions() -> list[tuple[str, str, set[str]]]:
    """Where errors are made: the place, the class, the details given. What is passed on with ** is left out.

    A class that is raised bare is made without details.
    """
    names = {error.__name__ for error in CLASSES}
    found: list[tuple[str, str, set[str]]] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id in names:
                found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", node.exc.id, set()))
            if not isinstance(node, ast.Call):
                continue
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
            if called in names and all(keyword.arg for keyword in node.keywords):
                details = {keyword.arg for keyword in node.keywords if keyword.arg}
                found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", called, details))
    return found


def test_every_class_has_a_docstring_of_its_own() -> None:
    """The docstring is the message; the bare categories may share theirs."""
    texts = Counter(error.__doc__ for error in CLASSES)

    assert None not in texts
    assert {text for text, times in texts.items() if times > 1} == set()


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_the_statuses_are_of_the_table(error: type[errors.OnceError]) -> None:
    """A status that is not in the manual's table means nothing to whoever reads it."""
    assert error.wrapping in WRAPPING
    assert error.telling in TELLING


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_message_and_hint_take_the_same_details(error: type[errors.OnceError]) -> None:
    """Both are formatted with what the constructor got, into one line without a full stop."""
    made = error(**{field: f"<{field}>" for field in asked(error)})

    assert "\n" not in str(made)
    assert not made.message.endswith(".")
    for field in asked(error):
        assert f"<{field}>" in str(made)


def test_who_raises_gives_the_details_that_are_asked_for() -> None:
    """A detail that is missing would be a KeyError in the very moment when the message is needed."""
    wanted = {error.__name__: asked(error) for error in CLASSES}
    wrong = [
        f"{place}: {name} asks for {sorted(wanted[name])}, gets {sorted(given)}"
        for place, name, given in constructions()
        if wanted[name] != given
    ]

    assert wrong == []


def test_every_class_is_raised_somewhere() -> None:
    """A message that nothing says is a promise that nobody keeps."""
    raised = {name for _, name, _ in constructions()}
    categories = {errors.OnceError, errors.Refused, errors.NotNow}
    silent = [error.__name__ for error in CLASSES if error not in categories and error.__name__ not in raised]

    assert silent == []


def test_a_status_of_its_own_belongs_to_one_class() -> None:
    """Whoever sees 123 must know what happened without reading; 75 and 125 are the two that many share."""
    own = Counter(error.wrapping for error in CLASSES if error.wrapping not in (75, 125))

    assert {status for status, classes in own.items() if classes > 1} == set()
