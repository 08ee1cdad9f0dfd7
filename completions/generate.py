"""Writes the completions for bash, zsh and fish from the command tree: `make completions`.

What a shell does for every option is in the templates below; @names@ are filled in from the tree. The words that an
option takes are read off its click type or, where that says too little, looked up in VALUES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from once.cli import WRAPPING, cli

HERE = Path(__file__).parent

VALUES = {
    "--db": ("local", "sqlite:", "file:", "service=", "postgresql://"),
    "--stop-signal": ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "KILL"),
}

ZONES, TASKS = "--tz", "--task"

BASH = r"""# Written by completions/generate.py from the command tree.
_once() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            _once_command $((i + 1))
            return
        fi
        [[ -z $verb && ${COMP_WORDS[i]} != -* ]] && verb=${COMP_WORDS[i]}
    done
    case $verb:$prev in
@values@
        *)
            case $verb in
@tasks@
            esac
            case $verb in
@options@
            esac
            ;;
    esac
    [[ $cur != -* && ${#COMPREPLY[@]} -gt 0 ]] && return
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

# The names in the record, as the shell would have to quote them. Readline takes what stands before a colon for a word
# of its own, so it is given the rest.
_once_tasks() {
    local typed=${COMP_LINE:0:COMP_POINT} before= name
    typed=${typed##*[[:blank:]]}
    [[ $COMP_WORDBREAKS == *:* ]] && before=${typed%"${typed##*:}"}
    while IFS= read -r name; do
        printf -v name %q "$name"
        [[ $name == "$typed"* ]] && COMPREPLY+=("${name#"$before"}")
    done < <("${COMP_WORDS[0]}" complete-tasks 2>/dev/null)
}

# What follows the two dashes is completed as a command line of its own.
_once_command() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        COMPREPLY=($(compgen -c -- "$cur"))
    else
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}

complete -F _once once
"""

ZSH = r"""#compdef once
# Written by completions/generate.py from the command tree.
_once_tasks() {
    local -a names
    names=(${(f)"$(_call_program tasks once complete-tasks 2>/dev/null)"})
    compadd "$@" -a names
}
local curcontext=$curcontext state
local -a verbs line
verbs=(
@verbs@
)
_arguments -C \
@group@
    '1: :->verb' '*:: :->rest'
case $state in
    verb) _describe -t verbs verb verbs ;;
    rest)
        case $words[1] in
@options@
        esac
        ;;
esac
"""

FISH = r"""# Written by completions/generate.py from the command tree.
function __once_verb
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return
        end
    end
end

function __once_in -a verb
    contains -- -- (commandline -opc); and return 1
    set -l found (__once_verb)
    test "$found" = "$verb"
end

# What follows the two dashes is completed as a command line of its own.
function __once_command
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    set -e words[1..$dashes]
    complete -C "$(string join ' ' -- (string escape -- $words) (commandline -ct))"
end

function __once_tasks
    once complete-tasks 2>/dev/null
end

complete -c once -f
complete -c once -n 'contains -- -- (commandline -opc)' -a '(__once_command)'
@verbs@
@tasks@
@options@
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its spellings, the short one first; its help; the words to offer, None if it takes no value."""

    spellings: tuple[str, ...]
    text: str
    words: tuple[str, ...] | None

    @property
    def long(self) -> str:
        """Its name in full."""
        return self.spellings[-1]


@dataclass(frozen=True, slots=True)
class Verb:
    """One command; the group itself has the empty name."""

    name: str
    text: str
    options: tuple[Option, ...]
    takes: str = ""
    """Tasks as arguments: `1`, as many as one likes (`*`), or none."""


def first_sentence(text: str | None) -> str:
    """As much of a help text as fits beside a completion, without a character that a shell would have to escape."""
    sentence = " ".join((text or "").split()).partition("  [")[0].partition(". ")[0].rstrip(".")
    return sentence.translate(str.maketrans({"'": "\u2019", "`": None, "[": "(", "]": ")", "$": None}))


def option_of(parameter: click.Option) -> Option:
    """What the shells need to know of a click option."""
    spellings = tuple(sorted((*parameter.opts, *parameter.secondary_opts), key=len))
    if parameter.is_flag or parameter.count:
        return Option(spellings, first_sentence(parameter.help), None)
    choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else VALUES.get(spellings[-1], ())
    return Option(spellings, first_sentence(parameter.help), tuple(str(choice) for choice in choices))


def verb_of(name: str, command: click.Command, context: click.Context) -> Verb:
    """What the shells need to know of a command."""
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    tasks = [one for one in command.params if isinstance(one, click.Argument) and one.name in ("task", "tasks")]
    takes = "".join("1" if one.nargs == 1 else "*" for one in tasks)
    text = first_sentence(command.get_short_help_str(100))
    return Verb(name, text, tuple(option_of(option) for option in options), takes)


def tree() -> tuple[Verb, list[Verb]]:
    """The group and its verbs."""
    top = click.Context(cli, info_name="once", **cli.context_settings)
    commands = [(name, cli.get_command(top, name)) for name in cli.list_commands(top)]
    verbs = [verb_of(name, command, click.Context(command, top, name)) for name, command in commands if command]
    return verb_of("", cli, top), verbs


def bash(group: Verb, verbs: list[Verb]) -> str:
    """The completion for bash, with or without the package bash-completion."""
    values = [
        f"        {_bash_cases(verb, option)}) {_bash_value(option)} ;;"
        for verb in verbs
        for option in verb.options
        if option.words is not None
    ]
    options = [f"                '') words='{' '.join([*(verb.name for verb in verbs), *_spellings(group)])}' ;;"]
    for verb in verbs:
        dashes = ["--"] if verb.name in WRAPPING else []
        options.append(f"                {verb.name}) words='{' '.join([*_spellings(verb), *dashes])}' ;;")
    with_tasks = " | ".join(verb.name for verb in verbs if verb.takes)
    tasks = [f"                {with_tasks}) [[ $cur == -* ]] || _once_tasks ;;"]
    return _filled(BASH, values=values, tasks=tasks, options=options)


def _spellings(verb: Verb) -> list[str]:
    return [spelling for option in verb.options for spelling in option.spellings]


def _bash_cases(verb: Verb, option: Option) -> str:
    return " | ".join(f"{verb.name}:{spelling}" for spelling in option.spellings)


def _bash_value(option: Option) -> str:
    if option.long == TASKS:
        return "_once_tasks"
    if option.long == ZONES:
        return "words=$(cd /usr/share/zoneinfo 2>/dev/null && compgen -G '[A-Z]*/*')"
    return f"words='{' '.join(option.words or ())}'"


def zsh(group: Verb, verbs: list[Verb]) -> str:
    """The completion for zsh."""
    options = []
    for verb in verbs:
        options += [f"            {verb.name})", "                _arguments -s -S \\"]
        options += [f"                    {_zsh_option(option)} \\" for option in verb.options]
        options += [f"                    {_zsh_arguments(verb)}", "                ;;"]
    return _filled(
        ZSH,
        verbs=[f"    '{verb.name}:{_zsh_text(verb.text)}'" for verb in verbs],
        group=[f"    {_zsh_option(option)} \\" for option in group.options],
        options=options,
    )


def _zsh_arguments(verb: Verb) -> str:
    rest = "'*:: :_normal'" if verb.name in WRAPPING else "'*: : '"
    return {"": rest, "1": f"'1:task:_once_tasks' {rest}", "*": "'*:task:_once_tasks'"}[verb.takes]


def _zsh_option(option: Option) -> str:
    value = ""
    if option.long == TASKS:
        value = ":task:_once_tasks"
    elif option.long == ZONES:
        value = ":zone:_time_zone"
    elif option.words is not None:
        words = " ".join(word.replace(":", r"\:") for word in option.words)
        value = f":{option.long.lstrip('-')}:({words})" if words else f":{option.long.lstrip('-')}: "
    text = _zsh_text(option.text)
    if len(option.spellings) == 1:
        return f"'{option.long}[{text}]{value}'"
    return f"'({' '.join(option.spellings)})'{{{','.join(option.spellings)}}}'[{text}]{value}'"


def _zsh_text(text: str) -> str:
    return text.replace(":", r"\:")


def fish(group: Verb, verbs: list[Verb]) -> str:
    """The completion for fish."""
    return _filled(
        FISH,
        verbs=[f"complete -c once -n '__once_in \"\"' -a {verb.name} -d '{verb.text}'" for verb in verbs],
        tasks=[f"complete -c once -n '__once_in {verb.name}' -a '(__once_tasks)'" for verb in verbs if verb.takes],
        options=[_fish_option(verb, option) for verb in [group, *verbs] for option in verb.options],
    )


def _fish_option(verb: Verb, option: Option) -> str:
    names = " ".join(
        f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}" for spelling in option.spellings
    )
    value = "" if option.words is None else " -x"
    if option.long == TASKS:
        value = " -x -a '(__once_tasks)'"
    elif option.long == ZONES:
        value = " -x -a '(cd /usr/share/zoneinfo 2>/dev/null; and printf %s\\n [A-Z]*/*)'"
    elif option.words:
        value = f" -x -a '{' '.join(option.words)}'"
    in_verb = verb.name or '""'
    return f"complete -c once -n '__once_in {in_verb}' {names}{value} -d '{option.text}'"


def _filled(template: str, **parts: Iterable[str]) -> str:
    for name, lines in parts.items():
        template = template.replace(f"@{name}@", "\n".join(lines))
    return template


FILES: dict[str, Callable[[Verb, list[Verb]], str]] = {"once.bash": bash, "_once": zsh, "once.fish": fish}


def written() -> dict[str, str]:
    """What each file should contain."""
    return {name: write(*tree()) for name, write in FILES.items()}


if __name__ == "__main__":
    for name, text in written().items():
        (HERE / name).write_text(text, encoding="utf-8")
