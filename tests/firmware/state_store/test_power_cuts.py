"""The record in the flash memory of an emulated nRF51 survives power cuts at random instructions."""

from __future__ import annotations

import pytest

from tests.firmware.state_store.power_cuts import run_cuts


@pytest.mark.slow
@pytest.mark.qemu
def test_a_hundred_power_cuts_at_random_instructions() -> None:
    results = run_cuts(100, seed=3)
    for kind in ("cut during the start", "cut between saves", "cut in a save, record not found"):
        assert results[kind] > 0, f"no {kind}"
    assert results["cut in a save, record found"] > 0
    assert results["records"] > 100, "too few records were saved"
