"""axe-core finds no barriers in the pages, in light and dark colors."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import AreniteError
from arenite.host.web.serving.serve_page import ServingOptions, open_page
from arenite.models.npm_files import npm_file, npm_package
from tests.browser import BROWSER, Browser
from tests.host.web.page_parts import COUNT, FAKE_DEVICES, STATUS, collecting_page

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

AXE = npm_package(
    "axe-core",
    "4.14.1",
    "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
    708405,
    "MPL-2.0",
)


@pytest.fixture(scope="module")
def axe() -> str:
    """The JavaScript of axe-core. The test is skipped if it cannot be fetched."""
    try:
        return npm_file(AXE, "package/axe.min.js").decode()
    except AreniteError as error:
        pytest.skip(error.problem)


def barriers(browser: Browser, axe: str) -> list[Any]:
    """Return the violations that axe-core finds, each as [rule, description, HTML of the elements]. The rules are
    those of WCAG 2.2, levels A and AA, and axe-core's best practices."""
    browser.value(f"{axe}; 0")
    violations: list[Any] = browser.value(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        ".then((r) => r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html)]))"
    )
    return violations


@pytest.mark.parametrize("source", ["camera", "files"])
def test_pages_have_no_barriers(axe: str, source: str, tmp_path: Path) -> None:
    package = collecting_page(tmp_path, source)
    server = open_page(package, ServingOptions(collect=tmp_path / "data"), print)
    with contextlib.closing(server), Browser(tmp_path / "profile", *FAKE_DEVICES) as browser:
        browser.open(server.url)
        browser.until(f"{STATUS} === 'Ready'")
        for dark in (False, True):
            for phone in (False, True):
                browser.size(400 if phone else 1200, 800, dark=dark, phone=phone)
                assert barriers(browser, axe) == []
        if source == "camera":
            browser.value("document.getElementById('start').click()")
            browser.until(f"{COUNT} >= 3")
            assert barriers(browser, axe) == []
        browser.value(
            "document.getElementById('problem').textContent = 'A problem.'; problem.hidden = false; 0"
        )
        assert barriers(browser, axe) == []
        # The check itself works: a button without a name is a barrier.
        browser.value("document.querySelector('main').append(document.createElement('button')); 0")
        assert [rule for rule, *_ in barriers(browser, axe)] == ["button-name"]
