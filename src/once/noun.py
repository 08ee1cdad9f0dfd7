"""Nouns: immutable values with named fields, as cheap to define as any class.

A start defines some forty of them, and most starts only learn that another host has the slot. A frozen dataclass
is compiled from text that it generates, which takes a millisecond, and a NamedTuple compiles each of its annotations;
here the fields are read off the class and nothing is compiled. Type checkers know such a class as a frozen dataclass.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Noun:
    """Base of the nouns. The annotations of the class are its fields, in order; what is assigned is their default."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._names = frozenset(cls._fields)
        setattr(cls, "__match_args__", cls._fields)  # noqa: B010 — mypy has its own, and takes none from here
        cls._defaults = {name: cls.__dict__[name] for name in cls._fields if name in cls.__dict__}

    def __init__(self, *values: Any, **named: Any) -> None:
        """Raises TypeError for a field that is missing, unknown or given twice."""
        given = dict(zip(self._fields, values, strict=False)) if values else {}
        fields = {**self._defaults, **given, **named}
        too_many = len(values) > len(self._fields)
        if fields.keys() != self._names or too_many or (given and named and given.keys() & named.keys()):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}; given {given | named}")
        self.__dict__.update(fields)

    def replaced(self, **changes: Any) -> Self:
        """The same with other values in these fields."""
        return type(self)(**self.__dict__ | changes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: make another with replaced()")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self._fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"
