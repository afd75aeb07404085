"""The kernels with little code for cores with the DSP extension give LiteRT's bytes, on this computer and as assembly
on a Cortex-M4."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.firmware.generator.target import DSP, MVE, Target
from tests.firmware.engine.conv.full_range_convolution import LINEAR, VALID, conv
from tests.firmware.engine.dense.dense_graphs import fully_connected
from tests.firmware.engine.depthwise.depthwise_graphs import depthwise, other_windows, windows_3x3
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

FLASH = Target("cortex-m4f", DSP, "flash")
CONVOLUTION = "ar_conv_2d_s8_compact_dsp"
DEPTHWISE = "ar_depthwise_conv_2d_s8_compact_dsp"
DEPTHWISE_3X3 = "ar_depthwise_3x3_s8_compact_dsp"
DENSE = "ar_fully_connected_s8_compact_dsp"


def kernel(model: Model, target: Target = FLASH) -> str:
    """Return the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


def convolutions() -> list[Model]:
    """Return layers with 1 to 27 output pixels, with and without padding, and rows of a window that do and do not fill
    groups of four inputs."""
    return [
        *(conv((1, 1, width, 8), (4, 1, 1, 8)) for width in range(1, 9)),
        *(conv((1, 3, 9, depth), (6, 1, 1, depth)) for depth in (1, 2, 3, 5, 16, 20)),
        *(conv((2, 5, 5, depth), (8, 3, 3, depth)) for depth in (1, 2, 3, 4)),
        conv((1, 6, 7, 4), (2, 3, 3, 4), padding=VALID),
        conv((1, 7, 6, 3), (4, 3, 3, 3), stride=(2, 2)),
        conv((1, 9, 5, 1), (10, 5, 2, 1), stride=(2, 1), out=LINEAR),
        conv((2, 3, 3, 12), (16, 1, 1, 12), out=LINEAR),
        conv((1, 4, 4, 8), (6, 1, 1, 8), stride=(2, 2)),
        conv((1, 6, 6, 1), (1, 3, 3, 8), depthwise=True),
        conv((1, 7, 8, 1), (1, 2, 5, 4), stride=(2, 2), depthwise=True),
    ]


def dense_layers() -> list[Model]:
    """Return layers with even and odd numbers of units, and depths that do and do not fill a round."""
    rng = np.random.default_rng(5)
    return [
        fully_connected(
            depth, units, batches=2, in_scale=0.047, weights=rng.integers(-127, 128, (units, depth))
        )
        for depth in (1, 4, 7, 8, 9, 33)
        for units in (1, 2, 5)
    ]


def test_convolutions_are_exact_on_this_computer() -> None:
    models = convolutions()
    assert {kernel(m) for m in models} == {CONVOLUTION}
    assert compare(models, targets=[FLASH]) == []


def test_depthwise_layers_are_exact_on_this_computer() -> None:
    models = [*windows_3x3(), *other_windows()]
    several_images = [m for m in windows_3x3() if m.main.tensors[m.main.inputs[0]].shape[0] > 1]
    assert {kernel(m) for m in several_images} == {DEPTHWISE}
    assert [kernel(m) for m in windows_3x3()].count(DEPTHWISE_3X3) == len(windows_3x3()) - len(several_images)
    assert [kernel(m) for m in other_windows()].count(DEPTHWISE) >= 9
    assert compare(models, targets=[FLASH]) == []


def test_dense_layers_are_exact_on_this_computer() -> None:
    models = dense_layers()
    assert {kernel(m) for m in models} == {DENSE}
    assert compare(models, targets=[FLASH]) == []


@pytest.mark.slow
def test_assembly_is_exact_on_an_emulated_core() -> None:
    models = [*convolutions(), *windows_3x3(), *other_windows(), *dense_layers()]
    assert compare_emulated(models, "qemu_mps2_an386", optimise="flash")[0] == []


def test_other_goals_keep_their_kernels() -> None:
    for optimise in OPTIMISE_MODES:
        used = {
            kernel(m, Target("cortex-m4f", DSP, optimise)) for m in (convolutions()[-1], depthwise(6, 6, 8))
        }
        assert (used <= {CONVOLUTION, DEPTHWISE_3X3}) == (optimise == "flash")


def test_layers_that_the_kernels_cannot_run_have_others() -> None:
    odd = conv((1, 4, 4, 8), (5, 1, 1, 8))
    dilated = conv((1, 9, 9, 4), (4, 3, 3, 4), dilation=(2, 2))
    clamped = conv((1, 4, 4, 8), (4, 1, 1, 8), activation=3, out=Quantization((0.05,), (0,)))
    assert CONVOLUTION not in {kernel(m) for m in (odd, dilated, clamped)}
    assert compare([odd, dilated, clamped], targets=[FLASH]) == []


@pytest.mark.parametrize("target", [FLASH, Target("cortex-m55", MVE, "flash")])
def test_tables_next_to_the_weights_count_as_code(target: Target) -> None:
    for model in (conv((1, 4, 4, 16), (8, 1, 1, 16)), depthwise(6, 6, 16)):
        generated = lower(model, target=target)
        weights, bias = (model.main.tensors[i] for i in model.main.ops[0].inputs[1:3])
        entries = sum(c.weight_bytes for c in generated.constants)
        assert generated.tables_beside_weights in {2 * bias.elements, 4 * bias.elements}
        assert weights.elements + 4 * bias.elements <= entries
