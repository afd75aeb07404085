"""The live page shows real emulated runs, has no barriers, and can be used with the keyboard."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.host.app.camera.generate import generate_camera_app
from arenite.host.app.generate import generate_app
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.live_view import LiveView
from arenite.profiles.boards import load_board
from tests.axe import axe_script, barriers
from tests.browser import BROWSER, Browser
from tests.host.app.camera.camera_models import SIZE, picture_model, pictures
from tests.host.app.motion_models import motion_model, motions
from tests.host.app.sound_models import RATE, sound_model, sounds
from tests.host.live.recorded_data import write_pictures, write_wav

pytest.importorskip("h11", reason="needs h11")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]
BOARD = "qemu_mps2_an386"
STATUS = "document.getElementById('status').innerText"


@contextlib.contextmanager
def shown_run(folder: Path, recording: Path) -> Iterator[tuple[LiveView, str]]:
    """Run the application in ``folder``, and yield its view and the address of the page."""
    from arenite.host.live.web.live_server import LiveServer

    view = LiveView(BOARD)
    server = LiveServer(view, "127.0.0.1:0", "auto")
    server.start()
    ended = threading.Event()

    def run() -> None:
        app = emulated_app(folder, BOARD)
        for message in emulated_messages(app, [recording], ended.is_set, is_real_time=True):
            view.take(message)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield view, server.url
    finally:
        ended.set()
        thread.join(60)
        server.end()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "profile") as running_browser:
        yield running_browser


def bright_pixels(browser: Browser, element: str, least: int) -> int:
    """Return the number of pixels of a canvas or picture whose red is more than ``least``."""
    count: int = browser.value(
        f"(() => {{ const e = document.getElementById('{element}'), c = document.createElement('canvas');"
        " c.width = e.naturalWidth ?? e.width; c.height = e.naturalHeight ?? e.height;"
        " const context = c.getContext('2d'); context.drawImage(e, 0, 0);"
        " const d = context.getImageData(0, 0, c.width, c.height).data; let n = 0;"
        f" for (let k = 0; k < d.length; k += 4) n += d[k] > {least}; return n; }})()"
    )
    return count


def shown_events(browser: Browser) -> list[int]:
    """Return the sample or frame of each event in the table."""
    texts = browser.value(
        "Array.from(document.querySelectorAll('#events tr')).map((row) => row.cells[4].innerText)"
    )
    return sorted(map(int, texts))


def assert_no_barriers(browser: Browser) -> None:
    """Check the page with axe-core: in light and dark, on a desktop and a phone."""
    axe = axe_script()
    for dark in (False, True):
        for phone in (False, True):
            browser.size(400 if phone else 1200, 800, dark=dark, phone=phone)
            assert barriers(browser, axe) == []


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    """Press a key of the keyboard."""
    more: dict[str, Any] = {"text": text} if text else {}
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more
        )
        more = {}


def focused(browser: Browser) -> str:
    """Return the id or the class of the element that has the focus."""
    name: str = browser.value("document.activeElement.id || document.activeElement.className")
    return name


def test_sound(tmp_path: Path, browser: Browser) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), load_board(BOARD), tmp_path / "app")
    write_wav(tmp_path / "street.wav", sounds(6), RATE)
    with shown_run(tmp_path / "app", tmp_path / "street.wav") as (view, url):
        browser.open(url)
        browser.until("document.querySelectorAll('#events tr').length > 4")
        browser.until("document.querySelectorAll('#health div').length > 10")
        browser.until(f"{STATUS} == 'The recording ended'")
        assert shown_events(browser) == sorted(event["sample"] for event in view.snapshot()["events"])
        assert "gated" in browser.value("document.getElementById('health').innerText")
        for canvas, bright in (("waveform", 200), ("spectrogram", 150)):
            assert bright_pixels(browser, canvas, bright) > 500, canvas
        assert browser.value("document.getElementById('scores').childElementCount") == 3
        assert_no_barriers(browser)
        _use_the_keyboard(browser)
        browser.open("about:blank")
        assert browser.errors == []


def _use_the_keyboard(browser: Browser) -> None:
    """Pause and continue the page, and scroll the events, without a mouse."""
    browser.size(1200, 800)
    events = shown_events(browser)
    press(browser, "Tab", 9)
    assert focused(browser) == "pause"
    outline = browser.value("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    press(browser, "Enter", 13, "\r")
    browser.until("document.getElementById('pause').innerText == 'Continue'")
    assert browser.value(STATUS) == "Paused"
    press(browser, "Tab", 9)
    assert focused(browser) == "scroll"
    browser.value("document.activeElement.style.maxHeight = '3rem'; 0")
    press(browser, "ArrowDown", 40)
    browser.until("document.activeElement.scrollTop > 0")
    browser.value("document.getElementById('pause').focus(); 0")
    press(browser, "Enter", 13, "\r")
    browser.until(f"{STATUS} == 'The recording ended'")
    assert shown_events(browser) == events
    assert bright_pixels(browser, "waveform", 200) > 500


def test_motion(tmp_path: Path, browser: Browser) -> None:
    prepared = motion_model(tmp_path / "gesture.tflite")
    generate_app(prepared, load_board(BOARD), tmp_path / "app", sensor="imu")
    np.save(tmp_path / "day.npy", motions(12))
    with shown_run(tmp_path / "app", tmp_path / "day.npy") as (view, url):
        browser.open(url)
        browser.until(f"{STATUS} == 'The recording ended'")
        assert shown_events(browser) == sorted(event["sample"] for event in view.snapshot()["events"]) != []
        label = browser.value("document.getElementById('waveform').getAttribute('aria-label')")
        assert label == "Traces of 3 channels: the last 10 seconds"
        assert bright_pixels(browser, "waveform", 100) > 1000
        assert browser.value("document.getElementById('spectrogram').hidden")
        channels = browser.value("document.getElementById('channels').innerText").split("\n")
        assert channels == ["channel 1", "channel 2", "channel 3"]
        assert_no_barriers(browser)
        assert browser.errors == []


def test_pictures(tmp_path: Path, browser: Browser) -> None:
    generate_camera_app(picture_model(tmp_path / "eye.tflite"), load_board(BOARD), tmp_path / "app")
    write_pictures(tmp_path / "pictures", pictures(40, SIZE))
    with shown_run(tmp_path / "app", tmp_path / "pictures") as (view, url):
        browser.open(url)
        browser.until(f"{STATUS} == 'The recording ended'")
        browser.until("document.getElementById('picture').naturalWidth > 0")
        browser.until("document.getElementById('picture').src.endsWith('/picture?39')")
        browser.until("document.getElementById('picture').complete")
        last = pictures(40, SIZE)[-1]
        for least in (50, 100, 150):
            assert bright_pixels(browser, "picture", least) == int((last[..., 0] > least).sum())
        assert shown_events(browser) == sorted(event["sample"] for event in view.snapshot()["events"]) != []
        assert browser.value("document.getElementById('h-index').innerText") == "frame"
        assert browser.value("document.getElementById('waveform').hidden")
        assert_no_barriers(browser)
        assert browser.errors == []
