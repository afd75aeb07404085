"""Limits and checks that several postprocessing steps use."""

from __future__ import annotations

from arenite.converters.processing.specification.record_fields import record_error

#: The largest number of landmarks of a box; post.h has the same limit.
MAX_POINTS = 32
#: The units of coordinates.
UNITS = ("fractions", "pixels")


def check_threshold(step: str, threshold: float | None, probability: bool) -> None:
    """Raise ``UsageError`` if the threshold of ``step`` is a ``probability`` but not between 0 and 1."""
    if probability and threshold is not None and not 0 < threshold < 1:
        raise record_error(f"{step}: threshold is {threshold:g}, expected a probability between 0 and 1.")
