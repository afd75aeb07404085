"""Write a screenshot of the dashboard for the documentation, taken from a real run:

python -m tests.host.camera.dashboard.documentation_picture docs/camera-dashboard.webp
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

#: The time between the start of the page and the screenshot, in seconds.
_RUN_S = 45


def main(target: Path, dark: bool = False) -> None:
    """Write the screenshot to ``target``, in the dark theme if ``dark`` is true."""
    command = [
        sys.executable,
        "-m",
        "arenite.host.cli.main",
        "camera",
        "--source",
        "photos",
        "--dashboard",
        "127.0.0.1:0",
    ]
    command += ["--budget", "power=45W,latency=400ms", "--duration", str(_RUN_S + 60)]
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            assert child.stderr is not None
            url = next(match[0] for line in child.stderr if (match := re.search(r"http://\S+", line)))
            with Browser(Path(folder) / "profile") as page:
                page.size(1320, 900, dark=dark)
                page.open(url)
                time.sleep(_RUN_S)
                shows_face = "document.getElementById('answers').innerText.includes('face')"
                page.until(shows_face)
                page.picture(Path(folder) / "page.png")
                while not page.value(shows_face):  # the next photograph came before the picture was taken
                    page.until(shows_face)
                    page.picture(Path(folder) / "page.png")
                Image.open(Path(folder) / "page.png").convert("RGB").save(target, quality=86, method=6)
        finally:
            child.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), "dark" in sys.argv[2:])
