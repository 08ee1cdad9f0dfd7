"""The man pages say what the command tree does: every verb, every option, every status, nothing else."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from once import errors
from once.commands import acting, flush, telling
from once.run import Outcome
from tests.meta.tree import ROOT, commands, options_of

PAGES = sorted((ROOT / "man").glob("*.1"))

COMMON_STATUSES = {"0", "75"}
PLUGIN_STATUSES = {"0", "1", "2", "3"}
"""Those of once-check, by the convention of monitoring plugins."""


def page_of(verb: str) -> Path:
    """Where the page of a verb is; of the group for the empty name."""
    return ROOT / "man" / (f"once-{verb}.1" if verb else "once.1")


def options_in(page: Path) -> set[str]:
    """The options that a page explains: those of its `.It` lines."""
    items = re.findall(r"^\.It (Fl .*)$", page.read_text(), re.MULTILINE)
    return {f"-{name}" for item in items for name in re.findall(r"\bFl (\S+)", item)}


def statuses_in(page: Path) -> set[str]:
    """The exit statuses that a page explains."""
    section = page.read_text().partition(".Sh EXIT STATUS\n")[2].partition("\n.Sh ")[0]
    return set(re.findall(r"^\.It (\d+)", section, re.MULTILINE))


def test_every_verb_has_a_page_and_every_page_a_verb() -> None:
    """`man once-run` works for every verb that is there, and for no other."""
    assert {page.name for page in PAGES} == {page_of(verb).name for verb in commands()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_names_exactly_the_options_of_its_verb(page: Path) -> None:
    """An option is explained where it exists, and does not exist unexplained."""
    verb = "" if page.stem == "once" else page.stem.removeprefix("once-")

    assert options_in(page) == options_of(commands()[verb])


def test_the_wrappers_pages_have_every_status_of_their_own() -> None:
    """Whoever finds 123 in a log finds it in the manual."""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    own = {str(error.wrapping) for error in classes if issubclass(error, errors.OnceError)} | {"0", "124", "128"}

    assert statuses_in(page_of("run")) == own | {"122"}
    assert statuses_in(page_of("lock")) == own


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_tells_its_statuses(page: Path) -> None:
    """0 and 75 are everywhere but in a plugin for monitors; every status is told in the order of its number."""
    statuses = re.findall(r"^\.It (\d+)", page.read_text().partition(".Sh EXIT STATUS\n")[2], re.MULTILINE)

    assert set(statuses) >= (PLUGIN_STATUSES if page.stem == "once-check" else COMMON_STATUSES)
    assert statuses == sorted(statuses, key=int)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_parse(page: Path) -> None:
    """An example that is pasted is not refused for its options."""
    text = page.read_text().partition(".Sh EXAMPLES\n")[2].replace(r"\(dq", '"')
    lines = [line.removeprefix(".Dl ") for line in text.splitlines() if "once " in line and " once(" not in line]
    calls = [line[line.index("once ") :] for line in lines if line.startswith(("once ", "*", "0 "))]

    assert calls
    for call in calls:
        verb, *arguments = shlex.split(call)[1:]
        context = commands()[verb].make_context(f"once {verb}", arguments)
        assert isinstance(context, click.Context)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_mandoc_finds_nothing_to_warn_about(page: Path) -> None:
    """The pages are proper mdoc(7)."""
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False)

    assert lint.stdout + lint.stderr == ""


def keys_in(module: str) -> set[str]:
    """The keys that a verb writes: those of dictionaries in itself and in functions that make an item, or a part."""
    tree = ast.parse((ROOT / "src" / "once" / "commands" / f"{module}.py").read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    makers = [node for node in functions if node.name == module or "dict[str, Any]" in ast.unparse(node.returns)]
    found = [node for maker in makers for node in ast.walk(maker) if isinstance(node, ast.Dict)]
    return {key.value for node in found for key in node.keys if isinstance(key, ast.Constant)}


TELLING = sorted(verb for verb, command in commands().items() if "--json" in options_of(command))
OTHERS = {"runs": {*telling.RUN_KEYS, "stuck", *acting.EVENT_KEYS}, "flush": set(flush.KEYS)}
"""Keys that stand elsewhere."""


@pytest.mark.parametrize("verb", TELLING)
def test_every_key_of_json_stands_on_the_page(verb: str) -> None:
    """Programs rely on them, so whoever writes one finds them all."""
    keys = keys_in(verb) | OTHERS.get(verb, set())
    text = page_of(verb).read_text()
    words = set(re.findall(r"\bQl (\w+)", text)) | set(re.findall(r"\(dq(\w+)\\\(dq", text))
    words |= {word for line in re.findall(r"^\.It Cm (.*)$", text, re.MULTILINE) for word in line.split(" , ")}

    assert keys
    assert keys - words == set()


def test_every_outcome_is_explained() -> None:
    """In the words of the record, and no other."""
    section = page_of("").read_text().partition(".Ss Outcomes\n")[2].partition("\n.Ss ")[0]

    assert re.findall(r"^\.It Ql (\w+)$", section, re.MULTILINE) == [str(outcome) for outcome in Outcome]


def test_the_page_of_the_group_says_which_verbs_find_something() -> None:
    """Those whose own pages have status 1."""
    section = page_of("").read_text().partition("\n.It 1\n")[2].partition("\n.It ")[0]
    finding = {verb for verb in commands() if verb and "1" in statuses_in(page_of(verb))}

    assert set(re.findall(r"^\.Ic (\w+)", section, re.MULTILINE)) == finding
