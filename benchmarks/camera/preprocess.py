"""Measure the preprocessing alone, by format and model: ``python -m benchmarks.camera.preprocess``.

Frames of 1280x720 are in a ring of ``RING`` buffers, which is more than a core's own caches hold, as with a camera.
``FramePreprocessor`` and plain OpenCV code (cvtColor, resize, normalization, a copy into the tensor) use one thread
each and take turns of ``FRAMES_PER_TURN`` frames, so that other load affects both alike. The figures are medians in
microseconds. ``--json`` prints one object on standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.processing.specification.pixel_formats import planes_of
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.runtimes.base import TensorMemory
from arenite.models.picture_models import picture_models

WIDTH, HEIGHT, RING = 1280, 720, 6
FRAMES_PER_TURN = 20
FORMATS = ("yuyv", "uyvy", "nv12", "nv21", "yu12", "rgb", "bgr", "rgba", "grey", "rgb565")
#: For each model: its name in camera.toml, and the shape, type, scale and zero point of its input.
MODELS: dict[str, tuple[str, tuple[int, ...], str, float, int]] = {
    "VWW int8 96²": ("vww01_int8", (1, 96, 96, 3), "int8", 1 / 255, -128),
    "BlazeFace f32 128²": ("face_detection_short_range", (1, 128, 128, 3), "float32", 0.0, 0),
    "EfficientNet-lite0 uint8 224²": ("efficientnet_lite0", (1, 224, 224, 3), "uint8", 1 / 128, 127),
}
#: OpenCV's conversion to RGB for each format, without the beginning "COLOR_" of its name.
_CODES = {
    "yuyv": "YUV2RGB_YUYV",
    "uyvy": "YUV2RGB_UYVY",
    "nv12": "YUV2RGB_NV12",
    "nv21": "YUV2RGB_NV21",
    "yu12": "YUV2RGB_I420",
    "bgr": "BGR2RGB",
    "rgba": "RGBA2RGB",
    "grey": "GRAY2RGB",
    "rgb565": "BGR5652RGB",  # OpenCV names the colors from the low bits to the high bits
}


@dataclass
class Row:
    model: str
    format: str
    code: str
    ours_us: float
    opencv_us: float
    same: bool  # values differ by at most one step (rgb565: 8 steps, because OpenCV sets the low bits to 0)

    def to_json(self) -> dict[str, Any]:
        return self.__dict__ | {"faster": round(self.opencv_us / self.ours_us, 2)}


def spec_of(record: str) -> Preprocessing:
    return Preprocessing.from_json(next(m.preprocessing for m in picture_models() if m.name == record))


def ring(pixels: str) -> list[Frame]:
    """Return ``RING`` frames with random pixels in the format ``pixels``, each in its own memory."""
    rng = np.random.default_rng(1)
    planes = planes_of(pixels, WIDTH, HEIGHT)
    format = Format(pixels, WIDTH, HEIGHT, tuple(row for row, _ in planes))
    frames = []
    for _ in range(RING):
        data = rng.integers(16, 236, sum(row * rows for row, rows in planes), np.uint8)
        frames.append(Frame(format, (data.ctypes.data,), data, 0, 0))
    return frames


def opencv(model: str, pixels: str, out: np.ndarray) -> Callable[[Frame], None]:
    """Return a function that preprocesses a frame in the format ``pixels`` for ``model`` with plain OpenCV code, and
    writes the input tensor to ``out``."""
    import cv2

    cv2.setNumThreads(1)
    code = getattr(cv2, f"COLOR_{_CODES[pixels]}") if pixels in _CODES else None
    pixel = planes_of(pixels, WIDTH, HEIGHT)[0][0] // WIDTH
    shape = (HEIGHT, WIDTH, pixel) if pixel > 1 else (-1, WIDTH)
    target = out[0]

    def run(frame: Frame) -> None:
        picture = np.asarray(frame.owner).reshape(shape)
        if code is not None:
            picture = cv2.cvtColor(picture, code)
        if model.startswith("Blaze"):
            small = cv2.resize(picture, (128, 72))
            boxed = cv2.copyMakeBorder(small, 28, 28, 0, 0, cv2.BORDER_CONSTANT)
            target[:] = boxed.astype(np.float32) / 127.5 - 1.0
        elif model.startswith("VWW"):
            target[:] = (cv2.resize(picture, (96, 96)).astype(np.int16) - 128).astype(np.int8)
        else:
            target[:] = cv2.resize(picture, (224, 224))

    return run


def measure(model: str, pixels: str, frames: int) -> Row:
    record, shape, dtype, scale, zero = MODELS[model]
    ours, theirs = np.zeros(shape, dtype), np.zeros(shape, dtype)
    memory = TensorMemory("input", shape, dtype, ours.ctypes.data, ours.nbytes, scale, zero)
    buffers = ring(pixels)
    feed = FramePreprocessor(spec_of(record), buffers[0].format, memory)
    contenders = (feed.run, opencv(model, pixels, theirs))
    times: tuple[list[int], list[int]] = ([], [])
    same = True
    for first in range(0, frames + FRAMES_PER_TURN, FRAMES_PER_TURN):
        for run, elapsed in zip(contenders, times, strict=True):
            for number in range(first, first + FRAMES_PER_TURN):
                frame = buffers[number % RING]
                start = time.perf_counter_ns()
                run(frame)
                elapsed.append(time.perf_counter_ns() - start)
        step = (1 / 127.5 if dtype == "float32" else 1) * (8 if pixels == "rgb565" else 1)
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()
        same = same and bool(difference <= step * 1.001)
    ours_us, theirs_us = (statistics.median(elapsed[FRAMES_PER_TURN:]) / 1e3 for elapsed in times)
    return Row(model, pixels, feed.code, round(ours_us, 1), round(theirs_us, 1), same)


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with one line per format. A cell has Arenite's time for a model, and OpenCV's time in
    brackets."""
    lines = ["| µs | " + " | ".join(MODELS) + " |", "|-|" + "-:|" * len(MODELS)]
    for pixels in dict.fromkeys(row.format for row in rows):
        cells = [row for row in rows if row.format == pixels]
        lines.append(
            f"| {pixels} | " + " | ".join(f"{r.ours_us:.0f} ({r.opencv_us:,.0f})" for r in cells) + " |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.camera.preprocess", description=__doc__)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    rows = [measure(model, pixels, options.frames) for pixels in FORMATS for model in MODELS]
    if options.json:
        print(json.dumps({"frames": options.frames, "rows": [row.to_json() for row in rows]}))
    else:
        print(f"{table(rows)}\n\nOurs ({rows[0].code}), OpenCV's in brackets; {options.frames} frames each.")
    wrong = [row for row in rows if not row.same]
    for row in wrong:
        print(f"{row.model}, {row.format}: the results differ.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
