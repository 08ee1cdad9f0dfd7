"""The command tree as click knows it: what pages, completions and README are compared with."""

from __future__ import annotations

from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "once"


def group() -> click.Group:
    """The `once` command itself."""
    from once.cli import cli

    return cli


def top() -> click.Context:
    """The context of the group; its settings are inherited by the verbs."""
    return click.Context(group(), info_name="once", **group().context_settings)


def commands() -> dict[str, click.Command]:
    """Every command by the words after `once`; the group itself under the empty name."""
    context = top()
    found: dict[str, click.Command] = {"": group()}
    for verb in group().list_commands(context):
        command = group().get_command(context, verb)
        assert command is not None, f"once {verb} is listed, but cannot be loaded"
        found[verb] = command
    return found


def verbs() -> list[str]:
    """Every verb."""
    return [name for name in commands() if name]


def options_of(command: click.Command) -> set[str]:
    """Every spelling of every option, `--help` included."""
    context = top() if command is group() else click.Context(command, top(), command.name)
    return {
        spelling
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option) and not parameter.hidden
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }
