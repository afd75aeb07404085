"""Make the pictures of the README from real runs: ``python -m tests.docs.pictures [report] [dashboard]``.

One picture shows the report of ``arenite demo`` on an emulated board, the other shows the dashboard of ``arenite
camera`` on photographs. Headless Chromium takes the screenshots. They are written to docs/images with a palette of 256
colors and less than 200 kB each.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.browser import Browser

IMAGES = Path(__file__).resolve().parents[2] / "docs/images"
#: Maximum size of a picture in the README, in bytes.
MAX_BYTES = 200_000
_COMMAND = [sys.executable, "-m", "arenite.host.cli.main"]
#: Seconds that the camera loop runs before the screenshot, so that the charts have data.
_RUN_S = 40


def report(folder: Path) -> None:
    """Make docs/images/report.png. ``folder`` is for temporary files."""
    page = folder / "demo.html"
    subprocess.run([*_COMMAND, "demo", "--report", str(page)], check=True, stdout=subprocess.DEVNULL)
    with Browser(folder / "profile") as browser:
        browser.size(1100, 1375)
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(page.as_uri())
        time.sleep(1)
        browser.picture(folder / "report.png", full=False)
    _write(folder / "report.png", IMAGES / "report.png")


def dashboard(folder: Path) -> None:
    """Make docs/images/dashboard.png. ``folder`` is for temporary files."""
    command = [
        *_COMMAND,
        "camera",
        "--source",
        "photos",
        "--model",
        "blazeface",
        "--dashboard",
        "127.0.0.1:0",
    ]
    command += ["--budget", "power=45W,latency=100ms", "--duration", str(_RUN_S + 20)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stderr is not None
            url = next(match[0] for line in child.stderr if (match := re.search(r"http://\S+", line)))
            with Browser(folder / "profile") as browser:
                browser.size(1320, 900)
                browser.open(url)
                time.sleep(_RUN_S)
                # Wait for a photograph with a confident detection, because some photographs show no face. Then press
                # the page's pause button, because the next photograph follows soon.
                confident = r"/face\s+([89]\d|100) %/.test(document.getElementById('answers').innerText)"
                browser.until(f"{confident} && (document.getElementById('pause').click(), true)")
                browser.picture(folder / "dashboard.png")
        finally:
            child.terminate()
    _write(folder / "dashboard.png", IMAGES / "dashboard.png")


def _write(source: Path, target: Path) -> None:
    """Write the screenshot with a palette of 256 colors. Exit with an error if the file is too large."""
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.open(source).convert("RGB").quantize(256).save(target, optimize=True)
    size = target.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(
            f"{target} has {size:,} bytes, but at most {MAX_BYTES:,} are allowed. Make the window smaller."
        )
    print(f"{target}: {size:,} bytes")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("report", "dashboard"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
            {"report": report, "dashboard": dashboard}[name](Path(temporary))
