"""The Helium kernel that computes depthwise layers one channel at a time gives LiteRT's bytes, and runs where it saves
instructions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.depthwise.depthwise_tiles_mve import tiling_of
from arenite.firmware.generator.operator_needs import op_needs
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.convolution_graphs import RELU, RELU6, VALID, changed, conv, scales
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

SPEED = Target("cortex-m55", MVE, "speed")
_KERNEL = "ar_depthwise_tiles_s8_mve"
_RELU_OUT = Quantization((0.3,), (-128,))


def depthwise(shape: tuple[int, int, int], batch: int = 1, **options: object) -> Model:
    """Return a depthwise convolution with windows of 3 x 3; ``shape`` is (height, width, channels)."""
    return conv("DEPTHWISE_CONV_2D", (batch, *shape), (1, 3, 3, shape[2]), **options)  # type: ignore[arg-type]


def kernel(model: Model, target: Target = SPEED) -> str:
    """Return the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


def models() -> list[Model]:
    sizes = ((2, 2, 8), (3, 6, 16), (5, 4, 7), (6, 5, 33), (25, 5, 16), (12, 12, 60), (9, 30, 3), (2, 16, 1))
    strided = ((8, 4, 24), (5, 7, 9), (12, 12, 20), (6, 13, 33), (7, 6, 28), (1, 9, 8))
    relu: dict[str, Any] = {"activation": RELU, "out_quant": _RELU_OUT}
    # A multiplier of 2^30 with a shift of 0, and shifts of up to 24 bits, in neighboring channels.
    binary: dict[str, Any] = {
        "in_quant": Quantization((0.0625,), (-7,)),
        "out_quant": Quantization((0.25,), (-128,)),
    }
    extreme = changed(
        depthwise((6, 6, 32), activation=RELU, **binary),
        1,
        quant=Quantization(tuple(2.0 ** (1 - k % 25) for k in range(32)), (0,) * 32, 3),
    )
    lowest = changed(depthwise((6, 6, 32)), 1, data=np.full((1, 3, 3, 32), -128, np.int8))
    return [
        *(depthwise(size) for size in sizes),
        *(depthwise(size, **relu) for size in sizes),
        *(depthwise(size, stride=2) for size in strided),
        *(depthwise(size, stride=2, **relu) for size in strided),
        depthwise((7, 8, 24), padding=VALID, activation=RELU6, out_quant=Quantization((0.02,), (-20,))),
        depthwise(
            (7, 9, 24), padding=VALID, stride=2, activation=RELU6, out_quant=Quantization((0.3,), (90,))
        ),
        depthwise((9, 7, 24), batch=2),
        depthwise((8, 12, 24), batch=2, stride=2),
        extreme,
        lowest,
    ]


def test_the_kernel_runs_all_of_these_layers() -> None:
    assert {kernel(m) for m in models()} == {_KERNEL}


def test_the_portable_bodies_are_exact() -> None:
    assert compare(models(), seed=5, runs=4, targets=[SPEED]) == []


@pytest.mark.slow
@pytest.mark.qemu
def test_the_assembly_is_exact_on_a_cortex_m55() -> None:
    assert compare_emulated(models(), "qemu_mps3_an547", seed=8)[0] == []


def test_only_builds_for_speed_spend_ram_for_strips() -> None:
    model = depthwise((24, 24, 32))
    others = [replace(SPEED, optimise=goal) for goal in ("balanced", "ram")]
    for target in (*others, replace(SPEED, stream_input=True)):
        assert kernel(model, target).startswith("ar_depthwise_3x3_s8_mve")
    # Two rows of outputs need a strip of 26 columns of words, and there is a row of padding.
    assert op_needs(model.main, SPEED)[0].scratch == 26 * 32 * 4 + 24 * 32
    assert op_needs(depthwise((26, 26, 32), padding=VALID).main, SPEED)[0].scratch == 26 * 32 * 4


def test_layers_that_do_not_fit_keep_their_kernel() -> None:
    other = "ar_depthwise_3x3_s8_mve"
    assert (
        kernel(depthwise((7, 6, 40), stride=2)) == other
    )  # few strips at once save little, and more need much RAM
    assert kernel(depthwise((8, 8, 16), dilation=2)) == other
    assert kernel(depthwise((3, 3, 128))) == other  # a quarter of its outputs would be computed twice
    assert kernel(depthwise((1, 40, 16))) == other
    assert kernel(depthwise((40, 1, 16))) == other
    assert kernel(depthwise((4, 6, 3))) == _KERNEL
    assert kernel(depthwise((4, 5, 3))) == other  # a row is shorter than a vector
    shifted = changed(
        depthwise((6, 6, 16), activation=RELU, out_quant=_RELU_OUT),
        1,
        quant=Quantization((*scales(15), 3 * 2.0**-27), (0,) * 16, 3),
    )
    assert kernel(shifted) == other  # a shift of more than 24 bits


def test_every_output_is_in_a_pass() -> None:
    for model in (depthwise((25, 5, 16)), depthwise((7, 13, 16), stride=2), depthwise((9, 7, 16))):
        out = model.main.tensors[model.main.outputs[0]].shape
        tiling = tiling_of(model.main, model.main.ops[0])
        assert tiling is not None
        for group in range(1, tiling.strips + 1):
            rows = [0] * out[1]
            divided = replace(tiling, group=group)
            full, last = divided.tables()
            size = group * divided.rows
            for first in range(0, out[1], size):
                is_last = first + size >= out[1]
                start = max(0, min(first, out[1] - divided.last_group * divided.rows)) if is_last else first
                for at in _outputs(last if is_last else full, divided.stride):
                    y, x = divmod(at // 16, out[2])
                    rows[start + y] |= 1 << x
            assert rows == [(1 << out[2]) - 1] * out[1]


def _outputs(table: np.ndarray, stride: int) -> list[int]:
    """Return the offsets of the outputs of a table of passes."""
    # At stride 1, four words follow the last pass.
    words = table[:-4].reshape(-1, 12) if stride == 1 else table.reshape(-1, 20)
    words = words[:, -4:]
    return [int(v) for v in np.concatenate([words >> 16, words & 0xFFFF]).reshape(-1)]
