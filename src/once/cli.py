"""The group of verbs, and the one place that prints errors and turns them into exit statuses."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import click

from once import __version__
from once.errors import OnceError, OutputRefused, Refused
from once.signals import Arrivals
from once.voice import write_line

VERBS = (
    "run",
    "lock",
    "status",
    "runs",
    "show",
    "gaps",
    "overlaps",
    "stuck",
    "next",
    "init",
    "flush",
    "timeline",
    "check",
    "metrics",
    "prune",
    "pause",
    "resume",
    "cancel",
    "retire",
    "excuse",
    "rerun",
)
WRAPPING = frozenset(("run", "lock", "rerun"))
COMMAND_FIRST = frozenset(("run", "lock"))
"""Verbs whose only arguments are the command's."""

HIDDEN = ("complete-tasks",)
"""Asked by a shell's completion, never typed."""

NAMED_APART = {"next": "next_slots"}
"""Verbs whose function cannot have the verb's name, since that is a builtin's."""

ASK_FOR_HELP = frozenset(("-h", "--help", "--version"))
USAGE = {"check": 3}
"""Verbs whose status of wrong usage is another than 2: to a monitor that is CRITICAL."""


class Verbs(click.Group):
    """Loads a verb when it is asked for: a start pays for its own verb only."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS + HIDDEN:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"once.commands.{name}")
        command: click.Command = getattr(module, NAMED_APART.get(name, name))
        # What stands behind the command's name is the command's, also without the two dashes.
        command.allow_interspersed_args = cmd_name not in COMMAND_FIRST
        return command


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="once", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> object:
    """Flock for clusters: the same crontab line on every host, one run per slot, and a record of it."""
    if ctx.invoked_subcommand is not None:
        return None
    from once.commands.overview import overview

    return overview()


def main(args: Sequence[str], arrivals: Arrivals) -> int:
    """Run one verb; the exit status of the process. Raises Interrupted alone."""
    verb = next((arg for arg in args if not arg.startswith("-")), "")
    wrapping = verb in WRAPPING
    name = f"once {verb}" if verb in VERBS else "once"
    ours = list(takewhile("--".__ne__, args))
    asks_for_help = not ASK_FOR_HELP.isdisjoint(ours)
    try:
        return _finished(cli.main(args=list(args), prog_name="once", standalone_mode=False, obj=arrivals))
    except OnceError as error:
        about = _task_of(ours) if wrapping else ""
        write_line(f"{name}: {about}{'NOT run: ' if wrapping and error.prevents else ''}{error}")
        return _status_of(error, verb)
    except click.ClickException as error:
        about = f"{_task_of(ours)}NOT run: " if wrapping else ""
        write_line(f"{name}: {about}{_sentence(error.format_message())} Try: {name} --help")
        return _status_of(Refused, verb)
    except BrokenPipeError:  # `| head -1` has seen enough
        return 0
    except SystemExit:  # what click makes of that
        return _status_of(OnceError, verb) if wrapping and not asks_for_help else 0
    except Exception as error:
        if isinstance(error, OSError) and asks_for_help:
            write_line(f"{name}: {OutputRefused(why=error.strerror)}")
            return _status_of(OutputRefused, verb)
        if os.environ.get("ONCE_DEBUG"):
            raise
        write_line(f"{name}: internal error, {type(error).__name__}: {error}. Try: ONCE_DEBUG=1 for the traceback")
        return _status_of(OnceError, verb)


def _status_of(failure: OnceError | type[OnceError], verb: str) -> int:
    """The exit status of a verb that failed so."""
    return failure.wrapping if verb in WRAPPING else USAGE.get(verb, failure.telling)


def _task_of(args: Sequence[str]) -> str:
    """The task that a line of a crontab is for, as it was typed: its host may have many lines, and one log.

    Looked for by hand, since click may have failed to read the arguments.
    """
    typed = iter(args)
    for arg in typed:
        option, equals, value = arg.partition("=")
        if option == "--task":
            task = value if equals else next(typed, "")
            return f"{task}: " if task else ""
    return ""


def _sentence(message: str) -> str:
    """What click says, which ends in a full stop or does not."""
    return message if message.endswith((".", "?", "?)")) else f"{message}."


def _finished(result: Any) -> int:
    """A wrapper returns its status; a verb that tells returns an answer to be shown."""
    if result is None or isinstance(result, int):
        return result or 0
    from once.render import show

    return show(result)
