"""Links between pages lead somewhere, on GitHub and on the site; paths of source files that pages name exist."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name, tracked

#: Folders of the repository that hold sources; a path that begins with one is a path of the repository.
WINGS = (
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
_PATH = re.compile(rf"`((?:{'|'.join(WINGS)})/[\w./*{{}},-]*)`")
#: A file that a tutorial has the reader write.
_WRITTEN = re.compile(r"^Write this to `([^`]+)`", re.MULTILINE)
_MODULE = re.compile(r"\b(?:python -m |from |import )((?:arenite|tests|benchmarks)(?:\.\w+)+)")


def broken_links(page: Path, text: str) -> list[str]:
    """Links of ``text`` that lead nowhere: a file that is missing, or an anchor that no heading of the page has."""
    broken = []
    for target in links(text):
        path, _, anchor = target.partition("#")
        to = page if not path else (page.parent / path)
        leads = not path.startswith("/") and to.exists()
        if leads and anchor and to.suffix == ".md":
            leads = anchor in anchors(text if to == page else to.read_text("utf-8"))
        if not leads:
            broken.append(target)
    return broken


def absent_paths(text: str) -> list[str]:
    """Paths in backticks that begin with a folder of the repository, and modules, that the repository has not."""
    absent = []
    written = set(_WRITTEN.findall(text))
    for path in _PATH.findall(text):
        for one in _expanded(path):
            if not _exists(one) and one not in written:
                absent.append(one)
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
    """``a/{b,c}.py`` as a shell expands it."""
    match = re.search(r"\{([^}]*)\}", path)
    if not match:
        return [path]
    return [
        x
        for part in match[1].split(",")
        for x in _expanded(path[: match.start()] + part + path[match.end() :])
    ]


def _exists(path: str) -> bool:
    if "*" in path:
        return any(ROOT.glob(path.rstrip("/")))
    wanted = posixpath.normpath(path)
    # `arenite/` holds a link to each wing, which git lists as a file of its own.
    return wanted in tracked() or wanted.removeprefix("arenite/") in tracked()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_and_anchor_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CHANGELOG.md"], ids=name)
def test_every_source_file_that_is_named_exists(page: Path) -> None:
    assert absent_paths(page.read_text("utf-8")) == []


def test_a_dead_link_and_a_missing_file_are_found() -> None:
    page = ROOT / "docs" / "fit.md"
    text = "# Top\n[a](bench.md) [b](#top) [c](#nowhere) [d](gone.md)\n\n    [e](code.md)\n"
    assert broken_links(page, text) == ["#nowhere", "gone.md"]
    text = "`tests/docs/{pages,gone}.py` `profiles/boards/*.toml` `host/gone/` python -m tests.docs.gone_too.at_all"
    assert absent_paths(text) == ["tests/docs/gone.py", "host/gone/", "tests.docs.gone_too.at_all"]


def test_headings_get_the_anchors_of_github() -> None:
    text = "# mlperf: the MLPerf Tiny monitor\n## `--fast-ram`, [a](b.md)\n## Twice\n## Twice\n"
    assert anchors(text) == {"mlperf-the-mlperf-tiny-monitor", "--fast-ram-a", "twice", "twice-1"}
