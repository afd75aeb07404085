"""A simulated run for tests of the dashboard: frames in camera formats, with answers, times and a governor log that
change from frame to frame."""

from __future__ import annotations

import itertools
import math
import threading
import time
from typing import Any

import numpy as np

from arenite.host.camera.answers.answer import Answer, Box, Class
from arenite.host.camera.dashboard.server import Dashboard
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame

#: Nanoseconds in a millisecond.
MS = 1_000_000
#: Left, top, right and bottom of the face in the answers, as fractions of the picture.
BOX = (0.30, 0.25, 0.55, 0.75)


def yuyv(width: int, height: int, number: int = 0) -> np.ndarray:
    """Return yuyv picture ``number``, uint8 [height, 2 * width]: a bright disc on a gradient of colors. The disc's
    place depends on ``number``."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    angle = number / 12
    cx, cy = width * (0.5 + 0.25 * math.cos(angle)), height * (0.5 + 0.2 * math.sin(angle))
    disc = (x - cx) ** 2 + (y - cy) ** 2 < (height / 5) ** 2
    luma = np.where(disc, 215, 60 + 90 * y / height)
    out = np.empty((height, width * 2), np.uint8)
    out[:, 0::2] = luma
    out[:, 1::4] = np.where(disc, 90, 128 + 50 * x / width)[:, ::2]
    out[:, 3::4] = np.where(disc, 170, 140 - 30 * y / height)[:, ::2]
    return out


def frame_of(memory: np.ndarray, format: Format, number: int = 0, released: list[int] | None = None) -> Frame:
    """Return a frame whose planes are in ``memory``. When its last user releases the frame, its number is
    appended to ``released``."""
    release = (lambda: released.append(number)) if released is not None else None
    planes: tuple[int, ...] = (memory.ctypes.data,)
    if format.pixels == "nv12":
        planes = (memory.ctypes.data, memory.ctypes.data + format.strides[0] * format.height)
    return Frame(format, planes, memory, number, time.monotonic_ns(), release)


def served_of(
    number: int, answer: Answer | None = None, *, began_ns: int | None = None, **more: Any
) -> ServedFrame:
    """Return a served frame whose stages (capture, preprocess, invoke, postprocess) take about 0.12, 0.31, 1.08 and
    0.05 ms. The first stage begins at ``began_ns``, which is now by default."""
    stage_start_ns = time.monotonic_ns() if began_ns is None else began_ns
    spans = {}
    wave = 1 + 0.25 * math.sin(number / 9)
    for stage, stage_ms in (
        ("capture", 0.12),
        ("preprocess", 0.31 * wave),
        ("invoke", 1.08 * wave),
        ("postprocess", 0.05),
    ):
        stage_end_ns = stage_start_ns + round(stage_ms * MS)
        spans[stage] = (stage_start_ns, stage_end_ns)
        stage_start_ns = stage_end_ns
    capture_ns = spans["capture"][0]
    return ServedFrame(
        number,
        0,
        number,
        capture_ns - 4 * MS,
        spans,
        answer,
        model="blazeface",
        width=1280,
        height=720,
        **more,
    )


def face(number: int = 0) -> Answer:
    """Return an answer with the boxes of a face and a person. The place of the face depends on ``number``."""
    shift = 0.02 * math.sin(number / 10)
    left, top, right, bottom = BOX
    points = tuple((left + shift + 0.05 * k, 0.45 + 0.02 * (k % 2)) for k in range(4))
    boxes = (
        Box(left + shift, top, right + shift, bottom, 0.93, 0, "face", points),
        Box(0.68, 0.3, 0.8, 0.52, 0.61, 1, "person"),
    )
    return Answer("boxes", boxes=boxes)


def classes() -> Answer:
    """Return an answer with the classes of two birds."""
    return Answer("classes", classes=(Class(2, "sandpiper", 0.81), Class(7, "dunlin", 0.12)))


def state_at(step: int, **more: Any) -> dict[str, Any]:
    """Return the camera loop's state ``step`` half seconds after the start of the run. ``more`` replaces parts of
    it. The governor lowers the frame rate every 40 steps up to step 200, and ``log`` has its last four actions."""
    heat = 44 + 24 * (1 - math.exp(-step / 180)) + 0.3 * math.sin(step / 5)
    watts = 4.4 + 0.5 * math.sin(step / 30) + (0.5 if step < 200 else 0)
    wave = 1 + 0.1 * math.sin(step / 11)

    def percentiles(ms: float) -> dict[str, float]:
        """Return the percentiles of a time that is about ``ms`` milliseconds."""
        return {"p50": ms * wave, "p95": ms * wave * 1.3, "p99": ms * wave * (1.6 + 0.2 * math.sin(step))}

    log = [
        {"t_s": 0.5 * k, "lever": "fps", "from": 30 - k // 40, "to": 29 - k // 40,
         "reason": f"power {5.2 - k / 500:.2f} W is over its budget of 5 W"}
        for k in range(40, min(step, 240), 40)
    ]  # fmt: skip
    return {
        "ready": True,
        "t_s": step / 2,
        "fps": 30 - len(log) + 0.3 * math.sin(step / 3),
        "stage_ms": {"capture": percentiles(0.12), "preprocess": percentiles(0.31), "invoke": percentiles(1.08),
                     "postprocess": percentiles(0.05), "total": percentiles(1.56), "age": percentiles(5.6)},
        "frames": {"captured": 15 * step, "served": 15 * step - step // 8, "dropped": step // 8, "late": step // 90,
                   "cached": 12, "errors": 0, "reconnects": 0},
        "power": {"value": watts, "kind": "measured", "source": "INA3221 VDD_IN", "rails": {"VDD_CPU": 1.2}},
        "energy_j": 2.3 * step,
        "temperature": {"value": heat, "source": "CPU-therm", "trip": 97.0, "zones": {"GPU-therm": heat - 2}},
        "budget": {"power_w": 5.0, "temperature_c": 70.0, "latency_ms": 50.0},
        "governor": {
            "levels": [
                {"lever": "fps", "level": min(len(log), 3), "levels": 5, "label": f"{30 - len(log)} fps"},
                {"lever": "resolution", "level": 0, "levels": 3, "label": "128x128"},
                {"lever": "model", "level": 0, "levels": 2, "label": "float32"},
            ],
            "forecast": "70 °C in 18.4 min" if step >= 60 else "70 °C is not reached; the temperature settles at 68 °C",
            "minutes": None if step < 60 else 18.4,
            "settles_c": 68.2,
            "target_w": 4.9,
            "log": log[-4:],
            "actions": len(log),
            "moves": {"fps": len(log)},
        },
        "model": {"name": "blazeface", "sha256": "00ff", "input": "128x128 float32"},
        "runtime": {"name": "litert-cpu", "threads": 1},
        "source": {"name": "/dev/video0", "format": "1280x720 yuyv, 30 fps", "live": True},
        "bytes_written": 200_000 * step,
    } | more  # fmt: skip


class Feeder:
    """A thread that passes 60 frames per second to a dashboard, as the camera loop does. ``handed`` counts these
    frames. The dashboard gets the first ``steps`` states of the run before the thread starts."""

    def __init__(self, dashboard: Dashboard, steps: int = 0) -> None:
        self.dashboard = dashboard
        self.format = Format("yuyv", 1280, 720, (2560,))
        self.pictures = [yuyv(1280, 720, k) for k in range(4)]
        self.released: list[int] = []
        self.handed = 0
        self._step = 0
        for _ in range(steps):
            self._update()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Feeder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _update(self) -> None:
        self.dashboard.update(state_at(self._step))
        self._step += 1

    def _run(self) -> None:
        for number in itertools.count():
            if self._stop.wait(1 / 60):
                return
            frame = frame_of(self.pictures[number % 4], self.format, number, self.released)
            self.handed += 1
            self.dashboard.take(served_of(number, face(number)), frame)
            frame.release()
            if number % 30 == 0:
                self._update()
