"""Tests of the documentation site: every page is in the navigation, and the site builds without a warning.

``docs/_site/hooks.py`` adds pages for CONTRIBUTING.md and CHANGELOG.md, and copies of the source files to which pages
link.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import arenite
from arenite.host.cli.bench.subcommands import SUBCOMMANDS
from arenite.host.cli.main import COMMANDS
from tests.docs.pages import ROOT


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without creating the Python objects that the file names with YAML tags."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, tag, node: tag)


def _pages(entry: object) -> list[str]:
    """Return the file names of all pages in an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    assert isinstance(parts, (list, type({}.values())))
    return [page for part in parts for page in _pages(part)]


def test_every_page_is_in_the_navigation_once() -> None:
    pages = _pages(yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)["nav"])
    files = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert sorted(pages) == sorted(files | {"contributing.md", "changelog.md"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site once, and return its folder."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.slow
def test_the_page_of_commands_has_every_command_with_its_options(site: Path) -> None:
    page = (site / "reference/commands.html").read_text("utf-8")
    assert set(re.findall(r"arenite (\w+) \[OPTIONS\]", page)) >= set(COMMANDS)
    assert set(re.findall(r"arenite bench (\w+) \[OPTIONS\]", page)) == set(SUBCOMMANDS)
    assert "--optimise" in page and "::: mkdocs-click" not in page
    # Click marks an option without a default with Sentinel.UNSET, which docs/_site/hooks.py removes.
    assert "Sentinel" not in page


@pytest.mark.slow
def test_the_python_page_lists_the_public_names(site: Path) -> None:
    page = (site / "reference/python.html").read_text("utf-8")
    assert "::: arenite" not in page
    names = set(re.findall(r'id="arenite\.(?:[a-z_]+\.)*(\w+)"', page))
    # ``arenite.zoo`` is an object of the class ``Zoo``. The page describes the class.
    assert set(arenite.__all__) - {"zoo"} <= names and "Zoo" in names


@pytest.mark.slow
def test_links_to_source_files_lead_to_copies(site: Path) -> None:
    page = (site / "zoo.html").read_text("utf-8")
    (target,) = set(re.findall(r'href="(source/models/manifest[^"]*)"', page))
    assert (site / target).read_bytes() == (ROOT / "models/manifest.toml").read_bytes()
    contributing = (site / "contributing.html").read_text("utf-8")
    assert 'href="../' not in contributing


@pytest.mark.slow
def test_no_page_loads_files_from_another_server(site: Path) -> None:
    """The site works without a network connection, and no other server learns who reads it."""
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r'<(?:script|img|link)[^>]+(?:src|href)="(?:https?:)?//', text), page
