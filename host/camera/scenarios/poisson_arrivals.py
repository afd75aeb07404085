"""Compute the times of Poisson arrivals. For the same seed, they equal LoadGen's times to the nanosecond.

LoadGen (MLPerf's load generator) uses ``std::mt19937`` and ``std::exponential_distribution``. The C++ standard does not
define how the distribution computes its numbers. LoadGen's wheels are built with libstdc++: two words of 32 bits, low
word first, are combined into a number u with 0 <= u < 1, and -log(1 - u) / rate is the time to the next query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from arenite.host.camera.scenarios.rules import SCHEDULE_SEED

_DRAWS = 4096  # random numbers per call of the generator


def poisson_arrivals(per_second: float, seed: int = SCHEDULE_SEED) -> Iterator[int]:
    """Yield an endless series of times in ns, the first of which is 0. ``per_second`` is the mean rate."""
    generator = np.random.MT19937()
    # This seeds the generator as std::mt19937 does, with the low 32 bits of the seed.
    generator._legacy_seeding(seed & 0xFFFFFFFF)
    at = 0
    while True:
        words = generator.random_raw(2 * _DRAWS).astype(np.float64)
        for uniform in ((words[0::2] + words[1::2] * 2.0**32) / 2.0**64).tolist():
            yield at
            at += int(-math.log(1.0 - min(uniform, 1.0 - 2.0**-53)) / per_second * 1e9)


def sample_indices(count: int, seed: int) -> Iterator[int]:
    """Yield an endless series of uniformly random indices below ``count``. An index can occur more than once. The order
    differs from LoadGen's order, which comes from LoadGen's own shuffles. No result depends on the order."""
    generator = np.random.Generator(np.random.MT19937(seed & 0xFFFFFFFF))
    while True:
        yield from generator.integers(0, count, _DRAWS).tolist()
