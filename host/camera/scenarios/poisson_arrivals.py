"""Compute Poisson arrivals that equal LoadGen's to the nanosecond for the same seed.

LoadGen draws from ``std::mt19937`` and ``std::exponential_distribution``. The C++ standard does not define how the
latter computes its numbers. LoadGen's wheels are built with libstdc++: two words of 32 bits, low word first, are
combined to a number u below 1, and -log(1 - u) / rate is the time to the next query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from arenite.host.camera.scenarios.rules import SCHEDULE_SEED

_DRAWS = 4096


def poisson_arrivals(per_second: float, seed: int = SCHEDULE_SEED) -> Iterator[int]:
    """Yield endless times in ns; the first is 0."""
    generator = np.random.MT19937()
    # std::mt19937 is seeded in this way, with the low 32 bits of the seed.
    generator._legacy_seeding(seed & 0xFFFFFFFF)
    at = 0
    while True:
        words = generator.random_raw(2 * _DRAWS).astype(np.float64)
        for uniform in ((words[0::2] + words[1::2] * 2.0**32) / 2.0**64).tolist():
            yield at
            at += int(-math.log(1.0 - min(uniform, 1.0 - 2.0**-53)) / per_second * 1e9)


def sample_indices(count: int, seed: int) -> Iterator[int]:
    """Yield endless uniform indices below ``count``, with replacement. The order differs from LoadGen's, which uses its
    own shuffles. No figure depends on the order."""
    generator = np.random.Generator(np.random.MT19937(seed & 0xFFFFFFFF))
    while True:
        yield from generator.integers(0, count, _DRAWS).tolist()
