"""Compute from published runs which part of the hardware's bounds runtimes reach."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.host.llm.speed import Reached
from benchmarks.language_models.published import PublishedRun

#: The ranges are this much wider than the runs.
MARGIN = 0.05
#: The hosts whose decoding is bound by computation: their processors have no instruction for dot products.
COMPUTE_BOUND_HOSTS = ("raspberry_pi_4",)


def bandwidth_ranges(runs: Sequence[PublishedRun]) -> dict[str, Reached]:
    """Return the range of the reached part of the bandwidth, by processor."""
    ranges = {}
    for processor in ("cpu", "gpu"):
        chosen = [
            run
            for run in runs
            if run.host.compute.processor == processor and run.host.name not in COMPUTE_BOUND_HOSTS
        ]
        ranges[processor] = _widened(
            [run.slow_bandwidth_part for run in chosen], [run.bandwidth_part for run in chosen]
        )
    return ranges


def decode_compute_range(runs: Sequence[PublishedRun]) -> Reached:
    """Return the range of the reached part of the peak of computation, of the runs that it binds."""
    parts = [run.compute_part for run in runs if run.host.name in COMPUTE_BOUND_HOSTS]
    return _widened(parts, parts)


def prefill_range(runs: Sequence[PublishedRun]) -> Reached:
    """Return the range of the reached part of the peak of computation in reading prompts."""
    parts = [run.prefill_part for run in runs if run.prefill_part is not None]
    return _widened(parts, parts)


def _widened(lows: Sequence[float], highs: Sequence[float]) -> Reached:
    return Reached(min(lows) * (1 - MARGIN), max(highs) * (1 + MARGIN))


def is_held_by_others(run: PublishedRun, runs: Sequence[PublishedRun]) -> bool:
    """Return whether the range of all runs but ``run`` holds the rate of ``run``."""
    others = [other for other in runs if other is not run]
    if run.host.name in COMPUTE_BOUND_HOSTS:
        reached = decode_compute_range(others)
        return reached.low <= run.compute_part <= reached.high
    reached = bandwidth_ranges(others)[run.host.compute.processor]
    return reached.low <= run.slow_bandwidth_part and run.bandwidth_part <= reached.high
