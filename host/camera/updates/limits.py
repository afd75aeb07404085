"""The limits that a new model must keep. A limit that the present model breaks too is replaced by its own figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.host.camera.updates.serving_times import percentile

#: Numbers of compared frames and of answers with which a model is judged before the time is over.
MIN_COMPARED, MIN_ANSWERS = 10, 50


@dataclass(frozen=True)
class UpdateLimits:
    """``latency_ms`` is the budget's latency, else one frame interval of a live source, else None."""

    latency_ms: float | None
    min_agreement: float

    def broken_by_times(self, new_ms: Sequence[float], old_ms: Sequence[float]) -> str | None:
        """Return a sentence if the model is too slow in the shadow run. ``new_ms`` and ``old_ms`` are the times of
        frames with the new and the present model. The new one runs with low priority, so its median counts."""
        median, limit = percentile(new_ms, 0.5), self._limit_ms(old_ms)
        if median is None or limit is None or median <= limit:
            return None
        return (
            f"it takes {median:.2f} ms per frame (median of the shadow run), and the limit is {limit:.2f} ms"
        )

    def broken_by_ages(self, new_ms: Sequence[float], old_ms: Sequence[float]) -> str | None:
        """Return a sentence if answers of the new model come too late: the 95th percentile of the time from the
        capture to the answer."""
        p95, limit = percentile(new_ms, 0.95), self._limit_ms(old_ms)
        if p95 is None or limit is None or p95 <= limit:
            return None
        return f"its answers came {p95:.2f} ms after the capture (95th percentile), and the limit is {limit:.2f} ms"

    def broken_by_agreement(self, agreements: Sequence[float]) -> str | None:
        """Return a sentence if the answers of the two models differ too much."""
        if not agreements:
            return None
        mean = sum(agreements) / len(agreements)
        if mean >= self.min_agreement:
            return None
        return (
            f"its answers to {len(agreements)} frames agreed to {mean:.3f} with those of the model before, and "
            f"at least {self.min_agreement:g} is required"
        )

    def _limit_ms(self, old_ms: Sequence[float]) -> float | None:
        if self.latency_ms is None:
            return None
        return max(self.latency_ms, percentile(old_ms, 0.95) or 0.0)
