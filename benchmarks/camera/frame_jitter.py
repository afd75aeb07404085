"""Measure the jitter of the loop: the 99th percentile of a frame divided by the median, at full speed and at a frame
rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.cases import Case

WARM_UP = 120


@dataclass(frozen=True)
class FrameJitter:
    """Percentiles of the work per frame in milliseconds, without the wait for the camera. ``fps`` is None at full
    speed."""

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
        ours.run(WARM_UP if fps is None else WARM_UP // 4, fps, LoopTimes())
        ours.run(frames, fps, times, all_frames=True)
    # At a frame rate, the time between two answers includes the wait for the camera.
    work = times.frame_ns if fps is None else times.all_stages_ns
    p50, p99 = np.percentile(np.array(work), [50, 99]) / 1e6
    return FrameJitter(fps, len(work), float(p50), float(p99))
