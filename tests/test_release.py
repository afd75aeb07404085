"""Tests that the package, the changelog, the citation file and the tag of a release name the same version."""

import runpy
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Returns why a tag cannot be released from the tree in a folder, or None if it can.
problem: Callable[[str, Path], str | None] = runpy.run_path(str(ROOT / ".github" / "check_release.py"))[
    "problem"
]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with copies of the files that name the version."""
    for name in ("pyproject.toml", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_version_in_the_tree_could_be_tagged() -> None:
    assert problem(f"v{VERSION}", ROOT) is None


def test_a_tag_of_another_version_is_refused() -> None:
    assert f"the tag should be v{VERSION}" in (problem("v99.0.0", ROOT) or "")
    assert problem(VERSION, ROOT) is not None


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CITATION.cff"])
def test_a_file_of_another_version_is_refused(name: str, tree: Path) -> None:
    text = (tree / name).read_text("utf-8")
    (tree / name).write_text(text.replace(VERSION, "9.9.9"), "utf-8")
    assert name in (problem(f"v{VERSION}", tree) or "")
