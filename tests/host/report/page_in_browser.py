"""Load a page of a report in a real browser."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.browser import BROWSER


def load_in_browser(path: Path, width: int) -> tuple[str, list[str]]:
    """Load the page in a real browser with a window of ``width`` pixels. Return its DOM as HTML and the lines that it
    wrote to the console."""
    assert BROWSER is not None
    process = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={path.parent / 'profile'}",
            f"--window-size={width},900", "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return process.stdout, [line for line in process.stderr.splitlines() if "CONSOLE" in line]


#: A script that writes the width of the page, the width of the window and the height of the first SVG (in pixels) to
#: the page's title, and one message to the console.
MEASURE_SCRIPT = """
<script>
const pageWidth = document.documentElement.scrollWidth, windowWidth = document.documentElement.clientWidth;
document.title = "page " + pageWidth + " of " + windowWidth + ", picture " +
  Math.round(document.querySelector("svg").getBoundingClientRect().height);
console.log("a message");
</script>
"""
