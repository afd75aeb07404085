"""Interval analysis: bounds of the values that each channel of each int8 tensor can take, over all model inputs."""

from arenite.converters.passes.intervals.analyze import analyze_intervals
from arenite.converters.passes.intervals.bounds import Bounds

__all__ = ["Bounds", "analyze_intervals"]
