"""Measure the jitter of the camera loop: the 99th percentile of the time per frame, divided by the median. It is
measured at full speed and at a fixed frame rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.cases import Case

WARM_UP_FRAMES = 120


@dataclass(frozen=True)
class FrameJitter:
    """The percentiles of the working time per frame in milliseconds, without the wait for the camera. ``fps`` is the
    frame rate, or None at full speed."""

    fps: float | None
    frames: int
    p50: float
    p99: float

    @property
    def ratio(self) -> float:
        return self.p99 / self.p50


def measure_jitter(case: Case, frames: int, fps: float | None) -> FrameJitter:
    times = LoopTimes()
    with AreniteLoop(case) as ours:
        ours.run(WARM_UP_FRAMES if fps is None else WARM_UP_FRAMES // 4, fps, LoopTimes())
        ours.run(frames, fps, times, all_frames=True)
    # At a frame rate, the time between two answers includes the wait for the camera.
    work = times.frame_ns if fps is None else times.all_stages_ns
    p50, p99 = np.percentile(np.array(work), [50, 99]) / 1e6
    return FrameJitter(fps, len(work), float(p50), float(p99))
