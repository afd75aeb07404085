"""The hand-written kernels for Cortex-M0, M0+ and M23 give LiteRT's results on an emulated board."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from tests.firmware.engine.conv.convolution_graphs import RELU, VALID, conv
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.fuzz.emulated import compare_emulated

BOARD = "qemu_mps2_m0"
#: Arguments of ``conv`` for an output whose requantization depends on the sign of the sum, and for one whose does not.
OUTPUTS: tuple[dict[str, Any], ...] = ({}, {"out_quant": Quantization((0.3,), (-128,)), "activation": RELU})


def with_small_weights(model: Model) -> Model:
    """Shrink most of a convolution's weights, so that sums of four products fit 16 bits for most quads."""
    graph = model.main
    weights = graph.tensors[graph.ops[0].inputs[1]].data
    assert weights is not None
    flat = weights.reshape(-1)
    flat[np.arange(len(flat)) % 23 > 3] //= 4
    return model


def convolutions() -> list[Model]:
    """Return layers with all numbers of pixels in the last block, and with complete and incomplete quads of taps."""
    models = [
        conv("CONV_2D", (1, 2, width, channels), (5, 3, 3, channels), stride=1 + width % 2, **out)
        for width, channels in ((1, 1), (2, 3), (3, 4), (4, 5), (5, 2), (9, 3))
        for out in OUTPUTS
    ]
    models.append(conv("CONV_2D", (1, 6, 7, 40), (33, 1, 1, 40)))
    return [with_small_weights(m) for m in models] + models[:3]


def depthwise() -> list[Model]:
    """Return 3x3 layers with rows of 1 to 7 outputs, at stride 1 and 2, and one with another window."""
    models = [
        conv("DEPTHWISE_CONV_2D", (1, 4, width, 6), (1, 3, 3, 6), stride=stride, padding=padding, **out)
        for stride in (1, 2)
        for width, padding in ((1, 0), (2, 0), (3, 0), (5, 0), (7, VALID))
        for out in OUTPUTS
        if padding != VALID or stride == 1
    ]
    return [*models, conv("DEPTHWISE_CONV_2D", (1, 5, 8, 3), (1, 5, 3, 3))]


def dense() -> list[Model]:
    """Return layers whose short sums have different lengths, with units that do not fill up the last eight."""
    sizes = np.linspace(1, 127, 20)[:, None] * np.linspace(0.02, 1, 200)[None, :]
    weights = np.rint(np.random.default_rng(5).uniform(-sizes, sizes)).astype(np.int8)
    return [
        fully_connected(200, 20, batches=batches, weights=weights, out_quant=Quantization((8.0,), (3,)))
        for batches in (1, 3)
    ]


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact() -> None:
    models = [*convolutions(), *depthwise(), *dense()]
    mismatches, kernels = compare_emulated(models, BOARD)
    assert not mismatches
    assert len(kernels) == len(models) and set(kernels) == {
        "ar_conv_2d_s8_scalar",
        "ar_depthwise_conv_2d_s8_scalar",
        "ar_fully_connected_s8_pairs_scalar",
    }
