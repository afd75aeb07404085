"""Every command and make target in the documentation exists, and its table lists all commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from arenite.host.cli import main as cli

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])


def commands(page: Path) -> list[str]:
    """Return the ``arenite`` commands in the code blocks and in the running text of a page."""
    text = re.sub(r"\\\n +", "", page.read_text("utf-8"))  # a backslash continues a command
    lines = re.findall(r"^ {4,}(?:\$ )?(arenite .*)$", text, re.MULTILINE)
    for fence in re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines += re.findall(r"^(?:\$ )?(arenite .*)$", fence, re.MULTILINE)
        text = text.replace(fence, "")
    inline = re.findall(r"`(arenite [^`]*)`", text)
    return [*lines, *(c for c in inline if not re.search(r"[\[{|…]|\.\.\.| [A-Z]+( |$)", c))]


DOCUMENTED = [(page, command) for page in PAGES for command in commands(page)]


def test_the_main_pages_have_commands() -> None:
    assert {page.name for page, _ in DOCUMENTED} >= {"fit.md", "bench.md", "firmware.md", "boards.md"}


@pytest.mark.parametrize(("page", "command"), DOCUMENTED, ids=[f"{p.stem}: {c}" for p, c in DOCUMENTED])
def test_each_documented_command_and_its_options_exist(page: Path, command: str) -> None:
    """Every command and option exists. A command in running text may lack its arguments."""
    line = re.sub(r" > \S+$", "", command.replace("&&", "#").partition("#")[0].rstrip())
    words = shlex.split(re.sub(r"\$\([^)]*\)", "FILE", line))[1:]
    group: click.Command = cli.cli
    context = click.Context(group)
    while isinstance(group, click.Group):
        if not words:
            return
        if words[0].startswith("-"):
            assert words[0] in {name for option in group.get_params(context) for name in option.opts}
            return
        assert words[0] in group.list_commands(context), f"{page.name}: {command}"
        subcommand = group.get_command(context, words.pop(0))
        assert subcommand is not None
        group = subcommand
    if words == ["--json"]:  # as in "Output of `arenite bench --json`"
        assert "--json" in {name for option in group.get_params(context) for name in option.opts}
    elif words:
        group.make_context("arenite", words)


def test_the_page_of_commands_lists_exactly_all_commands() -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert set(re.findall(r"^\|.*?`arenite (\w+)", text, re.MULTILINE)) | {"flash"} == set(cli.COMMANDS)
    for name in cli.COMMANDS:
        assert f"`arenite {name}" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_targets_of_make_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = page.read_text("utf-8")
    make_targets = re.findall(r"^ {4,}make ([a-z][\w-]*)|`make ([a-z][\w-]*)[^`]*`", text, re.MULTILINE)
    assert {a or b for a, b in make_targets} <= targets
