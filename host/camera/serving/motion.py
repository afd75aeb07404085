"""Decide whether anything moved since the model last ran. If nothing moved, the last answer is still valid.

The brightness of the frame on a coarse grid of cells (``luma``) is compared with the brightness of the last frame on
which the model ran. Slow changes therefore add up until they count as motion. The threshold follows the present noise
of the camera:

* The noise of one frame is 1.4826 times the median, over all cells, of the absolute change since the previous frame.
  That estimates a standard deviation. Motion is usually in a part of the picture, but noise is everywhere. If motion
  fills most of the picture (the camera turns), the median is too large. The noise level is therefore the lowest noise
  of the last seconds ("minimum statistics", as used for noise in speech: R. Martin, IEEE Trans. Speech and Audio
  Processing 9(5), 2001). The level falls at once and rises late, so that the model runs if there is doubt.
* A change of light is a gain and an offset over the whole picture. Both are estimated and removed before the
  comparison. A large change of light counts as motion, because the model may now recognize more than before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.luma import luma_grid

_SECOND = 1_000_000_000
#: Limits of brightness (0 to 255). A cell that is darker or brighter is nearly black or white and does not follow
#: changes of light.
_DARK, _BRIGHT = 4.0, 251.0


@dataclass(frozen=True, slots=True)
class MotionSettings:
    """Settings of a motion gate.

    Attributes:
        refresh_s: the model runs again after this time even if nothing moved.
        hold_s: the model continues to run for this time after something moved.
        deviations: a cell has changed if its brightness changed by more than this number of standard deviations of the
            noise, and by more than ``min_level``.
        min_level: the smallest change of brightness that counts, on a scale of 0 to 255.
        cells: the smallest number of changed cells that counts as motion.
        light_gain: if the gain of the light differs from 1 by more than this, the change of light counts as motion.
        light_offset: if the offset of the light is above this (on a scale of 0 to 255), the change counts as motion.
        memory_s: the noise level is the lowest noise of a frame within this number of seconds.
    """

    refresh_s: float = 2.0
    hold_s: float = 0.5
    deviations: float = 6.0
    min_level: float = 3.0
    cells: int = 3
    light_gain: float = 0.35
    light_offset: float = 30.0
    memory_s: float = 10.0


class MotionGate:
    """Decides for each frame of one camera whether the model must run.

    ``reason`` says why the model had to run on the last frame: "first", "moved", "light", "hold" or "refresh"; it is
    "still" if the model did not have to run. ``looked`` counts all frames, and ``still`` the frames without a run.
    """

    def __init__(self, settings: MotionSettings | None = None) -> None:
        self.settings = settings or MotionSettings()
        self.reason = "first"
        self.changed = 0  # number of cells of the last frame that changed
        self.noise = NoiseLevel(self.settings.memory_s)
        self.looked = 0
        self.still = 0
        self._format: Format | None = None
        self._before: np.ndarray | None = None  # the grid of the last frame
        self._answered: np.ndarray | None = None  # the grid of the last frame on which the model ran
        self._answered_ns = 0
        self._moved_ns = 0

    def must_run(self, frame: Frame) -> bool:
        """Return whether the model must run on this frame. If it must, the next frames are compared with this frame."""
        self.looked += 1
        now, grid = frame.time_ns, luma_grid(frame)
        self.reason = self._classify(frame, grid)
        self._before = grid
        if self.reason in ("first", "moved", "light"):
            self._moved_ns = now
        elif now - self._moved_ns < self.settings.hold_s * _SECOND:
            self.reason = "hold"
        elif now - self._answered_ns >= self.settings.refresh_s * _SECOND:
            self.reason = "refresh"
        if self.reason == "still":
            self.still += 1
            return False
        self._answered, self._answered_ns = grid, now
        return True

    def reset(self) -> None:
        """Let the model run on the next frame. Call this when the model or its thresholds changed."""
        self._answered = None

    def _classify(self, frame: Frame, grid: np.ndarray) -> str:
        if self._answered is None or self._format != frame.format or self._before is None:
            self._format = frame.format
            return "first"
        level = self.noise.follow(grid, self._before, frame.time_ns)
        limit = max(self.settings.min_level, self.settings.deviations * level)
        self.changed = int(np.count_nonzero(np.abs(grid - self._answered) > limit))
        if self.changed < self.settings.cells:
            return "still"
        gain, offset = estimate_light(self._answered, grid)
        if abs(gain - 1.0) > self.settings.light_gain or abs(offset) > self.settings.light_offset:
            return "light"
        lit = self._answered * gain + offset
        np.clip(lit, 0.0, 255.0, out=lit)
        self.changed = int(np.count_nonzero(np.abs(grid - lit) > limit))
        return "moved" if self.changed >= self.settings.cells else "still"


class NoiseLevel:
    """The noise level: the lowest noise of a frame in the last ``memory_s`` seconds. The noise is the standard
    deviation of a cell's brightness change between two frames."""

    def __init__(self, memory_s: float) -> None:
        self._half_ns = memory_s * _SECOND / 2
        # The lowest noise of a frame in the present half of ``memory_s``, and in the previous half.
        self._now = self._last = float("inf")
        self._since_ns = 0

    def follow(self, grid: np.ndarray, before: np.ndarray, time_ns: int) -> float:
        """Add the frame with the brightness ``grid``, and return the noise level. ``before`` is the previous frame's
        grid."""
        change = np.abs(grid - before).ravel()
        middle = len(change) // 2
        frame_noise = 1.4826 * float(np.partition(change, middle)[middle])
        if time_ns - self._since_ns >= self._half_ns:
            self._last, self._now, self._since_ns = self._now, frame_noise, time_ns
        self._now = min(self._now, frame_noise)
        return min(self._now, self._last)

    @property
    def level(self) -> float:
        return min(self._now, self._last)


def estimate_light(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Return the gain and the offset of the light, which convert the grid ``before`` to the grid ``after``. Return (1,
    0) if fewer than an eighth of the cells, or fewer than 16, are usable.

    The gain is the median slope of pairs of cells (H. Theil's incomplete method, 1950). It is then refined by least
    squares over the cells that agree with it, so that moving objects do not count as light.
    """
    usable = (before > _DARK) & (before < _BRIGHT) & (after > _DARK) & (after < _BRIGHT)
    x, y = before[usable], after[usable]
    half = len(x) // 2
    if len(x) < before.size // 8 or half < 8:
        return 1.0, 0.0
    order = np.argsort(x)
    low, high = order[:half], order[-half:]
    distance = x[high] - x[low]
    # Leave out pairs of cells with nearly the same brightness, because gain and offset cannot be told apart with them.
    distinct = distance > 4.0
    gain = (
        float(np.median((y[high] - y[low])[distinct] / distance[distinct]))
        if 2 * distinct.sum() > half
        else 1.0
    )
    residual = y - gain * x
    offset = float(np.median(residual))
    residual = np.abs(residual - offset)
    best = residual <= 2.0 * float(np.median(residual)) + 1.0
    x, y = x[best], y[best]
    deviation = x - x.mean()
    spread = float(deviation @ deviation)
    if spread > 4.0 * len(x):  # a smaller variance of the brightness would give no exact gain
        gain = float(deviation @ (y - y.mean())) / spread
    return gain, float(y.mean()) - gain * float(x.mean())
