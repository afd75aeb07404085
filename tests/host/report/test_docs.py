"""The generated parts of docs/boards.md and docs/zoo.md are current, and their generator works."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from arenite.errors import UsageError
from arenite.host.report import boards_doc, training_doc, zoo_doc
from arenite.host.report.generated_tables import markdown_table, replace_section, run
from arenite.models.zoo import zoo_entries
from arenite.profiles.board import CORES, UPLOAD_TOOLS
from arenite.profiles.boards import all_boards

PAGES = pytest.mark.parametrize(
    "module", [boards_doc, training_doc, zoo_doc], ids=["boards", "training", "zoo"]
)


@PAGES
def test_the_generated_sections_of_the_page_are_current(module: ModuleType) -> None:
    code = run(module.PAGE, module.sections(), ["--check"])
    assert code == 0, f"run: python -m {module.__name__}"


@PAGES
def test_an_outdated_page_is_detected_and_updated(module: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    stale = re.sub(r"(?m)^\| `\w.*\n", "", module.PAGE.read_text("utf-8"), count=1)
    page.write_text(stale, "utf-8")
    assert run(page, module.sections(), ["--check"]) == 1
    assert page.read_text("utf-8") == stale, "--check must not write"
    assert run(page, module.sections(), []) == 0
    assert page.read_text("utf-8") == module.PAGE.read_text("utf-8")


def test_every_board_and_field_value_is_on_the_page() -> None:
    page = boards_doc.PAGE.read_text("utf-8")
    for board in all_boards():
        assert f"| `{board.name}` |" in page
    for word in (*CORES, *(tool for tool in UPLOAD_TOOLS if tool != "emulator")):
        assert f"`{word}`" in page, word


def test_every_model_has_licence_source_and_hash_on_the_page() -> None:
    page = zoo_doc.PAGE.read_text("utf-8")
    for item in zoo_entries():
        assert f"| `{item.name}` | {item.source} | {item.licence} | `{item.sha256}` |" in page


def test_each_marker_must_occur_once() -> None:
    page = "a\n<!-- generated: t -->\nold\n<!-- end of t -->\nb"
    assert replace_section(page, "t", "new") == "a\n<!-- generated: t -->\nnew\n<!-- end of t -->\nb"
    with pytest.raises(UsageError):
        replace_section("nothing here", "t", "new")
    with pytest.raises(UsageError):
        replace_section(page + page, "t", "new")


def test_a_table_escapes_vertical_bars() -> None:
    assert markdown_table(("a", "b"), [("1|2", "3")], right=(1,)) == "| a | b |\n|-|-:|\n| 1\\|2 | 3 |"
