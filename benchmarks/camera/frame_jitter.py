"""Jitter of the loop: the 99th percentile of a frame against the median, flat out and at a camera's rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.camera.arenite_loop import AreniteLoop, LoopTimes
from benchmarks.camera.cases import Case

WARM_UP = 120


@dataclass(frozen=True)
class FrameJitter:
    """Milliseconds of work per frame; the wait for the camera is not in it. ``fps``: None for flat out."""

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
    # PacedSource, the time between two answers is the camera's.
    work = times.whole if fps is None else times.totals
    p50, p99 = np.percentile(np.array(work), [50, 99]) / 1e6
    return FrameJitter(fps, len(work), float(p50), float(p99))
