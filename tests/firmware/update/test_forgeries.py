"""No forged image is accepted, and none leads to an access outside the slot or to undefined behavior."""

from __future__ import annotations

import pytest

from arenite.host.update.reasons import REASONS
from tests.firmware.update.forgeries import run_forgeries
from tests.firmware.update.image_check import ALGORITHMS, HAS_IMGTOOL, NO_IMGTOOL


@pytest.mark.slow
@pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_forged_images_are_refused_for_every_reason(algorithm: str) -> None:
    results = run_forgeries(20_000, seed=3, algorithm=algorithm)
    assert results["OK"] == 0
    assert sum(results.values()) == 20_000
    missing = [name for _, (name, _) in REASONS.items() if results[name] == 0]
    assert missing == ["OK", "RULES", "READ"]
