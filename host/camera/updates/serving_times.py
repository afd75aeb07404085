"""Store the times of the newest answers of each model, so that two models can be compared."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import ServedFrame

#: The maximum number of answers per model that are stored.
MAX_ANSWERS = 2000


class ServingTimes:
    """A sink of the loop. It stores the time of each answer, and its age: the time from the capture to the answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, deque[tuple[float, float]]] = {}

    def take(self, served: ServedFrame, frame: Frame | None) -> None:
        if served.by == "model":
            times = served.total_ns / 1e6, served.age_ns / 1e6
            with self._lock:
                known = self._times.get(served.model)
                if known is None:
                    known = self._times[served.model] = deque(maxlen=MAX_ANSWERS)
                known.append(times)

    def forget(self, model: str) -> None:
        """Remove the times of a model."""
        with self._lock:
            self._times.pop(model, None)

    def totals_ms(self, model: str) -> list[float]:
        """Return the times of the newest answers of a model."""
        with self._lock:
            return [total for total, _ in self._times.get(model, ())]

    def ages_ms(self, model: str) -> list[float]:
        """Return the ages of the newest answers of a model."""
        with self._lock:
            return [age for _, age in self._times.get(model, ())]

    def close(self) -> None:
        """Do nothing; the times are kept."""


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile, such as ``share`` = 0.95; None without values."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1] if values else None


def latency_json(times_ms: Sequence[float]) -> dict[str, float | int | None]:
    """Return the number of times and their percentiles."""

    def rounded(share: float) -> float | None:
        value = percentile(times_ms, share)
        return None if value is None else round(value, 4)

    return {"frames": len(times_ms), "p50": rounded(0.5), "p95": rounded(0.95), "p99": rounded(0.99)}
