"""The preprocessing of the pages in tests, flags of the browser, and JavaScript that reads parts of a page."""

from __future__ import annotations

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
