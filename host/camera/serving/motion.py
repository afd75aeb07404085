"""Whether anything moved since the model last looked: if not, its last answer still holds.

The picture's brightness on a coarse grid (``luma``) is compared with that of the frame which the model answered last,
so slow changes add up until they count. What counts is judged by the noise that the camera shows now:

* The noise of one moment is 1.4826 times the median of the cells' absolute change from one frame to the next. Motion
  fills a part of the picture, noise all of it. Where motion fills most of it (the camera turns), the median is too
  large; so the noise level is the least of the last seconds ("minimum statistics", as noise is followed in speech:
  R. Martin, IEEE Trans. Speech and Audio Processing 9(5), 2001). It falls at once and rises late: mistakes are on the
  side of running the model.
* A change of light is one of gain and offset over the whole picture. It is fitted and taken off. A large one counts as
  motion: the model may see what it did not before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.luma import luma_grid

_SECOND = 1_000_000_000
#: A cell that is nearly black or white does not follow the light.
_DARK, _BRIGHT = 4.0, 251.0


@dataclass(frozen=True, slots=True)
class MotionSettings:
    """``refresh_s``: at the latest after this time the model runs again, whatever moved. ``hold_s``: it goes on running
    for this time after something moved. ``deviations``: a cell counts as changed beyond so many standard deviations of
    the noise, and beyond ``min_level`` of 255; ``cells``: so many changed cells are motion. ``light_gain`` and
    ``light_offset``: larger changes of light count. ``memory_s``: over which the noise level is the least one."""

    refresh_s: float = 2.0
    hold_s: float = 0.5
    deviations: float = 6.0
    min_level: float = 3.0
    cells: int = 3
    light_gain: float = 0.35
    light_offset: float = 30.0
    memory_s: float = 10.0


class MotionGate:
    """Of one camera. ``reason`` says why the last frame had to be looked at, or that it had not: first, moved, light,
    hold, refresh, still."""

    def __init__(self, settings: MotionSettings | None = None) -> None:
        self.settings = settings or MotionSettings()
        self.reason = "first"
        self.changed = 0  # cells of the last frame
        self.noise = NoiseLevel(self.settings.memory_s)
        self.looked = 0
        self.still = 0
        self._format: Format | None = None
        self._before: np.ndarray | None = None  # the last frame
        self._answered: np.ndarray | None = None  # the last one that the model was given
        self._answered_ns = 0
        self._moved_ns = 0

    def moved(self, frame: Frame) -> bool:
        """Whether the model must look at this frame; it is then taken as looked at."""
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
        """The last answer does not hold any more: another model, other thresholds."""
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
        gain, offset = light(self._answered, grid)
        if abs(gain - 1.0) > self.settings.light_gain or abs(offset) > self.settings.light_offset:
            return "light"
        lit = self._answered * gain + offset
        np.clip(lit, 0.0, 255.0, out=lit)
        self.changed = int(np.count_nonzero(np.abs(grid - lit) > limit))
        return "moved" if self.changed >= self.settings.cells else "still"


class NoiseLevel:
    """Standard deviation of a cell's change from one frame to the next: the least of the last ``memory_s``."""

    def __init__(self, memory_s: float) -> None:
        self._half_ns = memory_s * _SECOND / 2
        self._now = self._last = float("inf")  # of this half of the memory and the one before it
        self._since_ns = 0

    def follow(self, grid: np.ndarray, before: np.ndarray, time_ns: int) -> float:
        """Takes one more frame; returns the level."""
        change = np.abs(grid - before).ravel()
        middle = len(change) // 2
        moment = 1.4826 * float(np.partition(change, middle)[middle])
        if time_ns - self._since_ns >= self._half_ns:
            self._last, self._now, self._since_ns = self._now, moment, time_ns
        self._now = min(self._now, moment)
        return min(self._now, self._last)

    @property
    def level(self) -> float:
        return min(self._now, self._last)


def light(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Gain and offset that make ``after`` of ``before``; (1, 0) where too little of the picture can tell.

    The slope is the median of those of pairs (H. Theil's incomplete method, 1950), then least squares over the cells
    that fit it: what moved does not count as light.
    """
    usable = (before > _DARK) & (before < _BRIGHT) & (after > _DARK) & (after < _BRIGHT)
    x, y = before[usable], after[usable]
    half = len(x) // 2
    if len(x) < before.size // 8 or half < 8:
        return 1.0, 0.0
    order = np.argsort(x)
    low, high = order[:half], order[-half:]
    run = x[high] - x[low]
    # Where brightness hardly differs, a picture does not tell a gain from an offset.
    telling = run > 4.0
    gain = float(np.median((y[high] - y[low])[telling] / run[telling])) if 2 * telling.sum() > half else 1.0
    rest = y - gain * x
    offset = float(np.median(rest))
    rest = np.abs(rest - offset)
    best = rest <= 2.0 * float(np.median(rest)) + 1.0
    x, y = x[best], y[best]
    apart = x - x.mean()
    spread = float(apart @ apart)
    if spread > 4.0 * len(x):
        gain = float(apart @ (y - y.mean())) / spread
    return gain, float(y.mean()) - gain * float(x.mean())
