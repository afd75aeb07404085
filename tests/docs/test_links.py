"""Tests that links between pages work on GitHub and on the site, and that source files named in pages exist."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name, tracked

#: Folders of the repository with sources. A path in a page that begins with such a folder must exist in the repository.
SOURCE_FOLDERS = (
    "arenite",
    "converters",
    "firmware",
    "host",
    "models",
    "profiles",
    "tests",
    "benchmarks",
    "docs",
)
_PATH = re.compile(rf"`((?:{'|'.join(SOURCE_FOLDERS)})/[\w./*{{}},-]*)`")
#: Finds the name of a file that a tutorial tells its reader to write.
_WRITTEN = re.compile(r"^Write this to `([^`]+)`", re.MULTILINE)
_MODULE = re.compile(r"\b(?:python -m |from |import )((?:arenite|tests|benchmarks)(?:\.\w+)+)")


def broken_links(page: Path, text: str) -> list[str]:
    """Return the links of ``text`` (the text of ``page``) that name a missing file or an anchor that no heading has."""
    broken = []
    for target in links(text):
        path, _, anchor = target.partition("#")
        to = page if not path else (page.parent / path)
        works = not path.startswith("/") and to.exists()
        if works and anchor and to.suffix == ".md":
            works = anchor in anchors(text if to == page else to.read_text("utf-8"))
        if not works:
            broken.append(target)
    return broken


def absent_paths(text: str) -> list[str]:
    """Return the names in ``text`` that do not exist in the repository: paths in backticks below a source folder, and
    modules."""
    absent = []
    written = set(_WRITTEN.findall(text))
    for path in _PATH.findall(text):
        for candidate in _expanded(path):
            if not _exists(candidate) and candidate not in written:
                absent.append(candidate)
    for module in _MODULE.findall(text):
        parts = module.removeprefix("arenite.").split(".")
        if not any(
            f"{'/'.join(parts[:k])}{end}" in tracked()
            for k in range(max(1, len(parts) - 1), len(parts) + 1)
            for end in (".py", "/__init__.py")
        ):
            absent.append(module)
    return absent


def _expanded(path: str) -> list[str]:
    """Return the paths to which a shell would expand ``path``, such as a/b.py and a/c.py for ``a/{b,c}.py``."""
    match = re.search(r"\{([^}]*)\}", path)
    if not match:
        return [path]
    return [
        x
        for part in match[1].split(",")
        for x in _expanded(path[: match.start()] + part + path[match.end() :])
    ]


def _exists(path: str) -> bool:
    """Return whether the repository has the file or folder, or a file that fits the pattern."""
    if "*" in path:
        return any(ROOT.glob(path.rstrip("/")))
    normal = posixpath.normpath(path)
    # `arenite/` has a link to each source folder, which git lists as a file.
    return normal in tracked() or normal.removeprefix("arenite/") in tracked()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_and_anchor_exists(page: Path) -> None:
    assert broken_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CHANGELOG.md"], ids=name)
def test_every_named_source_file_exists(page: Path) -> None:
    assert absent_paths(page.read_text("utf-8")) == []


def test_broken_links_and_missing_files_are_found() -> None:
    page = ROOT / "docs" / "fit.md"
    text = "# Top\n[a](bench.md) [b](#top) [c](#nowhere) [d](gone.md)\n\n    [e](code.md)\n"
    assert broken_links(page, text) == ["#nowhere", "gone.md"]
    text = "`tests/docs/{pages,gone}.py` `profiles/boards/*.toml` `host/gone/` python -m tests.docs.gone_too.at_all"
    assert absent_paths(text) == ["tests/docs/gone.py", "host/gone/", "tests.docs.gone_too.at_all"]


def test_anchors_equal_those_of_github() -> None:
    text = "# mlperf: the MLPerf Tiny monitor\n## `--fast-ram`, [a](b.md)\n## Twice\n## Twice\n"
    assert anchors(text) == {"mlperf-the-mlperf-tiny-monitor", "--fast-ram-a", "twice", "twice-1"}
