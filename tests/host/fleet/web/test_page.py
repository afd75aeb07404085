"""The page of a fleet in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.axe import axe_script, barriers
from tests.browser import Browser
from tests.host.fleet.web.conftest import Running

pytestmark = pytest.mark.browser

TEXT = "document.getElementById('%s').innerText"
LIVE = "document.getElementById('found').innerText.includes('24 devices')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as running_browser:
        yield running_browser


@pytest.fixture
def page(browser: Browser, running: Running) -> Iterator[Browser]:
    """The page with all its figures. The test fails if the browser reports an error."""
    browser.errors.clear()
    browser.size(1300, 900)
    browser.open(running.page.url)
    browser.until(LIVE)
    yield browser
    browser.open("about:blank")
    assert browser.errors == []


def test_the_fleet_at_a_glance(page: Browser, running: Running) -> None:
    assert page.value("document.title") == "Fleet plant"
    assert [page.value(TEXT % state) for state in ("online", "silent", "offline")] == ["22", "2", "0"]
    rollouts = page.value(TEXT % "rollouts")
    assert "Rollout 1: 2.0.0 to the group default" in rollouts and "Wave 3, up to 100 %" in rollouts
    assert "drift.classes" in rollouts and "holds" in rollouts
    assert "started the rollout of 2.0.0" in page.value(TEXT % "audit")
    assert "qemu_microbit" in page.value(TEXT % "boards")
    assert page.value(TEXT % "status") == "Live"
    # Much later, no server was connected, and all devices are silent.
    running.clock.ms += 3 * 3_600_000
    page.until("document.getElementById('silent').innerText === '24'")
    assert page.value(TEXT % "status") == "No server is connected to the broker"


def test_the_search_finds_devices(page: Browser) -> None:
    search = "(() => { const s = document.getElementById('search'); s.value = '%s';"
    search += " s.dispatchEvent(new Event('input')); return true; })()"
    page.value(search % "silent d0023")
    page.until("document.querySelectorAll('#devices tbody tr').length === 1")
    assert page.value(TEXT % "devices").split("\n")[-1].startswith("d0023")
    page.value(search % "nothing at all")
    page.until("document.getElementById('found').innerText === 'No device has these words.'")
    page.value(search % "")
    page.until("document.querySelectorAll('#devices tbody tr').length === 24")


@pytest.mark.parametrize(("width", "dark"), [(360, True), (1600, False)])
def test_the_page_fits_in_light_and_dark(width: int, dark: bool, page: Browser) -> None:
    page.size(width, 800, dark=dark, phone=width < 500)
    page.until(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
    assert page.value("document.documentElement.scrollWidth") <= width
    assert barriers(page, axe_script()) == []
    page.value("document.getElementById('theme').click()")
    assert page.value("document.documentElement.dataset.theme") == ("light" if dark else "dark")
    assert barriers(page, axe_script()) == []
    page.value("localStorage.clear()")


def test_the_page_says_that_the_connection_is_lost(browser: Browser, running: Running) -> None:
    browser.open(running.page.url)
    browser.until(LIVE)
    running.page.close()
    browser.until("document.getElementById('lost').innerText.startsWith('Connection lost')")
    assert browser.value(TEXT % "status") == "Connection lost"
    browser.open("about:blank")
