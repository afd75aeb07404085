"""Limits and checks that the steps of postprocessing share."""

from __future__ import annotations

from arenite.converters.processing.specification.record_fields import record_error

#: The largest number of landmarks of a box; post.h has the same limit.
MAX_POINTS = 32
#: The units of coordinates.
UNITS = ("fractions", "pixels")


def check_threshold(step: str, threshold: float | None, probability: bool) -> None:
    if probability and threshold is not None and not 0 < threshold < 1:
        raise record_error(f"{step}: threshold is {threshold:g}, expected a probability between 0 and 1.")
