"""The Helium kernel for eight units at a time gives LiteRT's bytes, and runs where it fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.dense.fully_connected_groups_mve import pack_groups
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, scales
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

SPEED = Target("cortex-m55", MVE, "speed")
GROUPS, OTHER = "ar_fully_connected_groups_s8_mve", "ar_fully_connected_s8_mve"


def kernel(model: Model, target: Target = SPEED) -> str:
    """Return the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


def single(value: float) -> float:
    """Return the float32 nearest to ``value``: a model file has no other scales."""
    return float(np.float32(value))


def layer(
    depth: int, units: int, in_scale: float = 0.05, out_scale: float = 0.4, zero: int = -9, **options: object
) -> Model:
    """Return a model of one layer with one scale for all units."""
    return fully_connected(
        depth,
        units,
        in_scale=single(in_scale),
        weight_scales=(single(0.01),),
        out_quant=Quantization((single(out_scale),), (zero,)),
        **options,  # type: ignore[arg-type]
    )


def models() -> list[Model]:
    # No full vector, one that is not full, whole rounds of eight vectors, and rounds that begin inside the loop.
    depths = (8, 15, 16, 17, 40, 112, 128, 129, 144, 250, 256, 264)
    return [
        *(layer(depth, 8) for depth in depths),
        *(layer(depth, 24, batches=3, in_scale=0.01) for depth in (16, 33, 136)),
        layer(128, 16, activation=RELU, out_scale=0.3, zero=-128),
        layer(96, 16, activation=RELU6, out_scale=0.02, zero=-20, bias=False),
        layer(64, 8, weights=np.full((8, 64), -128)),
    ]


def test_each_layer_runs_with_the_kernel() -> None:
    assert {kernel(m) for m in models()} == {GROUPS}


def test_the_portable_body_is_exact() -> None:
    assert compare(models(), seed=3, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m55() -> None:
    assert compare_emulated(models(), "qemu_mps3_an547", seed=4)[0] == []


def test_other_layers_keep_their_kernel() -> None:
    assert kernel(fully_connected(64, 12)) == OTHER
    assert kernel(fully_connected(64, 8, weight_scales=scales(8))) == OTHER
    # Filling up takes 3.2 times the flash of these weights, and 1.25 times that of those for the goal `balanced`.
    assert kernel(fully_connected(5, 8)) == OTHER
    balanced = replace(SPEED, optimise="balanced")
    assert [kernel(fully_connected(depth, 8), balanced) for depth in (13, 16)] == [OTHER, GROUPS]


def test_weights_are_packed_in_the_order_in_which_they_are_read() -> None:
    filters = (np.arange(16 * 40) % 251 - 125).astype(np.int8).reshape(16, 40)
    groups = pack_groups(filters)
    assert groups.shape == (2, 3, 8, 16)
    for unit, weights in enumerate(filters):
        last, *full = groups[unit // 8, :, unit % 8]
        assert np.array_equal(np.concatenate([*full, last[:8]]), weights)
        assert not last[8:].any()
