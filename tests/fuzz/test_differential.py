"""Short runs of the differential fuzzer. ``make fuzz`` runs long ones."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from tests.fuzz.campaign import random_model
from tests.fuzz.cases import load_all
from tests.fuzz.comparison import compare, mismatch_of
from tests.fuzz.emulated import batches, compare_emulated

SEED = 2026


@pytest.mark.parametrize("rounds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)])
def test_random_graphs_over_all_operators_equal_litert(rounds: range) -> None:
    ops = sorted(load_all())
    models = [random_model(SEED, k, ops, 4) for k in range(rounds.start * len(ops), rounds.stop * len(ops))]
    # The names of some cases are an operator and a condition, such as "SVDF with int8 state".
    assert {op.name for m in models for op in m.main.ops} >= {name.split()[0] for name in ops}
    mismatches = compare(models, seed=SEED)
    assert not mismatches, "\n".join(map(str, mismatches))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an386", "qemu_mps3_an547"])
def test_random_graphs_on_emulated_boards_equal_litert(board: str) -> None:
    if shutil.which("qemu-system-arm") is None or shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs qemu-system-arm and gcc-arm-none-eabi (make setup installs them)")
    ops = sorted(load_all())
    models = [random_model(SEED + 1, k, ops, 2) for k in range(len(ops))]
    for batch in batches(models, max_bytes=200_000):  # less than the RAM of both boards
        mismatches, _ = compare_emulated(batch, board, seed=SEED)
        assert not mismatches, "\n".join(map(str, mismatches))


def test_the_comparison_finds_a_single_wrong_bit() -> None:
    expected = np.arange(12, dtype=np.int8).reshape(3, 4)
    actual = expected.copy()
    actual[2, 1] ^= 1
    mismatch = mismatch_of(0, 0, 0, expected, actual)
    # Element 9 (row 2, column 1) is 8 instead of 9.
    assert mismatch is not None and mismatch.different == 1 and mismatch.first == (9, 9, 8)
    assert mismatch_of(0, 0, 0, expected, expected.copy()) is None
