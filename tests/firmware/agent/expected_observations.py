"""What the agent in firmware counts for the inputs of some seeds, by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arenite.firmware.update.golden import random_bytes
from arenite.host.bench.reference import Reference
from arenite.host.build.prepare import prepare
from arenite.host.fleet.observations import BINS, DriftReference, Observations, confidence_bin, input_bins
from tests.host.small_graphs import CLASSES

SEEDS = (*range(1, 13), 2**32 - 1)


def expected_observations(model: Path) -> Observations:
    reference = Reference(prepare(model, removes_channels=False).reference)
    result = Observations(DriftReference(((0,) * BINS, (0,) * BINS), (0,) * CLASSES))
    shape = (1, 12, 12, 3)
    for seed in SEEDS:
        x = np.frombuffer(random_bytes(seed, int(np.prod(shape))), np.int8).reshape(shape)
        scores = reference.run([x])[0].ravel()
        best = int(np.argmax(scores))
        result.add(0, input_bins(x), best, confidence_bin(int(scores[best])))
    return result
