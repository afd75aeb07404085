"""Interval analysis: the values that each channel of each int8 tensor can take, over all inputs of the model."""

from arenite.converters.passes.intervals.analyze import analyze_intervals
from arenite.converters.passes.intervals.bounds import Bounds

__all__ = ["Bounds", "analyze_intervals"]
