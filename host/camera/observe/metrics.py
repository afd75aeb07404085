"""Count the loop's frames and times, and write counters, histograms and gauges in Prometheus' text format.

``take`` costs the loop about 1 µs per frame, because it only adds integers. The text is written when it is requested.
As Prometheus recommends, units are base units (seconds, joules, watts, bytes), and the names of counters end in
``_total``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.frames.served_frame import STAGES, ServedFrame
from arenite.host.camera.observe.prometheus_text import MetricFamily, build_families, render, state_families

#: The upper bounds of the histograms' buckets in seconds. Two neighboring bounds differ by a factor of 1.5 to 2.5. The
#: range is from a stage of a tiny model to a model that is too large for a camera.
BUCKETS = (
    0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.033, 0.05, 0.1, 0.2, 0.5, 1.0,
)  # fmt: skip
_EDGES = [round(b * 1e9) for b in BUCKETS]  # the same bounds in nanoseconds
_BUCKET_COUNT = len(_EDGES) + 1
BY = ("model", "cache", "motion", "stand-in")


class Metrics:
    """The metrics of one loop: a sink of served frames, and a listener of the loop's state. Any thread may call
    ``text``."""

    def __init__(self) -> None:
        # A histogram is a list: the number of values in each bucket (not cumulative), and at the end the sum of all
        # values in ns.
        self._stages: dict[str, list[int]] = {name: [0] * (_BUCKET_COUNT + 1) for name in STAGES}
        self._total = [0] * (_BUCKET_COUNT + 1)
        self._age = [0] * (_BUCKET_COUNT + 1)
        self._by: dict[str, int] = dict.fromkeys(BY, 0)
        self._late = 0
        self._missed = 0
        self._state: Mapping[str, Any] = {}

    def take(self, served: ServedFrame, frame: Frame | None = None) -> None:
        first = last = 0
        for stage, (start, end) in served.spans.items():
            counts = self._stages.get(stage)
            if counts is None:
                counts = self._stages[stage] = [0] * (_BUCKET_COUNT + 1)
            elapsed = end - start
            counts[bisect_left(_EDGES, elapsed)] += 1
            counts[-1] += elapsed
            if not first or start < first:
                first = start
            if end > last:
                last = end
        if last:
            # These lines are half of the cost of ``take``. A loop over the two histograms would cost more.
            elapsed, counts = last - first, self._total
            counts[bisect_left(_EDGES, elapsed)] += 1
            counts[-1] += elapsed
            if served.by != "stand-in":  # the age of a repeated frame does not show how fast answers are
                elapsed, counts = last - served.time_ns, self._age
                counts[bisect_left(_EDGES, elapsed)] += 1
                counts[-1] += elapsed
        try:
            self._by[served.by] += 1
        except KeyError:
            self._by[served.by] = 1
        if served.late:
            self._late += 1
        if served.missed:
            self._missed += served.missed

    def update(self, state: Mapping[str, Any]) -> None:
        """Store the loop's state (see ``loop_state.py``) until the next update."""
        self._state = state

    def close(self) -> None:
        """Do nothing: metrics hold no resources."""

    def text(self) -> str:
        """Return the metrics in Prometheus' text format 0.0.4."""
        return render([*self._loop_families(), *state_families(self._state), *build_families()])

    def _loop_families(self) -> Iterator[MetricFamily]:
        frames = self._state.get("frames") or {}
        yield MetricFamily(
            "arenite_camera_frames_served_total",
            "counter",
            "Frames with an answer, by its origin: the model, the cache, motion gating, a stand-in.",
            [({"by": by}, count) for by, count in list(self._by.items())],
        )
        yield MetricFamily(
            "arenite_camera_frames_dropped_total",
            "counter",
            "Frames that the camera captured and the loop skipped because there was a newer frame.",
            [({}, frames.get("dropped", self._missed))],
        )
        yield MetricFamily(
            "arenite_camera_frames_late_total",
            "counter",
            "Frames whose answer came after the latency limit.",
            [({}, self._late)],
        )
        seconds = [
            ("stage", "Time of one stage on one frame.", list(self._stages.items())),
            ("frame", "Time from the start of the first stage to the answer.", [("", self._total)]),
            ("age", "Time from the capture's time stamp to the answer.", [("", self._age)]),
        ]
        for name, about, series in seconds:
            yield MetricFamily(
                f"arenite_camera_{name}_seconds",
                "histogram",
                about,
                [({"stage": stage} if stage else {}, list(counts)) for stage, counts in series],
                BUCKETS,
            )
