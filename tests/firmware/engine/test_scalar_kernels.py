"""Kernels for cores without SIMD: packing of weights at the limits of a 16-bit sum."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Quantization
from arenite.firmware.generator.lower.conv.conv_2d_scalar import pack_weights
from arenite.firmware.generator.lower.core.scalar_requantization import count_runs, sums_fit
from arenite.firmware.generator.lower.dense import fully_connected_scalar
from arenite.firmware.generator.lower.dense.fully_connected_pairs import pack_pairs
from arenite.firmware.generator.lower.dense.fully_connected_scalar import pack_weights as pack_units
from arenite.firmware.generator.target import SCALAR, Target
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.fuzz.comparison import compare, lower
from tests.fuzz.fixed_graphs import assert_bit_exact


@pytest.mark.parametrize(
    ("weights", "fit"),
    [((127, 127), True), ((-128, 127), True), ((-128, -128), False), ((127, 128), True), ((100, 157), False)],
)
def test_sums_fit_is_exact(weights: tuple[int, ...], fit: bool) -> None:
    """Compare ``sums_fit`` with the sums for every pair of extreme inputs."""
    w = np.array(weights, np.int64)
    sums = [int(w @ np.array(x)) for x in ((-128, -128), (-128, 127), (127, -128), (127, 127))]
    assert bool(sums_fit(w)) == fit == all(-32768 <= s <= 32767 for s in sums)


def test_a_byte_has_the_numbers_of_sums_that_fit_and_do_not_fit() -> None:
    """The lower five bits count sums that fit into 16 bits, the upper three bits the sums after them that do not."""
    fits = np.array([1] * 40 + [0] + [1, 1] + [0] * 8, bool)
    assert count_runs(fits) == [31, 9 | 1 << 5, 2 | 7 << 5, 1 << 5]
    assert count_runs(np.array([False, False])) == [2 << 5]


def test_convolution_weights_are_pairs_of_channels() -> None:
    weights = np.array([[1, 2, 3], [4, 5, 6], [-127, -127, 7]], np.int64)
    packed = pack_weights(weights, 128, 2)
    assert packed is not None
    values = packed[0].astype(int) - 128
    assert values[:12].tolist() == [1, 4, 2, 5, 3, 6, -127, 0, -127, 0, 7, 0]
    assert packed[1].tolist() == [1, 1 << 5]  # four weights whose sum fits, then four whose sum is too large


def test_convolution_weights_can_be_packed_for_single_channels() -> None:
    packed = pack_weights(np.array([[1, 2, 3], [-127, -127, 7]], np.int64), 0, 1)
    assert packed is not None
    assert packed[0][:6].view(np.int8).tolist() == [1, 2, 3, -127, -127, 7]
    assert packed[1].tolist() == [1, 1 << 5]


def test_weights_that_never_fit_a_16_bit_sum_are_not_packed() -> None:
    assert pack_weights(np.full((2, 4), -128, np.int64), 0, 2) is None
    assert pack_units(np.full((4, 8), -128, np.int64), 1) is None


def test_four_units_share_a_word() -> None:
    packed = pack_units(np.arange(4 * 8).reshape(4, 8), 2)
    assert packed is not None
    assert packed[0][0] == (0 + 128) | (8 + 128) << 8 | (16 + 128) << 16 | (24 + 128) << 24
    assert packed[1].tolist() == [2]  # one 16-bit sum of two times four weights


def test_16_bit_sums_are_as_long_as_all_units_allow() -> None:
    weights = np.zeros((8, 2000), np.int64)
    weights[:, 4:8], weights[5, 8:12], weights[2, 40] = 60, 70, 100
    packed = pack_units(weights, 2)
    assert packed is not None
    # The lengths of the 16-bit sums, in groups of four weights. 0: the next group is added in 32 bits.
    assert packed[1].tolist() == [2, 0, 255, 242]


@pytest.mark.slow
def test_small_fully_connected_layers_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random graphs are normally too small for the kernel. This test uses it for all sizes."""
    monkeypatch.setattr(fully_connected_scalar, "MIN_MACS", 1)
    assert_bit_exact("FULLY_CONNECTED", graphs=60, seed=3)


def test_pairs_of_units_share_a_word() -> None:
    weights = np.arange(-8, 8).reshape(2, 8)
    packed = pack_pairs(weights)
    assert packed is not None
    words, runs = packed
    assert words.shape == (8 * 4,)  # eight units, six of them padding
    assert words.reshape(8, 4)[:, 0].tolist() == [((k - 8) + (k << 16)) & 0xFFFFFFFF for k in range(8)]
    assert not words.reshape(8, 4)[:, 1:].any()
    assert runs.tolist() == [2]
    assert pack_pairs(np.zeros((2, 6), np.int64)) is None  # six weights are no multiple of four


@pytest.mark.parametrize(
    ("core", "kernel"),
    [
        ("", "scalar"),
        ("xtensa-lx106", "scalar"),
        ("rv32imc", "pairs_scalar"),
        ("cortex-m0", "pairs_scalar"),
        ("cortex-m23", "pairs_scalar"),
    ],
)
def test_16_bit_sums_of_every_length_are_exact(core: str, kernel: str) -> None:
    """Weights grow from input to input and from unit to unit, so one layer has long and short sums."""
    rng = np.random.default_rng(5)
    sizes = np.linspace(1, 127, 16)[:, None] * np.linspace(0.05, 1, 200)[None, :]
    weights = np.rint(rng.uniform(-sizes, sizes)).astype(np.int8)
    model = fully_connected(200, 16, weights=weights, out_quant=Quantization((8.0,), (3,)))
    target = Target(core, SCALAR, "speed")
    calls = [layer.call.kernel for layer in lower(model, target=target).calls if layer.call]
    assert calls == [f"ar_fully_connected_s8_{kernel}"]
    assert not compare([model], seed=1, runs=8, targets=(target,))
