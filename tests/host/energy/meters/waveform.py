"""Generate currents with known energy, which the simulated instruments measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The time in which the current changes from one level to the next.
RAMP_S = 20e-6


@dataclass(frozen=True)
class Waveform:
    """A piecewise linear current over time. ``windows`` has start and end of each inference."""

    time_s: Floats
    current_a: Floats
    windows: tuple[tuple[float, float], ...]
    volts: float
    idle_a: float
    sleep_a: float

    @property
    def seconds(self) -> float:
        return float(self.time_s[-1])

    def at(self, time_s: Any) -> Floats:
        """Return the current at each time, in amperes."""
        return np.interp(time_s, self.time_s, self.current_a)

    def joules(self, start: float, end: float) -> float:
        """Return the exact energy between two times in joules. The trapezoidal rule is exact, because it uses every
        point at which the slope of the current changes."""
        inside = self.time_s[(self.time_s > start) & (self.time_s < end)]
        nodes = np.concatenate([[start], inside, [end]])
        return float(np.trapezoid(self.at(nodes), nodes)) * self.volts

    def per_inference_uj(self) -> float:
        """Return the median energy of an inference in microjoules."""
        return float(np.median([self.joules(*window) for window in self.windows])) * 1e6

    def mark(self, time_s: Any) -> NDArray[np.bool_]:
        """Return the level of the mark pin at each time. It is high during an inference."""
        high = np.zeros(len(time_s), dtype=bool)
        for start, end in self.windows:
            high |= (time_s >= start) & (time_s < end)
        return high


def make(seed: int, inferences: int = 6, volts: float = 3.0, scale: float = 1.0) -> Waveform:
    """Return a waveform of deep sleep, waking up (idle current), inferences of some layers, and sleep again.

    ``scale`` multiplies all times.
    """
    rng = np.random.default_rng(seed)
    sleep, idle = rng.uniform(2e-6, 30e-6), rng.uniform(0.5e-3, 3e-3)
    layers = rng.uniform(8e-3, 60e-3, size=rng.integers(3, 8))
    share = rng.uniform(0.3, 1.0, size=len(layers))
    length = rng.uniform(20e-3, 50e-3) * scale
    times, currents, windows = [0.0], [sleep], []
    time_s = 0.0

    def level(value: float, seconds: float) -> None:
        """Append ``seconds`` with the current ``value``."""
        nonlocal time_s
        times.extend([time_s + RAMP_S / 2, time_s + seconds - RAMP_S / 2])
        currents.extend([value, value])
        time_s += seconds

    level(sleep, 20e-3 * scale)
    for _ in range(inferences):
        level(idle, rng.uniform(3e-3, 9e-3) * scale)
        start = time_s
        for value, part in zip(layers, share / share.sum(), strict=True):
            level(value * rng.uniform(0.99, 1.01), length * part)
        windows.append((start, time_s))
        level(idle, rng.uniform(3e-3, 9e-3) * scale)
        level(sleep, rng.uniform(25e-3, 60e-3) * scale)
    return Waveform(np.array(times), np.array(currents), tuple(windows), volts, idle, sleep)
