"""CONV_2D and FULLY_CONNECTED for cores with the DSP extension give LiteRT's bytes.

Every kernel has a portable body in C, which runs on this computer, and one in assembly, which runs on emulated cores.
"""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.firmware.generator.lower.core.variant import variant_of
from arenite.firmware.generator.target import DSP, Target
from tests.firmware.engine.conv.full_range_convolution import LINEAR, RELU, VALID, conv
from tests.firmware.engine.litert_exact import run_natively
from tests.fuzz.comparison import compare, lower
from tests.fuzz.emulated import compare_emulated
from tests.fuzz.graph_builder import GraphBuilder, f32

SPEED = Target("", DSP, "speed")


def fully_connected(rows: int, depth: int, units: int, out: Quantization = RELU) -> Model:
    """Return one fully connected layer whose outputs cover the range of int8."""
    b = GraphBuilder(np.random.default_rng([rows, depth, units]))
    x = b.input((rows, depth), "int8", Quantization((0.05,), (-100,)))
    quant = Quantization((f32(60 / (74 * 74 * np.sqrt(depth))),), (0,))
    w = b.const(b.rng.integers(-127, 128, (units, depth)), "int8", quant)
    bias = b.const(
        b.rng.integers(-9000, 9000, units), "int32", Quantization((f32(0.05 * quant.scale[0]),), (0,))
    )
    y = b.tensor((rows, units), "int8", out)
    b.op("FULLY_CONNECTED", [x, w, bias], [y], "FullyConnectedOptions", version=4, keep_num_dims=False)
    return b.build()


#: Convolutions that ``ar_conv_2d_s8_dsp`` runs. Each name states the case that it covers.
BLOCKS = {
    **{f"row of {w}": conv((1, 2, w, 8), (4, 3, 2, 8)) for w in (1, 2, 3, 4, 5, 7, 8)},
    **{f"depth {c}": conv((1, 1, 7, c), (4, 1, 1, c)) for c in (1, 2, 3, 4, 8, 12, 16, 20, 24, 36, 68)},
    "one tap, stride 2": conv((1, 5, 9, 6), (4, 1, 1, 6), stride=(2, 2), padding=VALID),
    "batches": conv((3, 2, 3, 5), (2, 1, 1, 5)),
    "batches of windows": conv((2, 4, 5, 3), (3, 3, 2, 3)),
    "odd channels": conv((1, 3, 10, 4), (5, 3, 2, 4)),
    "one channel": conv((1, 3, 10, 4), (1, 3, 3, 4)),
    "two-sided": conv((1, 3, 8, 16), (6, 3, 2, 16), out=LINEAR),
    "two-sided, odd": conv((1, 1, 11, 7), (3, 1, 1, 7), out=LINEAR),
    "narrow activation": conv((1, 3, 8, 4), (4, 3, 2, 4), out=LINEAR, activation=2),
    "first layer of an image": conv((1, 24, 24, 3), (8, 3, 3, 3), stride=(2, 2)),
    "first layer of a spectrogram": conv((1, 13, 10, 1), (8, 10, 4, 1), stride=(2, 2)),
    "one channel in": conv((1, 24, 24, 1), (1, 3, 3, 8), stride=(2, 2), depthwise=True),
    "wide padding": conv((1, 2, 3, 4), (2, 7, 7, 4)),
    "dilation": conv((1, 12, 13, 5), (4, 3, 3, 5), dilation=(2, 3)),
    "wide dilation": conv((1, 5, 40, 9), (4, 1, 3, 9), dilation=(1, 5)),
    "remainders of two bytes": conv((1, 9, 12, 5), (4, 3, 2, 5), padding=VALID),
    "large rows": conv((1, 4, 20, 24), (4, 3, 4, 24)),
}
#: Convolutions that ``ar_conv_2d_s8_columns_dsp`` runs.
COLUMNS = {
    **{f"row of {w}": conv((1, 2, w, 8), (4, 3, 3, 8)) for w in range(2, 9)},
    **{f"depth {c}": conv((1, 3, 7, c), (2, 3, 3, c)) for c in (4, 12, 16, 20)},
    "no padding": conv((2, 4, 9, 8), (4, 3, 3, 8), padding=VALID),
    "two windows without padding": conv((1, 3, 4, 8), (4, 3, 3, 8), padding=VALID),
    "batches": conv((3, 3, 5, 4), (2, 3, 3, 4)),
    "two-sided": conv((1, 3, 8, 16), (6, 3, 3, 16), out=LINEAR),
    "narrow activation": conv((1, 3, 8, 4), (4, 3, 3, 4), out=LINEAR, activation=2),
    "a tall kernel": conv((1, 6, 7, 4), (4, 5, 3, 4)),
    "one row of taps": conv((1, 2, 7, 8), (4, 1, 3, 8)),
    "stride between rows": conv((1, 9, 8, 4), (4, 3, 3, 4), stride=(2, 1)),
    "dilated rows": conv((1, 9, 8, 4), (4, 3, 3, 4), dilation=(3, 1)),
}
#: Layers whose input is a single vector. Each name states the case that it covers.
ROWS = {
    **{f"depth {d}": fully_connected(1, d, 8) for d in (1, 7, 8, 9, 16, 24, 32, 40, 100)},
    **{f"{u} units": fully_connected(1, 16, u) for u in (1, 2, 3, 4, 5, 7)},
    "a single pixel": conv((1, 1, 1, 24), (6, 1, 1, 24), padding=VALID),
    "a window that is the image": conv((1, 3, 4, 5), (6, 3, 4, 5), padding=VALID),
}


#: Fully connected layers that ``ar_fully_connected_s8_fixed_dsp`` runs.
FIXED_ROWS = {
    **{f"depth {d}": fully_connected(1, d, 64) for d in (1, 8, 9, 40, 121, 128, 131, 256)},
    **{f"{u} units": fully_connected(1, 24, u) for u in (65, 66, 67)},
}


def extreme_rows(depth: int, units: int) -> Model:
    """Return a fully connected layer whose weights have large products and small sums: -128, -128, 127, 127 and so on
    in odd units, and 0, 0, 1, 1 and so on in even units."""
    model = fully_connected(1, depth, units)
    w = weights_of(model)
    w[1::2] = np.where(np.arange(depth) % 4 < 2, -128, 127)
    w[0::2] = np.where(np.arange(depth) % 4 < 2, 0, 1)
    return model


@pytest.fixture(autouse=True)
def no_short_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions with short filters have a kernel and a test of their own."""
    module = "arenite.firmware.generator.lower.conv.conv_2d_short_dsp"
    monkeypatch.setattr(f"{module}._MIN_SAVED_PER_BYTE", 1e9)


def weights_of(model: Model) -> np.ndarray:
    """Return the weights of the first operator, as an array that can be changed."""
    w = model.main.tensors[model.main.ops[0].inputs[1]].data
    assert w is not None
    w.setflags(write=True)
    return w


def kernel(model: Model, target: Target = SPEED) -> str:
    """Return the name of the kernel that runs the model's only layer."""
    call = lower(model, target=target).calls[0].call
    assert call is not None
    return call.kernel


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["speed", "balanced"])
def test_convolutions_by_blocks_of_pixels_are_exact(mode: str) -> None:
    target = Target("", DSP, mode)
    assert {kernel(m, target) for m in BLOCKS.values()} == {"ar_conv_2d_s8_dsp"}
    assert not compare([*BLOCKS.values()], runs=6, targets=[target])


def test_convolutions_with_shared_columns_are_exact() -> None:
    assert {kernel(m) for m in COLUMNS.values()} == {"ar_conv_2d_s8_columns_dsp"}
    assert not compare([*COLUMNS.values()], runs=6, targets=[SPEED])


def test_layers_with_a_single_row_are_exact() -> None:
    assert {kernel(m) for m in ROWS.values()} == {"ar_fully_connected_s8_dsp"}
    assert not compare([*ROWS.values()], runs=6, targets=[SPEED])


def test_layers_with_a_single_row_and_a_constant_shift_are_exact() -> None:
    assert {kernel(m) for m in FIXED_ROWS.values()} == {"ar_fully_connected_s8_fixed_dsp"}
    balanced = Target("", DSP, "balanced")
    assert {kernel(m, balanced) for m in FIXED_ROWS.values()} == {"ar_fully_connected_s8_dsp"}
    assert not compare([*FIXED_ROWS.values()], runs=6, targets=[SPEED])


def test_layers_with_a_single_row_and_extreme_weights_are_exact() -> None:
    models = [extreme_rows(248, 8), extreme_rows(128, 64)]
    assert [kernel(m) for m in models] == ["ar_fully_connected_s8_dsp", "ar_fully_connected_s8_fixed_dsp"]
    assert not compare(models, runs=24, targets=[SPEED])


def test_fully_connected_layers_of_several_rows_run_as_convolutions() -> None:
    models = [fully_connected(n, 12, 6) for n in (2, 3, 5)] + [fully_connected(1, 12, 6, LINEAR)]
    assert [kernel(m) for m in models[:3]] == ["ar_conv_2d_s8_dsp"] * 3
    assert not compare(models, runs=6, targets=[SPEED])


@pytest.mark.slow
@pytest.mark.parametrize("board", ["qemu_mps2_an386", "qemu_mps2_an505"])
def test_the_assembly_is_exact(board: str) -> None:
    models = [*BLOCKS.values(), *COLUMNS.values(), *ROWS.values(), *FIXED_ROWS.values()]
    models += [extreme_rows(248, 8), extreme_rows(128, 64)]
    mismatches, kernels = compare_emulated(models, board)
    assert not mismatches
    assert set(kernels) == {
        "ar_conv_2d_s8_dsp",
        "ar_conv_2d_s8_columns_dsp",
        "ar_fully_connected_s8_dsp",
        "ar_fully_connected_s8_fixed_dsp",
    }


def test_pairs_of_weights_that_exceed_16_bits_run_with_another_kernel() -> None:
    model = conv((1, 3, 8, 8), (8, 3, 3, 8))
    w = weights_of(model)
    w[0, 0, 0, 0], w[1, 0, 0, 0] = -128, -1
    assert kernel(model) != "ar_conv_2d_s8_dsp"
    assert not compare([model], runs=4, targets=[SPEED])


def test_weights_of_minus_128_are_exact_if_they_fit() -> None:
    """Odd channels have -128; even channels have it only beside a weight that is not negative."""
    model = conv((1, 1, 9, 8), (4, 1, 1, 8))
    w = weights_of(model)
    w[1::2] = -128
    w[0, ..., :4], w[1, ..., :4] = -128, 0
    assert kernel(model) == "ar_conv_2d_s8_dsp"
    extremes = np.array([[-128] * 4 + [127] * 5] * 8, np.int8).T.reshape(1, 1, 9, 8)
    assert not compare([model], runs=6, targets=[SPEED])
    assert run_natively([(model, [extremes])], [SPEED])


def test_a_1x1_convolution_works_in_place() -> None:
    """The output has fewer channels than the input, so it can overwrite the input at the same address."""
    model = conv((1, 4, 5, 8), (6, 1, 1, 8))
    chosen = variant_of(model.main, model.main.ops[0], SPEED)
    assert chosen is not None and chosen.in_place(model.main, model.main.ops[0], SPEED) == ((0, 0),)
    generated = lower(model, target=SPEED)
    graph = generated.model.main
    assert generated.plan.offsets[graph.inputs[0]] == generated.plan.offsets[graph.outputs[0]]


def test_model_data_has_only_weights_biases_and_padding() -> None:
    for name, model in BLOCKS.items():
        generated = lower(model, target=SPEED)
        filters = sum(c.weight_bytes for c in generated.constants)
        tensors = {t.index: t for t in generated.model.main.tensors}
        w, bias = (tensors[generated.model.main.ops[0].inputs[k]] for k in (1, 2))
        out_c = bias.elements
        depth = w.elements // out_c
        pairs = -(-out_c // 2)
        # Each run of taps is padded to a multiple of four, and an odd number of channels to pairs.
        max_bytes = pairs * 2 * (depth + 3 * w.shape[1] * w.shape[2] + 4)
        assert w.nbytes + bias.nbytes <= filters <= max_bytes, name
