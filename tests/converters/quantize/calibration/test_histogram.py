"""The histogram's range grows with its values, and it counts each value."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arenite.converters.quantize.calibration.histogram import BINS, Histogram
from tests.example_count import example_count

_values = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40)


def _filled(parts: list[np.ndarray]) -> Histogram:
    """Return a histogram to which the arrays were added one after the other."""
    h = Histogram()
    for part in parts:
        h.add(part, float(np.abs(part).max()))
    return h


@settings(max_examples=example_count(60), deadline=None)
@given(_values, st.randoms(use_true_random=False))
@example([0.0, 0.25], random.Random(0))
@example([0.25, 0.0], random.Random(0))
def test_the_histogram_does_not_depend_on_the_order_and_grouping_of_values(
    values: list[float], order: random.Random
) -> None:
    together = _filled([np.array(values, np.float32)])
    order.shuffle(values)
    alone = _filled([np.array([v], np.float32) for v in values])
    assert together.exponent == alone.exponent
    assert np.array_equal(together.bins, alone.bins)


@settings(max_examples=example_count(60), deadline=None)
@given(_values)
def test_every_value_is_counted_in_its_bin(values: list[float]) -> None:
    array = np.array(values, np.float32)
    h = _filled([array])
    assert h.bins.sum() == len(values)
    width = h.reach / (BINS / 2)
    for v in array:
        assert np.any(h.bins[np.abs(h.centers() - float(v)) <= width / 2] > 0)
