"""A page says in one sentence why it cannot use a camera, a microphone or SIMD."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests.browser import BROWSER, Browser
from tests.host.web.page_parts import (
    COUNT,
    FAKE_DEVICES,
    PROBLEM,
    STATUS,
    opened,
    picture_page,
    sound_page,
)

pytest.importorskip("ziglang", reason="needs ziglang")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

START = "document.getElementById('start')"
PAGES = {"camera": lambda folder: picture_page(folder, "camera"), "microphone": sound_page}
#: The browser's own camera and microphone, of which every request is refused.
REFUSED_DEVICES = (FAKE_DEVICES[0], f"{FAKE_DEVICES[1]}=deny")


def permit(browser: Browser, device: str, setting: str) -> None:
    """Let the browser answer every request of the page for ``device`` with ``setting``: granted or denied."""
    browser.call("Browser.setPermission", permission={"name": device}, setting=setting)


def test_a_page_without_a_camera_says_so(tmp_path: Path) -> None:
    with opened(
        picture_page(tmp_path, "camera"),
        tmp_path / "profile",
        f"{FAKE_DEVICES[0]}=device-count=0",
        FAKE_DEVICES[1],
    ) as browser:
        permit(browser, "camera", "granted")
        browser.value(f"{START}.click()")
        browser.until(f"{PROBLEM} !== ''")
        assert browser.value(PROBLEM) == "This device has no camera: connect one, then press Start."
        assert browser.value(STATUS) == "Stopped"


@pytest.mark.parametrize("device", PAGES)
def test_a_refused_device_is_reported(device: str, tmp_path: Path) -> None:
    with opened(PAGES[device](tmp_path), tmp_path / "profile", *REFUSED_DEVICES) as browser:
        browser.value(f"{START}.click()")
        browser.until(f"{PROBLEM} !== ''")
        assert browser.value(PROBLEM) == (
            f"The browser did not allow the {device}: allow it in the settings of this page, then press Start."
        )
        assert browser.value(STATUS) == "Stopped"
        assert not browser.value(f"{START}.disabled")


@pytest.mark.parametrize("device", PAGES)
def test_a_lost_device_is_reported(device: str, tmp_path: Path) -> None:
    with opened(PAGES[device](tmp_path), tmp_path / "profile", *FAKE_DEVICES) as browser:
        permit(browser, device, "granted")
        browser.value(f"{START}.click()")
        browser.until(f"{COUNT} >= 2 && {STATUS} === 'Running'")
        permit(browser, device, "denied")  # the browser ends the stream, as when the device is disconnected
        browser.until(f"{PROBLEM} !== ''")
        sentence = f"The {device} was disconnected: connect it again, then press Start."
        assert browser.value(PROBLEM) == sentence
        assert browser.value(f"[{STATUS}, {START}.textContent]") == ["Stopped", "Start"]
        permit(browser, device, "granted")
        count = browser.value(COUNT)
        browser.value(f"{START}.click()")
        browser.until(f"{COUNT} > {count} && {STATUS} === 'Running'")
        assert browser.value("document.getElementById('problem').hidden")


@pytest.mark.parametrize("device", PAGES)
def test_an_insecure_page_says_so(device: str, tmp_path: Path) -> None:
    host = "page.example"
    flag = f"--host-resolver-rules=MAP {host} 127.0.0.1"
    with opened(PAGES[device](tmp_path), tmp_path / "profile", flag, host=host) as browser:
        assert browser.value("window.isSecureContext") is False
        assert browser.value(PROBLEM) == (
            f"Browsers give the {device} only to secure pages: open this page over https, or from localhost."
        )
        assert browser.value(f"{START}.disabled")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the flag is for x86")
def test_a_browser_without_simd_runs_the_scalar_module(tmp_path: Path) -> None:
    flag = "--js-flags=--no-enable-sse4-1"  # V8 has no SIMD in WebAssembly on processors without SSE 4.1
    with opened(picture_page(tmp_path, "camera"), tmp_path / "profile", flag, *FAKE_DEVICES) as browser:
        assert browser.value(STATUS) == "Ready, without SIMD: this browser is slower"
        names = browser.value("performance.getEntriesByType('resource').map((e) => e.name)")
        assert [n.rpartition("/")[2] for n in names if n.endswith(".wasm")] == ["model-scalar.wasm"]
        browser.value(f"{START}.click()")
        browser.until(f"{COUNT} >= 2")
