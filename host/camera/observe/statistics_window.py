"""Compute the statistics of a window: the frames between two points in time of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.host.camera.frames.served_frame import STAGES
from arenite.host.camera.observe.distribution import Distribution

SECOND = 1_000_000_000

#: The names of times that are no stage: from the start of the first stage to the answer, from the capture to the
#: answer, and from one answer to the next.
TOTAL, AGE, INTERVAL = "total", "age", "interval"


class FrameBlock:
    """Frames that were not added to a window yet. ``rows`` maps a kind of frames, the tuple (origin of the answer,
    model, stages), to a list with the times of all its frames: for each frame, start and end of each stage, then the
    time of the capture.
    """

    __slots__ = ("late", "missed", "rows", "served")

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], list[int]] = {}
        self.served = 0
        self.late = 0
        self.missed = 0


class BlockTimes:
    """The frames of a block as arrays of durations in ns: ``values`` has an array for each stage and other time."""

    def __init__(self, block: FrameBlock, previous_ns: int) -> None:
        """``previous_ns`` is the time of the last answer before the block; 0 if there was none."""
        self.served, self.late, self.missed = block.served, block.late, block.missed
        self.by: dict[str, int] = {}
        self.models: dict[str, int] = {}
        parts: dict[str, list[np.ndarray]] = {}
        ends = [np.array([previous_ns], np.int64)] if previous_ns else []
        for (by, model, *stages), flat in block.rows.items():
            if not flat:
                continue
            times = np.array(flat, np.int64).reshape(-1, 2 * len(stages) + 1)
            self.by[by] = self.by.get(by, 0) + len(times)
            if model:
                self.models[model] = self.models.get(model, 0) + len(times)
            if not stages:
                continue
            starts, stops = times[:, 0:-1:2], times[:, 1:-1:2]
            for column, name in enumerate(stages):
                parts.setdefault(name, []).append(stops[:, column] - starts[:, column])
            end = stops.max(axis=1)
            parts.setdefault(TOTAL, []).append(end - starts.min(axis=1))
            if by != "stand-in":  # the age of a repeated frame does not show how fast answers are
                parts.setdefault(AGE, []).append(end - times[:, -1])
            ends.append(end)
        answers = np.sort(np.concatenate(ends)) if ends else np.zeros(0, np.int64)
        if len(answers) > 1:
            parts[INTERVAL] = [np.diff(answers)]
        self.values = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        new = answers[1:] if previous_ns else answers
        self.first_ns = int(new[0]) if len(new) else 0
        self.last_ns = int(new[-1]) if len(new) else 0


class StatisticsWindow:
    """The statistics of the frames between two points in time of the run. Up to ``exact`` values per stage are stored,
    so that their percentiles are exact."""

    def __init__(self, exact: int) -> None:
        self.exact = exact
        self.stages: dict[str, Distribution] = {}
        self.by: dict[str, int] = {}
        self.models: dict[str, int] = {}
        self.served = 0
        self.late = 0
        self.missed = 0
        self.first_ns = 0
        self.last_ns = 0

    def take(self, folded: BlockTimes) -> None:
        for name, values in folded.values.items():
            distribution = self.stages.get(name)
            if distribution is None:
                distribution = self.stages[name] = Distribution(self.exact)
            distribution.add(values)
        self._add_counts(folded)

    def merge(self, other: StatisticsWindow) -> None:
        """Extend this window by ``other``, which follows it."""
        for name, other_distribution in other.stages.items():
            distribution = self.stages.get(name)
            if distribution is None:
                distribution = self.stages[name] = Distribution(self.exact)
            distribution.merge(other_distribution)
        self._add_counts(other)

    def _add_counts(self, more: BlockTimes | StatisticsWindow) -> None:
        for own_counts, other_counts in ((self.by, more.by), (self.models, more.models)):
            for name, count in other_counts.items():
                own_counts[name] = own_counts.get(name, 0) + count
        self.served += more.served
        self.late += more.late
        self.missed += more.missed
        if more.last_ns:
            self.first_ns = self.first_ns or more.first_ns
            self.last_ns = more.last_ns

    def copy(self) -> StatisticsWindow:
        result = StatisticsWindow(self.exact)
        result.merge(self)
        return result

    @property
    def seconds(self) -> float:
        """The time from the first answer to the last answer, in seconds."""
        return (self.last_ns - self.first_ns) / SECOND

    @property
    def fps(self) -> float:
        """Answers per second, from the mean time between two answers; 0 before the second answer."""
        gaps = self.stages.get(INTERVAL)
        return SECOND / gaps.mean if gaps is not None and gaps.mean > 0 else 0.0

    @property
    def jitter_ms(self) -> float:
        """The standard deviation of the time from one answer to the next, in milliseconds."""
        gaps = self.stages.get(INTERVAL)
        return gaps.deviation / 1e6 if gaps is not None else 0.0

    def percentile_ms(self, name: str, percent: float) -> float | None:
        """Return a percentile of the time ``name`` in milliseconds; None if no frame had this time. ``name`` is a
        stage, ``total``, ``age`` or ``interval``."""
        distribution = self.stages.get(name)
        return (
            distribution.percentile(percent) / 1e6
            if distribution is not None and distribution.count
            else None
        )

    def mean_ms(self, name: str) -> float:
        """Return the mean of the time ``name`` in milliseconds; 0 if no frame had this time. ``name`` is a stage,
        ``total``, ``age`` or ``interval``."""
        distribution = self.stages.get(name)
        return distribution.mean / 1e6 if distribution is not None else 0.0

    def stage_ms(self) -> dict[str, dict[str, float]]:
        """Return percentiles, mean and maximum of each stage in milliseconds. The usual stages come first, in their
        order, then other stages, then ``total`` and ``age``."""
        names = [name for name in STAGES if name in self.stages]
        names += [name for name in self.stages if name not in (*STAGES, TOTAL, AGE, INTERVAL)]
        names += [name for name in (TOTAL, AGE) if name in self.stages]
        return {name: self.stages[name].to_json(1e6) for name in names}

    def to_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "served": self.served,
            "late": self.late,
            "seconds": round(self.seconds, 3),
            "fps": round(self.fps, 3),
            "jitter_ms": round(self.jitter_ms, 4),
            "stage_ms": self.stage_ms(),
        }
        if INTERVAL in self.stages:
            result["interval_ms"] = self.stages[INTERVAL].to_json(1e6)
        result["by"] = dict(self.by)
        if self.models:
            result["models"] = dict(self.models)
        return result
