"""Pages for tests: they are written, opened and read with JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite.converters.tflite.image import load_image
from arenite.host.interface.web import web
from arenite.host.web.package import WebPackage
from tests.browser import Browser
from tests.development_models import shared_model
from tests.firmware.library.processing_cases import KEYWORD_SOUND, save
from tests.host.small_graphs import classifier
from tests.host.web.served import served

WIDTH, HEIGHT = 96, 64
STEPS = [{"do": "resize", "width": 12, "height": 12}, {"do": "normalise", "divide": 127.5, "mean": 1.0}]
PICTURE = {"source": {"kind": "image", "format": "rgb"}, "steps": STEPS}
#: The postprocessing: the two best classes.
BEST = {"steps": [{"do": "top_k", "k": 2}]}
#: The browser's own camera and microphone, which need no permission.
FAKE_DEVICES = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
# JavaScript for parts of the page: its status, its error message, and the number of answers.
STATUS = "document.getElementById('status').textContent"
PROBLEM = "document.getElementById('problem').textContent"
COUNT = (
    "Number([...document.querySelectorAll('#figures dt')]"
    ".find((t) => t.textContent === 'answers')?.nextSibling.textContent ?? 0)"
)


def picture_classifier(folder: Path) -> Path:
    """Write a small classifier of pictures with its pre- and postprocessing and labels, and return its path."""
    network = classifier()
    classes = network.main.tensors[network.main.outputs[0]].shape[-1]
    labels = [f"name {k}" for k in range(classes)]
    metadata = {"preprocessing": PICTURE, "postprocessing": BEST, "labels": labels}
    return save(network, metadata, folder / "net.tflite").path


def collecting_page(folder: Path, source: str) -> WebPackage:
    """Write a page with the classifier for pictures from ``source`` ("files" or "camera"), whose users can save
    samples."""
    model = picture_classifier(folder)
    return web({"net": model}, folder / "page", page=source, page_size=(WIDTH, HEIGHT), page_collects=True)


def picture_page(folder: Path, source: str) -> Path:
    """Write a page with a small classifier for pictures from ``source`` ("files" or "camera"). Return its folder."""
    model = picture_classifier(folder)
    web({"net": model}, folder / "page", page=source, page_size=(WIDTH, HEIGHT))
    return folder / "page"


def sound_page(folder: Path) -> Path:
    """Write a page with a keyword spotter for the microphone. Return its folder."""
    model = load_image(shared_model("kws01_int8")).model
    prepared = save(model, {"preprocessing": KEYWORD_SOUND, "postprocessing": BEST}, folder / "kws.tflite")
    web({"kws": prepared.path}, folder / "page", page="microphone")
    return folder / "page"


@contextmanager
def opened(page: Path, profile: Path, *flags: str, host: str = "127.0.0.1") -> Iterator[Browser]:
    """Open the page at the address ``host``, wait until it is ready, and check at the end that it reported no error."""
    with served(page) as address, Browser(profile, *flags) as browser:
        browser.open(f"{address.replace('127.0.0.1', host)}/index.html")
        browser.until(f"{STATUS} !== 'Loading the model…'")
        yield browser
        assert browser.errors == []
