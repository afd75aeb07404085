"""Measure the page of ``arenite demo --web`` in headless Chromium with a video as its camera: frames per second, time
per answer, and memory after many frames.

    python -m benchmarks.web.camera_page [--frames 10000] [--fps 30]

The video has 60 frames of photographs. Figures are valid only for the computer and the load that the last line names.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from arenite.host.camera.sources.photos import photographs
from arenite.host.camera.sources.pixel_encoding import resize_bilinear
from arenite.host.interface.web import web
from arenite.host.web.face_demo import face_detector
from arenite.host.web.serving.serve_page import ServingOptions, open_page
from tests.browser import BROWSER, Browser
from tests.host.camera.sources.recordings import y4m_of_pictures

WIDTH, HEIGHT = 640, 480
VIDEO_FRAMES = 60
#: The page's figures, by name.
_FIGURES = (
    "Object.fromEntries([...document.querySelectorAll('#figures div')]"
    ".map((d) => [d.children[0].textContent, d.children[1].textContent]))"
)


def write_video(path: Path, fps: int) -> None:
    """Write a video: windows that move over two photographs."""
    wide = [resize_bilinear(photo, WIDTH + 4 * VIDEO_FRAMES, HEIGHT) for photo in photographs()[:2]]
    windows = [
        np.ascontiguousarray(photo[:, 8 * k : 8 * k + WIDTH])
        for photo in wide
        for k in range(VIDEO_FRAMES // 2)
    ]
    path.write_bytes(y4m_of_pictures(windows, f"{fps}:1"))


def heap_bytes(browser: Browser) -> int:
    """Return the bytes of JavaScript objects that are in use, after garbage was collected. The memory of the
    WebAssembly module is not part of it; its size is fixed."""
    browser.call("HeapProfiler.collectGarbage")
    used: int = browser.call("Runtime.getHeapUsage")["usedSize"]
    return used


def process_bytes(browser: Browser) -> int:
    """Return the bytes of memory that belong to one of the browser's processes alone, for all of them together. The
    frames and the module's memory are part of it."""
    total = 0
    for folder in Path("/proc").iterdir():
        # A process may end meanwhile. Each process of the browser is in the group of the first one.
        with contextlib.suppress(OSError, ValueError):
            if os.getpgid(int(folder.name)) == browser.group:
                text = (folder / "status").read_text()
                total += sum(int(line.split()[1]) << 10 for line in text.splitlines() if "RssAnon:" in line)
    return total


def answers(figures: dict[str, Any]) -> int:
    return int(figures.get("answers", 0))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.web.camera_page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--frames", type=int, default=10_000, help="number of frames to answer (default: 10000)"
    )
    parser.add_argument("--fps", type=int, default=30, help="frames per second of the video (default: 30)")
    options = parser.parse_args()
    if BROWSER is None:
        sys.exit("This benchmark needs Chromium.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        package = web({"face": face_detector()}, folder / "page", page="camera")
        write_video(folder / "video.y4m", options.fps)
        server = open_page(package, ServingOptions(), print)
        flags = (
            "--use-fake-ui-for-media-stream",
            f"--use-fake-device-for-media-stream=fps={options.fps}",
            f"--use-file-for-fake-video-capture={folder / 'video.y4m'}",
        )
        with contextlib.closing(server), Browser(folder / "profile", *flags) as browser:
            browser.open(server.url)
            browser.until("document.getElementById('status').textContent === 'Ready'")
            browser.value("document.getElementById('start').click()")
            print(
                "| frames | seconds | frames/s | p50 | p99 | JavaScript heap B | browser's own memory B |\n"
                "|-:|-:|-:|-:|-:|-:|-:|",
                flush=True,
            )
            begin, first, reports = time.monotonic(), 0, 10
            for k in range(1, reports + 1):
                while answers(figures := browser.value(_FIGURES)) < first + options.frames * k // reports:
                    time.sleep(0.2)
                seconds, count = time.monotonic() - begin, answers(figures)
                if k == 1:  # the first tenth warms the browser up
                    begin, first = time.monotonic(), count
                    continue
                rate = (count - first) / seconds
                row = (f"{count:,}", f"{seconds:.0f}", f"{rate:.2f}", figures["p50"], figures["p99"])
                print(
                    f"| {' | '.join(row)} | {heap_bytes(browser):,} | {process_bytes(browser):,} |",
                    flush=True,
                )
            errors = browser.errors
    print(f"Errors in the console: {len(errors)}. Load of the computer at the end: {os.getloadavg()[0]:.1f}.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
