"""The preprocessing of the pages in tests, flags of the browser, and JavaScript that reads parts of a page."""

from __future__ import annotations

from pathlib import Path

from arenite.host.interface.web import web
from arenite.host.web.package import WebPackage
from tests.firmware.library.processing_cases import save
from tests.host.small_graphs import classifier

WIDTH, HEIGHT = 96, 64
STEPS = [{"do": "resize", "width": 12, "height": 12}, {"do": "normalise", "divide": 127.5, "mean": 1.0}]
PICTURE = {"source": {"kind": "image", "format": "rgb"}, "steps": STEPS}
#: The postprocessing: the two best classes.
BEST = {"steps": [{"do": "top_k", "k": 2}]}
#: The browser's own camera and microphone, which need no permission.
FAKE_DEVICES = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
# JavaScript for parts of the page: its status, and the number of answers.
STATUS = "document.getElementById('status').textContent"
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
