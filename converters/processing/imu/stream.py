"""Windows of an endless recording of a motion sensor with NumPy: the definition of what the C code computes.

Window k has the moments from ``k * hop`` on, counted from the first one after a restart. It equals what
``preprocess_imu`` returns for a recording that begins there, byte for byte.
"""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.audio.stream import Window
from arenite.converters.processing.imu.plan import plan_imu
from arenite.converters.processing.imu.reference import window_features
from arenite.converters.processing.specification.preprocessing import Preprocessing


class ImuStream:
    """Computes the windows of an endless recording; positions count moments, not samples."""

    def __init__(self, spec: Preprocessing) -> None:
        """Begin with moment 0."""
        self.spec, self.plan = spec, plan_imu(spec)
        self.restart()

    def restart(self, position: int = 0) -> None:
        """Forget all samples. ``position`` is the index of the next moment."""
        self.position = position
        self._begin = position  # of the next window
        self._held = np.zeros((0, self.plan.axes), np.int16)  # the newest moments

    def feed(self, samples: np.ndarray) -> list[Window]:
        """Take int16 samples [moments, axes], any number of them, and return the windows that they complete."""
        plan = self.plan
        added = samples.astype(np.int16).reshape(-1, plan.axes)
        held = np.concatenate([self._held, added])
        first = self.position - len(self._held)
        self.position += len(added)
        windows = []
        while self._begin + plan.window <= self.position:
            at = self._begin - first
            features = window_features(self.spec, plan, held[at : at + plan.window])
            windows.append(Window(self._begin + plan.window, features))
            self._begin += plan.hop
        self._held = held[min(max(self._begin - first, 0), len(held)) :]
        return windows
