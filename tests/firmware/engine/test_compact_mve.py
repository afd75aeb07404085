"""The kernels with little code for Helium give LiteRT's bytes, on this computer and as assembly on a Cortex-M55."""

from __future__ import annotations

import pytest

from arenite.converters.graph.model import Model
from arenite.firmware.generator.target import MVE, Target
from tests.firmware.engine.conv.full_range_convolution import LINEAR, RELU, VALID, conv
from tests.firmware.engine.depthwise.depthwise_graphs import depthwise, other_windows, windows_3x3
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated

FLASH = Target("cortex-m55", MVE, "flash")
CONVOLUTION = "ar_conv_2d_compact_s8_mve"
DEPTHWISE = ("ar_depthwise_3x3_compact_s8_mve", "ar_depthwise_compact_s8_mve")


def kernel(model: Model, target: Target = FLASH) -> str:
    """Return the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


def convolutions() -> list[Model]:
    """Return layers with and without padding, with outputs below the zero point and without, and with filters of less
    than a piece, of one and of several pieces, with and without a rest."""
    return [
        *(conv((1, 1, width, 8), (4, 1, 1, 8)) for width in range(2, 6)),
        *(
            conv((1, 3, 9, depth), (6, 1, 1, depth), out=out)
            for depth in (1, 15, 16)
            for out in (RELU, LINEAR)
        ),
        *(conv((1, 3, 5, depth), (9, 1, 1, depth), out=LINEAR) for depth in (17, 32, 47)),
        *(conv((1, 5, 5, depth), (8, 3, 3, depth)) for depth in (1, 2, 3, 16)),
        conv((1, 6, 7, 4), (5, 3, 3, 4), padding=VALID),
        conv((1, 7, 6, 3), (4, 3, 3, 3), stride=(2, 2)),
        conv((1, 9, 5, 1), (10, 5, 2, 1), stride=(2, 1), out=LINEAR),
        conv((1, 6, 5, 8), (6, 1, 1, 8), stride=(2, 2)),
        conv((1, 4, 30, 20), (7, 2, 5, 20)),
        conv((1, 6, 6, 1), (1, 3, 3, 8), depthwise=True),
        conv((1, 7, 8, 1), (1, 2, 5, 4), stride=(2, 2), depthwise=True),
    ]


def depthwise_layers() -> list[Model]:
    """Return the depthwise layers of one image that the kernels run, and one that is a column."""
    layers = [*windows_3x3(), *other_windows()]
    return [m for m in layers if kernel(m) in DEPTHWISE]


def test_convolutions_are_exact_on_this_computer() -> None:
    models = convolutions()
    assert {kernel(m) for m in models} == {CONVOLUTION}
    assert compare(models, targets=[FLASH]) == []


def test_depthwise_layers_are_exact_on_this_computer() -> None:
    models = depthwise_layers()
    assert {kernel(m) for m in models} == set(DEPTHWISE)
    assert compare(models, targets=[FLASH]) == []


@pytest.mark.parametrize("optimise", ["speed", "balanced", "ram"])
def test_other_builds_do_not_use_the_kernels(optimise: str) -> None:
    other = Target("cortex-m55", MVE, optimise)
    assert not any("compact" in kernel(m, other) for m in [*convolutions(), *depthwise_layers()])


def test_layers_that_the_kernels_cannot_run_have_others() -> None:
    models = [
        conv((2, 4, 4, 8), (4, 1, 1, 8)),
        conv((1, 4, 4, 8), (3, 1, 1, 8)),
        conv((1, 9, 9, 4), (4, 3, 3, 4), dilation=(2, 2)),
        depthwise(5, 5, 2),
        depthwise(5, 5, 8, batch=2),
    ]
    assert not any("compact" in kernel(m) for m in models)
    assert compare(models, targets=[FLASH]) == []


@pytest.mark.slow
def test_assembly_is_exact_on_an_emulated_core() -> None:
    models = [*convolutions(), *depthwise_layers()]
    assert compare_emulated(models, "qemu_mps3_an547", optimise="flash")[0] == []
