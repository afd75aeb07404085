"""axe-core finds no barriers in the pages, in light and dark colors."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from arenite.host.web.serving.serve_page import ServingOptions, open_page
from tests.axe import axe_script, barriers
from tests.browser import BROWSER, Browser
from tests.host.web.page_parts import COUNT, FAKE_DEVICES, STATUS, collecting_page

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]


@pytest.fixture(scope="module")
def axe() -> str:
    """The JavaScript of axe-core."""
    return axe_script()


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
