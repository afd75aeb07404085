"""Opens a page of a report in a real browser."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.browser import BROWSER


def browse(path: Path, width: int) -> tuple[str, list[str]]:
    """Load the page in a real browser; return its DOM and the messages of the console."""
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


MEASURE = """
<script>
const wide = document.documentElement.scrollWidth, seen = document.documentElement.clientWidth;
document.title = "page " + wide + " of " + seen + ", picture " +
  Math.round(document.querySelector("svg").getBoundingClientRect().height);
console.log("a message");
</script>
"""
