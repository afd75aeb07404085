"""Channels are removed only if no output changes."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.graph.quantized_arithmetic import SAME, VALID
from arenite.converters.importers.load import load_any
from arenite.converters.passes.constant_channels import constant_channels
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.pass_report import layer_macs
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import parse
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.passes.constant_channel_models import assert_same, dead_channel_model
from tests.converters.passes.layer_models import add, conv, dense, quant, shapes
from tests.development_models import shared_model
from tests.fuzz.graph_builder import GraphBuilder

RNG = np.random.default_rng(5)
#: Biases that make a channel constant: CLOSED makes a ReLU's output always 0, FULL makes it always 127, and FIVE gives
#: zero point + 5.
CLOSED, FULL, FIVE = -(1 << 20), 1 << 20, 5


def rewritten(model: Model, multiple: int = 1) -> Model:
    """Return the model after the pass. Check that outputs are the same, the model is valid, and a second run removes
    nothing. If the number of channels of a layer is a multiple of ``multiple``, it stays a multiple."""
    check_supported(model)
    small, _ = constant_channels(model, multiple=multiple)
    check_supported(small)
    assert_same(model, small)
    unchanged, report = constant_channels(small, multiple=multiple)
    assert report is None and unchanged is small
    return small


def weights(*shape: int) -> np.ndarray:
    """Return random positive weights of this shape."""
    return RNG.integers(1, 4, shape)


def test_channels_at_the_zero_point_are_removed_across_padded_layers() -> None:
    b = GraphBuilder()
    x = b.input((1, 6, 6, 3), "int8", quant(0))
    y = conv(b, x, weights(4, 3, 3, 3), [0, CLOSED, 7, CLOSED])
    y = conv(b, y, weights(1, 3, 3, 4), [0, 0, -3, 0], name="DEPTHWISE_CONV_2D")
    conv(b, y, weights(2, 3, 3, 4), [1, 2])
    small = rewritten(b.build())
    assert shapes(small, "CONV_2D") == [(1, 6, 6, 2), (1, 6, 6, 2)]
    assert shapes(small, "DEPTHWISE_CONV_2D") == [(1, 6, 6, 2)]
    assert [small.main.tensors[op.inputs[1]].shape for op in small.main.ops] == [
        (2, 3, 3, 3),
        (1, 3, 3, 2),
        (2, 3, 3, 2),
    ]


def constant_of_five(padding: int, kernel: int) -> Model:
    """Return a model with a channel that is always zero point + 5 (weights 0), read by a convolution."""
    b = GraphBuilder()
    x = b.input((1, 6, 6, 2), "int8", quant(0))
    w = weights(3, 1, 1, 2)
    w[1] = 0
    y = conv(b, x, w, [0, FIVE, 0])
    conv(b, y, weights(2, kernel, kernel, 3), [-20, 4])
    b.ops[-1].options["padding"] = padding  # type: ignore[index]
    if padding == VALID:
        b.tensors[-1] = b.tensors[-1].__class__(
            **{**vars(b.tensors[-1]), "shape": (1, 7 - kernel, 7 - kernel, 2)}
        )
    return b.build()


def test_another_constant_folds_into_the_bias_of_a_layer_without_padding() -> None:
    for padding, kernel in ((VALID, 3), (SAME, 1)):
        model = constant_of_five(padding, kernel)
        small = rewritten(model)
        assert shapes(small, "CONV_2D")[0][3] == 2
        biases = [m.main.tensors[m.main.ops[1].inputs[2]].data for m in (model, small)]
        taps = model.main.tensors[model.main.ops[1].inputs[1]].data
        assert taps is not None and biases[0] is not None and biases[1] is not None
        assert np.array_equal(biases[1] - biases[0], FIVE * taps[..., 1].astype(int).sum(axis=(1, 2)))


def test_another_constant_stays_if_padding_changes_the_sum_at_the_border() -> None:
    model = constant_of_five(SAME, 3)
    small, report = constant_channels(model, multiple=1)
    assert small is model and report is None


def test_another_constant_is_removed_if_its_weights_ignore_the_border() -> None:
    """Only the middle tap reads the constant channel, and this tap is always inside the image."""
    model = constant_of_five(SAME, 3)
    w = model.main.tensors[model.main.ops[1].inputs[1]].data
    assert w is not None
    middle = w[:, 1, 1, 1].copy()
    w[..., 1] = 0
    w[:, 1, 1, 1] = middle
    assert shapes(rewritten(model), "CONV_2D")[0][3] == 2


def test_a_padded_depthwise_layer_keeps_its_constant_input() -> None:
    b = GraphBuilder()
    x = b.input((1, 5, 5, 2), "int8", quant(0))
    w = weights(2, 1, 1, 2)
    w[1] = 0
    y = conv(b, x, w, [0, FIVE])
    y = conv(b, y, weights(1, 3, 3, 2), [0, 0], name="DEPTHWISE_CONV_2D")
    dense(b, y, weights(2, 50), [0, 0])
    model = b.build()
    assert constant_channels(model, multiple=1)[0] is model


def test_a_constant_channel_of_a_depthwise_layer_removes_its_input_channel() -> None:
    """The output is constant, the input is not: no operator needs the input, so its producer loses the channel too."""
    b = GraphBuilder()
    x = b.input((1, 5, 5, 2), "int8", quant(0))
    y = conv(b, x, weights(3, 1, 1, 2), [0, 0, 0])
    y = conv(b, y, weights(1, 3, 3, 6), [0, 0, CLOSED, CLOSED, 0, CLOSED], name="DEPTHWISE_CONV_2D")
    conv(b, y, weights(2, 1, 1, 6), [0, 0])
    small = rewritten(b.build())
    # Input channel 2 stays with both outputs, because one of them varies.
    assert shapes(small, "DEPTHWISE_CONV_2D") == [(1, 5, 5, 4)]
    assert shapes(small, "CONV_2D") == [(1, 5, 5, 2), (1, 5, 5, 2)]


def test_unread_channels_are_removed_with_everything_that_computes_them() -> None:
    b = GraphBuilder()
    x = b.input((1, 4, 4, 2), "int8", quant(0))
    y = conv(b, x, weights(4, 1, 1, 2), [0, 0, 0, 0])
    w = weights(3, 1, 1, 4)
    w[2] = 0
    w[2, 0, 0, 3] = 1  # only channel 2 reads channel 3 of y
    w[:2, :, :, 3] = 0
    y = conv(b, y, w, [0, 0, 0])
    w = weights(2, 1, 1, 3)
    w[..., 2] = 0
    conv(b, y, w, [0, 0])
    assert [s[3] for s in shapes(rewritten(b.build()), "CONV_2D")] == [3, 2, 2]


@pytest.mark.parametrize("both", [True, False])
def test_a_residual_sum_loses_a_channel_on_both_sides_or_not_at_all(both: bool) -> None:
    b = GraphBuilder()
    x = b.input((1, 4, 4, 3), "int8", quant(0))
    first = conv(b, x, weights(3, 1, 1, 3), [0, CLOSED, 0])
    branch = conv(b, first, weights(3, 3, 3, 3), [0, CLOSED if both else 0, CLOSED])
    conv(b, add(b, first, branch), weights(2, 1, 1, 3), [0, 0])
    model = b.build()
    if both:
        small = rewritten(model)
        assert shapes(small, "ADD") == [(1, 4, 4, 2)]
        assert [s[3] for s in shapes(small, "CONV_2D")] == [2, 2, 2]
    else:
        assert constant_channels(model, multiple=1)[0] is model


def test_a_flattened_image_loses_every_position_of_a_channel() -> None:
    b = GraphBuilder()
    x = b.input((1, 3, 3, 2), "int8", quant(0))
    y = conv(b, x, weights(3, 1, 1, 2), [0, FULL, 0])
    flat = b.tensor((1, 27), "int8", b[y].quant)
    b.op("RESHAPE", [y, b.const([1, 27], "int32")], [flat], "ReshapeOptions", new_shape=(1, 27))
    dense(b, flat, RNG.integers(-2, 3, (4, 27)), None)
    small = rewritten(b.build())
    assert shapes(small, "RESHAPE") == [(1, 18)]
    bias = small.main.tensors[small.main.ops[-1].inputs[2]]
    assert bias.dtype == "int32" and bias.data is not None and bias.data.any()


def test_inputs_and_outputs_of_the_graph_keep_their_channels() -> None:
    b = GraphBuilder()
    x = b.input((1, 3, 3, 3), "int8", quant(0))
    w = weights(3, 1, 1, 3)
    w[..., 1] = 0  # input channel 1 is not read
    conv(b, x, w, [0, CLOSED, 0])
    model = b.build()
    assert constant_channels(model, multiple=1)[0] is model


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_completely_constant_layer_keeps_one_or_two_channels(per_channel: bool) -> None:
    """The layer keeps two channels if its weights have a scale per channel, because a single scale would be read as
    a scale per tensor."""
    b = GraphBuilder()
    x = b.input((1, 3, 3, 2), "int8", quant(0))
    y = conv(b, x, weights(4, 1, 1, 2), [CLOSED, FULL, CLOSED, CLOSED], per_channel=per_channel)
    conv(b, y, weights(2, 1, 1, 4), [3, 4])
    assert shapes(rewritten(b.build()), "CONV_2D")[0][3] == (2 if per_channel else 1)


def test_a_multiple_of_four_channels_stays_a_multiple_of_four() -> None:
    b = GraphBuilder()
    x = b.input((1, 3, 3, 2), "int8", quant(0))
    y = conv(b, x, weights(12, 1, 1, 2), [CLOSED] * 5 + [0] * 7)
    y = conv(b, y, weights(6, 1, 1, 12), [CLOSED] + [0] * 5)  # 6 is no multiple of 4, so any number may stay
    conv(b, y, weights(2, 1, 1, 6), [3, 4])
    assert [s[3] for s in shapes(rewritten(b.build(), multiple=4), "CONV_2D")] == [8, 5, 2]


def test_weights_that_two_layers_share_are_reduced_for_each() -> None:
    b = GraphBuilder()
    x = b.input((1, 3, 3, 4), "int8", quant(0))
    y = conv(b, x, weights(4, 1, 1, 4), [0, CLOSED, 0, 0])
    z = conv(b, y, weights(4, 1, 1, 4), [0, 0, CLOSED, 0])
    first, second = b.ops
    b.ops[1] = second.__class__(**{**vars(second), "inputs": (y, first.inputs[1], second.inputs[2])})
    conv(b, z, weights(2, 1, 1, 4), [0, 0])
    assert [s[3] for s in shapes(rewritten(b.build()), "CONV_2D")] == [3, 3, 2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("multiple", [1, 4])
def test_random_networks_with_dead_channels_keep_every_output_byte(seed: int, multiple: int) -> None:
    model = dead_channel_model([40, seed])
    check_supported(model)
    small, report = constant_channels(model, multiple=multiple)
    if report is not None:
        check_supported(small)
        assert_same(parse(to_flatbuffer(model)), parse(to_flatbuffer(small)), seed)
        assert sum(c.macs_after for c in report.layers) < sum(c.macs_before for c in report.layers)
        for layer in report.layers:
            assert layer.macs_after > 0 and 0 <= layer.removed < layer.channels


def test_most_networks_with_dead_channels_lose_channels() -> None:
    has_report = [
        constant_channels(dead_channel_model([40, seed]), multiple=1)[1] is not None for seed in range(25)
    ]
    assert sum(has_report) > 18


@pytest.mark.parametrize(
    ("name", "min_saving"),
    # The share of MACs that the pass removes at least. Only the first model has constant channels.
    [("vww01_int8", 0.49), ("ic01_int8", 0), ("kws01_int8", 0), ("sww01_int8", 0), ("ad01_int8", 0)],
)
def test_person_detection_saves_half_of_its_macs(name: str, min_saving: float) -> None:
    model, _ = fold_constants(load_any(shared_model(name)))
    small, report = constant_channels(model)
    before, after = (sum(layer_macs(m.main, op) for op in m.main.ops) for m in (model, small))
    assert 1 - after / before >= min_saving
    assert (report is not None) == (min_saving > 0)
    if report is not None:
        assert_same(model, small, runs=3)
