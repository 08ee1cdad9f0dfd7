"""The types of what is typed, and the options that several verbs have."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from once.errors import SignalEndsNothing, SignalUnknown
from once.instants import parse_duration


class Duration(click.ParamType[timedelta]):
    """`90`, `90s`, `5m`, `1h30m`, `2d`."""

    name = "dur"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        return value if isinstance(value, timedelta) else parse_duration(value)


class Number(click.IntRange):
    """A whole number; click would call it an `integer range`, in its messages and in --help."""

    name = "number"


class Factor(click.FloatRange):
    """A number that may have a fraction."""

    name = "number"


ENDS_NOTHING = frozenset(
    (
        signal.SIGSTOP,
        signal.SIGTSTP,
        signal.SIGTTIN,
        signal.SIGTTOU,
        signal.SIGCONT,
        signal.SIGCHLD,
        signal.SIGURG,
        signal.SIGWINCH,
    )
)
"""Signals that stop, continue or do nothing where nobody catches them (signal(7))."""


class Signal(click.ParamType[int]):
    """A signal that ends a command, by name, with or without SIG, or by number."""

    name = "sig"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            found = signal.Signals(int(value)) if value.isdecimal() else _signal_of(value)
        except (KeyError, ValueError):
            raise SignalUnknown(name=repr(value)) from None
        if found in ENDS_NOTHING:
            raise SignalEndsNothing(name=found.name.removeprefix("SIG"))
        return found


def _signal_of(name: str) -> signal.Signals:
    return signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]


DURATION = Duration()
SIGNAL = Signal()

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def stacked(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, shown in the order in which they stand."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


database = click.option("--db", metavar="ADDRESS", help="Where the record is; default: ONCE_DB, then /etc/once.toml.")
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
