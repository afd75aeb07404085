"""Tests of the dashboard's page in a real browser: the picture with its answers, changing figures, and a connection
that is restored."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from arenite.converters.processing.native import library as native
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.frames.served_frame import STAGES
from tests.browser import Browser
from tests.free_port import free_port
from tests.host.camera.dashboard.simulated_run import (
    BOX,
    Feeder,
    classes,
    face,
    frame_of,
    served_of,
    state_at,
)

pytestmark = pytest.mark.browser

TOKEN = "sand-and-pressure"
#: JavaScript for the color (red, green, blue, alpha) of the canvas with an ID, at x and y in fractions of its size.
PIXEL = """(() => { const c = document.getElementById('%s');
  const at = [Math.round(%f * c.width), Math.round(%f * c.height)];
  return [...c.getContext('2d').getImageData(...at, 1, 1).data]; })()"""
#: JavaScript for the text of the element with an ID.
TEXT = "document.getElementById('%s').innerText"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    # Compile the preprocessing library now, if necessary, because a page does not wait that long.
    native.library()
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as running_browser:
        yield running_browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Browser]:
    """An empty page without errors of earlier tests. The test fails if the browser reports an error."""
    browser.open("about:blank")
    browser.errors.clear()
    browser.size(1400, 900)
    yield browser
    browser.open("about:blank")
    assert browser.errors == []


@contextlib.contextmanager
def running(dashboard: Dashboard, page: Browser) -> Iterator[Dashboard]:
    """Run ``dashboard``. The page leaves it before it ends: otherwise the browser may report a request without an
    answer."""
    dashboard.start()
    try:
        yield dashboard
    finally:
        page.open("about:blank")
        dashboard.close()


@pytest.fixture
def dashboard(page: Browser) -> Iterator[Dashboard]:
    with running(Dashboard(title="door camera"), page) as running_dashboard:
        yield running_dashboard


def show(
    dashboard: Dashboard,
    answer: Answer | None,
    memory: np.ndarray,
    format: Format,
    page: Browser,
    **extra: Any,
) -> None:
    """Open the page and pass frames with the picture ``memory`` and ``answer`` to the dashboard, until the page shows
    one."""
    dashboard.update(state_at(1))
    page.open(dashboard.url)
    number = 0
    while not page.value("document.getElementById('no-picture').hidden"):
        dashboard.take(served_of(number, answer, extra=extra), frame_of(memory, format, number))
        number += 1


def test_picture_boxes_percentiles_and_log(page: Browser, dashboard: Dashboard) -> None:
    with Feeder(dashboard, steps=250):
        page.open(dashboard.url)
        page.until("document.getElementById('no-picture').hidden")
        # The picture has a gradient of many colors and is not a plain area.
        colors = page.value(
            "(() => { const c = document.getElementById('picture'), s = new Set(); "
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; "
            "for (let k = 0; k < d.length; k += 4) s.add(d[k]); return [c.width, c.height, s.size]; })()"
        )
        assert colors[:2] == [480, 270] and colors[2] > 50
        # The left edge of the box has the color of the box; its middle is transparent.
        edge = page.until(f"""(() => {{ for (let k = -6; k < 14; k++) {{
          const p = {PIXEL % ("overlay", BOX[0], 0.65)}; const q = document.getElementById('overlay').getContext('2d')
            .getImageData(Math.round({BOX[0]} * document.getElementById('overlay').width) + k, Math.round(0.65 *
            document.getElementById('overlay').height), 1, 1).data;
          if (q[0] === 255 && q[1] === 157 && q[2] === 92) return [...q]; }} return null; }})()""")
        assert edge[3] == 255
        assert page.value(PIXEL % ("overlay", (BOX[0] + BOX[2]) / 2, 0.7))[3] == 0
        assert page.value("document.getElementById('answers').innerText").split("\n")[0] == "face"
        assert "face 93 %, person 61 %" in page.value(
            "document.getElementById('picture').getAttribute('aria-label')"
        )
        rows = page.value(TEXT % "stage-rows")
        for name in ("capture", "preprocess", "invoke", "postprocess", "total", "since capture"):
            assert name in rows
        log = page.value(TEXT % "log")
        assert (
            "fps 30 → 29" not in log
            and "fps 29 → 28" in log
            and "power 5.12 W is over its budget of 5 W" in log
        )
        assert "would throttle in 18 min" in page.value(TEXT % "forecast")
        assert (
            page.value(
                "document.querySelectorAll('#tile-power .chart path.first')[0].getAttribute('d').length"
            )
            > 500
        )
        page.until("document.getElementById('status-text').innerText === 'Live'")
        assert page.value("document.title") == "door camera"
        # The figures change from frame to frame.
        captured = page.value(TEXT % "counts")
        page.until(f"document.getElementById('counts').innerText !== {json.dumps(captured)}")
        # The picture also changes, until the pause button is pressed.
        page.value("document.getElementById('pause').click()")
        caption = page.until("document.getElementById('pause').getAttribute('aria-pressed') === 'true' && "
                             "document.getElementById('caption').innerText")  # fmt: skip
        page.value("document.getElementById('overlay-on').click()")
        assert page.value(PIXEL % ("overlay", 0.305, 0.27))[3] == 0
        page.value("document.getElementById('pause').click()")
        page.until(f"document.getElementById('caption').innerText !== {json.dumps(caption)}")


def test_figures_are_those_of_the_state(page: Browser, dashboard: Dashboard) -> None:
    state = state_at(100)
    dashboard.update(state)
    page.open(dashboard.url)
    page.until("document.querySelector('#tile-power .value').innerText !== '–'")
    tiles = {
        k: page.value(f"document.querySelector('#tile-{k}').innerText")
        for k in ("fps", "latency", "power", "heat")
    }
    assert f"{state['fps']:.1f}" in tiles["fps"]
    assert f"{state['stage_ms']['age']['p95']:.2f}" in tiles["latency"] and "limit 50 ms" in tiles["latency"]
    assert f"{state['power']['value']:.2f}" in tiles["power"] and "measured" in tiles["power"]
    assert "INA3221 VDD_IN · limit 5 W" in tiles["power"]
    assert f"{state['temperature']['value']:.1f}" in tiles["heat"] and "limit 70 °C" in tiles["heat"]
    meter = "document.querySelector('#tile-power .meter').getAttribute('aria-valuenow')"
    assert int(page.value(meter)) == round(100 * state["power"]["value"] / 5)
    assert (
        page.value(TEXT % "about")
        == "blazeface · litert-cpu · /dev/video0 · 1280x720 yuyv, 30 fps · input 128x128 float32"
    )
    invoke = page.value("document.querySelector('#stage-rows tr.invoke').innerText").split()
    assert invoke == ["invoke", *(f"{state['stage_ms']['invoke'][p]:.2f}" for p in ("p50", "p95", "p99"))]
    over_budget = state | {"power": {"value": 6.1, "kind": "estimated", "source": "profile laptop"}}
    dashboard.update(over_budget)
    page.until("document.querySelector('#tile-power').classList.contains('over')")
    assert "estimated" in page.value("document.querySelector('#tile-power').innerText")


def test_the_newest_description_is_shown_as_text(page: Browser, dashboard: Dashboard) -> None:
    dashboard.update(state_at(1))
    page.open(dashboard.url)
    assert page.value("document.getElementById('description').hidden")
    dashboard.update(
        state_at(2) | {"description": {"text": "A <b>face</b>.", "number": 7, "latency_ms": 9.5}}
    )
    page.until("document.getElementById('description').innerText === 'Answer 7: A <b>face</b>.'")


def test_unknown_figures_are_shown_as_a_dash(page: Browser, dashboard: Dashboard) -> None:
    dashboard.update({"ready": True, "t_s": 1.0, "notes": ["no camera: a generated pattern <b>"]})
    page.open(dashboard.url)
    page.until("document.getElementById('notes').innerText.includes('pattern <b>')")
    for tile in ("fps", "latency", "power", "heat"):
        assert page.value(f"document.querySelector('#tile-{tile} .value').innerText") == "–"
        assert page.value(f"document.querySelector('#tile-{tile} .meter')?.hidden ?? true")
    assert "no sensor and no estimate" in page.value("document.querySelector('#tile-power .sub').innerText")
    assert page.value(TEXT % "forecast") == "no forecast yet"
    assert page.value("document.getElementById('log').hidden") and "NaN" not in page.value(
        "document.body.innerText"
    )
    assert "undefined" not in page.value("document.body.innerText")


@pytest.mark.slow
@pytest.mark.parametrize("pixels", ["rgb", "grey"])
def test_colors_are_shown_unchanged(pixels: str, page: Browser, dashboard: Dashboard) -> None:
    if pixels == "rgb":
        memory = np.zeros((120, 160, 3), np.uint8)
        memory[:, :80], memory[:, 80:] = (200, 30, 60), (10, 220, 90)
        format, expected = Format("rgb", 160, 120, (480,)), ([200, 30, 60, 255], [10, 220, 90, 255])
    else:
        memory = np.repeat(np.array([[30] * 80 + [210] * 80], np.uint8), 120, 0)
        format, expected = Format("grey", 160, 120, (160,)), ([30, 30, 30, 255], [210, 210, 210, 255])
    also = {"a second model": face().to_json(), "a third": None}
    show(dashboard, classes(), memory, format, page, also=also)
    assert page.value(PIXEL % ("picture", 0.25, 0.5)) == expected[0]
    assert page.value(PIXEL % ("picture", 0.75, 0.5)) == expected[1]
    assert page.value(TEXT % "answers").split() == [
        "sandpiper", "81", "%", "dunlin", "12", "%", "face", "93", "%", "person", "61", "%",
    ]  # fmt: skip


def test_masks_and_points_are_drawn(page: Browser, dashboard: Dashboard) -> None:
    mask = np.zeros((64, 64), np.uint8)
    mask[:, 32:] = 2
    answer = Answer("mask", mask=mask, mask_box=(0.5, 0.0, 1.0, 1.0), points=((0.25, 0.5, 0.9),))
    show(dashboard, answer, np.full((120, 160), 128, np.uint8), Format("grey", 160, 120, (160,)), page)
    pixel_at = """(() => { const c = document.getElementById('overlay'), p = document.getElementById('picture');
      const b = document.getElementById('stage').getBoundingClientRect();
      const f = Math.min(b.width / p.width, b.height / p.height), w = p.width * f, h = p.height * f;
      const x = Math.round((b.width - w) / 2 + %f * w), y = Math.round((b.height - h) / 2 + %f * h);
      return [...c.getContext('2d').getImageData(x, y, 1, 1).data]; })()"""
    # The mask covers the right half of the picture. Its left half has class 0, which is not drawn; class 2 is drawn
    # with an opacity of 130 of 255.
    assert page.value(pixel_at % (0.875, 0.5))[3] == pytest.approx(130, abs=2)
    assert page.value(pixel_at % (0.625, 0.5))[3] == 0 and page.value(pixel_at % (0.1, 0.5))[3] == 0
    assert page.value(pixel_at % (0.25, 0.5)) == [255, 157, 92, 255]
    assert page.value(TEXT % "answers") == "a mask of 2 classes"


def test_the_buttons_choose_the_camera(page: Browser, dashboard: Dashboard) -> None:
    format = Format("grey", 160, 120, (160,))
    pictures = [np.full((120, 160), value, np.uint8) for value in (40, 200)]

    def serve() -> None:
        for camera, memory in enumerate(pictures):
            served = served_of(0, classes())
            served.source = camera
            dashboard.take(served, frame_of(memory, format))

    serve()
    dashboard.update(state_at(1))
    page.open(dashboard.url)
    for camera, value in ((0, 40), (1, 200), (0, 40)):
        page.until("document.querySelectorAll('#cameras button').length === 2")
        page.value(f"document.querySelectorAll('#cameras button')[{camera}].click()")
        while page.value(PIXEL % ("picture", 0.5, 0.5))[0] != value:
            serve()
        pressed = "[...document.querySelectorAll('#cameras button')].map((b) => b.getAttribute('aria-pressed')).join()"
        assert page.value(pressed) == ("true,false" if camera == 0 else "false,true")


@pytest.mark.slow
def test_the_page_reconnects_to_a_restarted_server(browser: Browser) -> None:
    port = free_port()
    first_server = Dashboard(port=port, title="one")
    first_server.start()
    browser.size(1400, 900)
    with Feeder(first_server, steps=20):
        browser.open(first_server.url)
        browser.until("document.getElementById('no-picture').hidden")
    first_server.close()
    browser.until("document.getElementById('status-text').innerText === 'Connection lost'")
    assert browser.value("document.getElementById('lost').hidden") is False
    assert "Connection lost" in browser.value(TEXT % "lost")
    second_server = Dashboard(port=port, title="two")
    second_server.start()
    with contextlib.closing(second_server), Feeder(second_server, steps=30):
        browser.until("document.title === 'two' && document.getElementById('lost').hidden")
        browser.until("document.getElementById('status-text').innerText === 'Live'")
        # The frame numbers of the new run start at 1 again, and the page shows its frames.
        caption = browser.value(TEXT % "caption")
        browser.until(f"document.getElementById('caption').innerText !== {json.dumps(caption)}")
        # The chart contains only the new run.
        label = browser.value("document.querySelector('#tile-fps .mark.scale').innerText")
        assert label.endswith(", last 30 s")
    browser.open("about:blank")
    # The browser reported errors only while no server was running.
    connection_errors = (
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
        "ERR_INCOMPLETE",
    )
    assert [e for e in browser.errors if not any(name in e for name in connection_errors)] == []


def test_the_token_is_removed_from_the_address(page: Browser) -> None:
    with running(Dashboard("0.0.0.0", token=TOKEN), page) as server, Feeder(server, steps=5):
        port = urlsplit(server.url).port
        base = f"http://127.0.0.1:{port}/"
        page.open(base)
        assert "needs its token" in page.value("document.body.innerText")
        page.errors.clear()  # the browser reports the status 401 as an error
        page.open(f"{base}?token={TOKEN}")
        page.until("document.getElementById('no-picture').hidden")
        assert page.value("location.href") == base and page.value("document.cookie") == ""
        page.open(base)
        page.until("document.getElementById('status-text').innerText === 'Live'")


@pytest.mark.parametrize(("width", "dark"), [(360, False), (768, True), (1600, True)])
def test_the_page_fits_and_has_enough_contrast(
    width: int, dark: bool, page: Browser, dashboard: Dashboard
) -> None:
    """The page needs no horizontal scrolling, and each text has the contrast that WCAG AA demands."""
    page.size(width, 800, dark=dark, phone=width < 500)
    long = "a_camera_of_the_upper_floor_" * 6
    percentiles = {"p50": 1.0, "p95": 2.0, "p99": 3.0}
    stages = dict.fromkeys((*STAGES, "total", "age"), percentiles)
    dashboard.update(state_at(200) | {"source": {"name": long}, "notes": [long], "stage_ms": stages})
    page.open(dashboard.url)
    page.until("document.querySelector('#tile-power .value').innerText !== '–'")
    assert page.value("document.documentElement.scrollWidth") <= width
    assert page.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    texts = page.value(_CONTRAST)
    assert len(texts) > 40
    # WCAG AA demands a contrast ratio of at least 4.5.
    low = [(text, round(ratio, 2)) for text, ratio in ((t, _ratio(a, b)) for t, a, b in texts) if ratio < 4.5]
    assert low == []
    page.value("document.getElementById('theme').click()")
    assert page.value("document.documentElement.dataset.theme") == ("light" if dark else "dark")
    assert [t for t, a, b in page.value(_CONTRAST) if _ratio(a, b) < 4.5] == []
    page.value("localStorage.clear()")


def test_roles_and_names_for_screen_readers(page: Browser, dashboard: Dashboard) -> None:
    dashboard.update(state_at(200))
    page.open(dashboard.url)
    page.until("document.querySelector('#tile-power .value').innerText !== '–'")
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    labelled = [
        (n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n.get("ignored")
    ]
    roles = {role for role, _ in labelled}
    assert {"main", "banner", "status", "log", "meter", "table", "image", "button", "heading"} <= roles
    assert all(
        name for role, name in labelled if role in ("button", "image", "meter", "link", "region", "log")
    )
    power = next(name for role, name in labelled if role == "image" and name.startswith("Power"))
    assert "now" in power and "minimum" in power
    # Every button can be reached by keyboard.
    assert page.value("[...document.querySelectorAll('button')].every((b) => b.tabIndex >= 0)")


#: JavaScript for each visible text of the page: [its first 30 characters, its color, the color of its background].
_CONTRAST = """(() => { const out = []; const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) { const e = walk.currentNode.parentElement, text = walk.currentNode.nodeValue.trim();
    if (!text || !e.checkVisibility() || e.closest('.skip, .stage')) continue;
    let ground = null; for (let g = e; g && !ground; g = g.parentElement) {
      const c = getComputedStyle(g).backgroundColor; if (!/, 0\\)$|transparent|^color\\(/.test(c)) ground = c; }
    out.push([text.slice(0, 30), getComputedStyle(e).color, ground]); }
  return out; })()"""


def _ratio(color: str, other_color: str) -> float:
    """Return the contrast ratio of two colors by WCAG 2.1."""

    def luminance(text_color: str) -> float:
        parts: list[Any] = [float(v) / 255 for v in text_color[text_color.index("(") + 1 : -1].split(",")[:3]]
        r, g, b = (v / 12.92 if v <= 0.03928 else math.pow((v + 0.055) / 1.055, 2.4) for v in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    a, b = sorted((luminance(color), luminance(other_color)), reverse=True)
    return (a + 0.05) / (b + 0.05)
