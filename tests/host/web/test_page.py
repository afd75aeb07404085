"""Pages run their model on files, on a camera and on a microphone in Chromium, without a request to another server."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.quantize.dataset.sample_folders import read_folder
from arenite.converters.tflite.image import load_image
from arenite.errors import UsageError
from arenite.host.bench.reference import Reference
from arenite.host.interface.web import web
from arenite.host.web.serving.serve_page import ServingOptions, open_page
from tests.browser import BROWSER, Browser
from tests.firmware.library.processing_cases import save
from tests.host.small_graphs import classifier
from tests.host.web.page_parts import (
    COUNT,
    FAKE_DEVICES,
    HEIGHT,
    PICTURE,
    PROBLEM,
    STATUS,
    WIDTH,
    collecting_page,
    opened,
    picture_page,
    sound_page,
)

pytest.importorskip("ziglang", reason="needs ziglang")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

# JavaScript for the rows of the answer (label, score).
ANSWERS = (
    "[...document.querySelectorAll('#answers li')].map((li) => [...li.children].map((c) => c.textContent))"
)


def drop(browser: Browser, name: str, content: bytes) -> None:
    """Drop a file on the page."""
    data = base64.b64encode(content).decode()
    browser.value(
        f"""(() => {{
        const bytes = Uint8Array.from(atob("{data}"), (c) => c.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], {json.dumps(name)}));
        document.dispatchEvent(new DragEvent("drop", {{ dataTransfer: transfer, cancelable: true }}));
        }})()"""
    )


def test_a_dropped_picture_gets_the_answer_of_litert(tmp_path: Path) -> None:
    page = picture_page(tmp_path, "files")
    pixels = np.random.default_rng(3).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    with opened(page, tmp_path / "profile") as browser:
        drop(browser, "noise.png", png.getvalue())
        browser.until(f"{STATUS} === 'noise.png'")
        answers = browser.value(ANSWERS)
        drop(browser, "text.txt", b"no picture")
        browser.until(f"{PROBLEM} !== ''")
        assert "text.txt: this browser cannot read the file as a picture" in browser.value(PROBLEM)
    model = load_image(tmp_path / "net.tflite").model
    tensor = model.main.tensors[model.main.inputs[0]]
    filled = preprocess_image(Preprocessing.from_json(PICTURE).bound(tensor), pixels, "rgb")[np.newaxis]
    (output,) = Reference((tmp_path / "net.tflite").read_bytes()).run([filled])
    result = model.main.tensors[model.main.outputs[0]]
    scores = (output.reshape(-1).astype(np.float64) - result.zero_point) * result.scale
    order = np.argsort(-scores, kind="stable")[:2]
    assert answers == [[f"name {k}", f"{100 * scores[k]:.1f} %"] for k in order]


def test_the_scripts_of_the_page_load_at_once(tmp_path: Path) -> None:
    """The page has links for all modules that page.js imports, so a browser does not wait for page.js to see them."""
    page = picture_page(tmp_path, "files")
    names = ".map((address) => address.split('/').pop())"
    with opened(page, tmp_path / "profile") as browser:
        browser.until(f"{STATUS} === 'Ready'")
        linked = browser.value(
            f"[...document.querySelectorAll('link[rel=modulepreload]')].map((l) => l.href){names}"
        )
        loaded = browser.value(f"performance.getEntriesByType('resource').map((e) => e.name){names}")
        assert browser.errors == []
    scripts = {name for name in loaded if name.endswith(".js")} - {"page.js", "offline.js"}
    assert set(linked) == scripts and "model.js" in linked


def test_the_camera_is_served_until_it_is_stopped(tmp_path: Path) -> None:
    page = picture_page(tmp_path, "camera")
    with opened(page, tmp_path / "profile", *FAKE_DEVICES) as browser:
        browser.value("document.getElementById('start').click()")
        browser.until(f"{COUNT} >= 10")
        assert browser.value(STATUS) == "Running" and len(browser.value(ANSWERS)) == 2
        browser.value("document.getElementById('start').click()")
        assert browser.value(STATUS) == "Stopped"
        assert browser.value("document.getElementById('video').srcObject") is None
        addresses = browser.value("performance.getEntriesByType('resource').map((e) => e.name)")
        origin = browser.value("location.origin")
        assert addresses and all(address.startswith(f"{origin}/") for address in addresses)


def test_saved_frames_become_calibration_data(tmp_path: Path) -> None:
    package = collecting_page(tmp_path, "camera")
    assert package.page is not None
    labels = package.page.classes
    data = tmp_path / "data"
    reports: list[str] = []
    server = open_page(package, ServingOptions(collect=data), reports.append)
    with contextlib.closing(server), Browser(tmp_path / "profile", *FAKE_DEVICES) as browser:
        browser.open(server.url)
        browser.until(f"{STATUS} === 'Ready'")
        assert "token" not in browser.value("location.href")
        browser.value("document.getElementById('start').click()")
        browser.until(f"{COUNT} >= 3")
        assert browser.value("document.getElementById('save').disabled")  # there is no consent yet
        browser.value("document.getElementById('consent').click()")
        browser.value("document.getElementById('label').value = 'name 1'")
        for count in (1, 2):
            browser.until("!document.getElementById('save').disabled")
            browser.value("document.getElementById('saved').textContent = ''")
            browser.value("document.getElementById('save').click()")
            browser.until("document.getElementById('saved').textContent.startsWith('Saved as name 1/')")
            assert len(list(data.glob("name 1/*.png"))) == count
        browser.value("document.getElementById('consent').click()")
        assert browser.value("document.getElementById('save').disabled")
        assert browser.errors == [] and reports == []
    model = load_image(tmp_path / "net.tflite").model
    tensor = model.main.tensors[model.main.inputs[0]]
    steps = Preprocessing.from_json(PICTURE).bound(tensor)
    samples = read_folder(
        data,
        [tensor],
        None,
        lambda path: [preprocess_image(steps, np.asarray(Image.open(path)), "rgb").astype(np.float32)[None]],
    )
    assert samples.classes == labels and samples.labels is not None
    assert samples.labels.tolist() == [1, 1] and len(samples.columns[0]) == 2


def test_sound_of_the_microphone_is_answered(tmp_path: Path) -> None:
    with opened(sound_page(tmp_path), tmp_path / "profile", *FAKE_DEVICES) as browser:
        browser.value("document.getElementById('start').click()")
        browser.until(f"{COUNT} >= 6")
        assert (
            browser.value("document.getElementById('level').value") >= 0 and len(browser.value(ANSWERS)) == 2
        )
        browser.value("document.getElementById('start').click()")


def test_the_page_works_without_a_network(tmp_path: Path) -> None:
    page = picture_page(tmp_path, "files")
    with opened(page, tmp_path / "profile") as browser:
        browser.until("navigator.serviceWorker.controller !== null")
        browser.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )
        browser.value("window.isEarlierPage = true")
        browser.call("Page.reload")
        browser.until(f"!window.isEarlierPage && document.readyState === 'complete' && {STATUS} === 'Ready'")


def test_sound_and_pictures_are_not_confused(tmp_path: Path) -> None:
    picture = save(classifier(), {"preprocessing": PICTURE}, tmp_path / "net.tflite").path
    with pytest.raises(UsageError, match="records no preprocessing of sound"):
        web({"net": picture}, tmp_path / "page", page="microphone")
    with pytest.raises(UsageError, match="one model"):
        web({"a": picture, "b": picture}, tmp_path / "page", page="camera")
    assert not (tmp_path / "page").exists()
