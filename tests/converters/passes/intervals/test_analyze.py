"""The intervals of ``analyze_intervals`` contain every value that LiteRT computes. An interval is
the smallest and the largest stored value of a channel. For a layer so small that the test can try all inputs, the
intervals have exactly the smallest and the largest value."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from arenite.converters.graph.model import Model
from arenite.converters.passes.intervals import analyze_intervals
from arenite.converters.tflite.image import to_flatbuffer
from tests.converters.passes.constant_channel_models import dead_channel_model
from tests.converters.passes.layer_models import add, conv, dense, quant
from tests.fuzz.campaign import random_model
from tests.fuzz.comparison import random_input
from tests.fuzz.graph_builder import GraphBuilder


class WatchedModel:
    """Runs a model in LiteRT with all tensors preserved. ``run`` maps each int8 tensor's index to its values."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._interpreter = Interpreter(
            model_content=to_flatbuffer(model),
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
            num_threads=1,
        )
        self._interpreter.allocate_tensors()

    def run(self, inputs: list[np.ndarray]) -> dict[int, np.ndarray]:
        """Run the model and return the values of its int8 tensors."""
        graph = self.model.main
        for index, value in zip(graph.inputs, inputs, strict=True):
            self._interpreter.set_tensor(index, value)
        self._interpreter.invoke()
        computed = {*graph.inputs, *(i for op in graph.ops for i in op.outputs)}
        return {
            i: self._interpreter.get_tensor(i)
            for i in computed
            if graph.tensors[i].dtype == "int8" and graph.tensors[i].shape
        }


def assert_contained(model: Model, seed: int, runs: int = 5) -> None:
    """Check that all values that LiteRT computes for random and extreme inputs are in the intervals."""
    rng = np.random.default_rng(seed)
    intervals, watched = analyze_intervals(model.main), WatchedModel(model)
    tensors = [model.main.tensors[i] for i in model.main.inputs]
    feeds = [[random_input(t, rng) for t in tensors] for _ in range(runs)]
    feeds += [[np.full(t.shape, v).astype(t.dtype) for t in tensors] for v in (-128, 127)]
    for feed in feeds:
        for index, value in watched.run(feed).items():
            rows = value.reshape(-1, value.shape[-1])
            assert (rows >= intervals[index].low).all() and (rows <= intervals[index].high).all(), index


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_in_networks(seed: int) -> None:
    assert_contained(dead_channel_model([41, seed]), seed)


@pytest.mark.parametrize(
    "name",
    [
        "ADD",
        "AVERAGE_POOL_2D",
        "CONCATENATION",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "MAXIMUM",
        "MAX_POOL_2D",
        "MEAN",
        "MINIMUM",
        "MUL",
        "PAD",
        "QUANTIZE",
        "RELU",
        "RELU6",
        "RELU_0_TO_1",
        "RELU_N1_TO_1",
        "RESHAPE",
        "RESIZE_NEAREST_NEIGHBOR",
        "SUB",
    ],
)
def test_bounds_hold_for_each_operator(name: str) -> None:
    """The tested operator has random parameters, and the operators before it narrow the range of its inputs."""
    for case in range(12):
        model = random_model(42, case, [name, "CONV_2D", "ADD", name], 4)
        assert_contained(model, case, runs=2)


@pytest.mark.parametrize("zero", [-128, -7, 127])
def test_bounds_of_a_small_layer_are_reached(zero: int) -> None:
    """The layer reads one channel of one pixel, so all 256 inputs can be tried."""
    b = GraphBuilder()
    x = b.input((256, 1, 1, 1), "int8", quant(zero))
    conv(b, x, [[[[3]]], [[[-2]]], [[[0]]], [[[1]]]], [0, 9, 4, -30], zero=-100, activation=3)
    model = b.build()
    feed = np.arange(-128, 128, dtype=np.int8).reshape(256, 1, 1, 1)
    (y,) = model.main.outputs
    values = WatchedModel(model).run([feed])[y].reshape(256, 4)
    assert analyze_intervals(model.main)[y].low.tolist() == values.min(axis=0).tolist()
    assert analyze_intervals(model.main)[y].high.tolist() == values.max(axis=0).tolist()


def test_padding_is_considered_only_at_the_border() -> None:
    """The input is constant. At the border, some taps are outside the input. The bounds consider only the combinations
    of taps that some output has."""
    b = GraphBuilder()
    x = b.input((1, 5, 5, 1), "int8", quant(0))
    y = conv(b, x, [[[[0]]]], [10])  # always 10 above the zero point
    taps = np.zeros((1, 3, 3, 1), int)
    # At each position, both taps are inside the input (sum 0), or one tap (sum 40 or -40), or, in two corners, no tap.
    taps[0, 0, 0], taps[0, 2, 2] = 4, -4
    z = conv(b, y, taps, [0], zero=0, activation=0)
    interval = analyze_intervals(b.build().main)[z]
    assert (interval.low.tolist(), interval.high.tolist()) == ([-40], [40])


def test_the_bounds_of_a_sum_depend_on_both_inputs() -> None:
    b = GraphBuilder()
    x = b.input((1, 1, 1, 2), "int8", quant(0))
    narrow = conv(b, x, [[[[0, 0]]], [[[0, 0]]]], [10, 20])
    z = add(b, narrow, narrow)
    interval = analyze_intervals(b.build().main)[z]
    assert interval.low.tolist() == interval.high.tolist() == [10, 20]  # twice the value at twice the scale


def test_the_bounds_of_a_fully_connected_layer_hold_for_both_roundings() -> None:
    """Single and double rounding turn 0.5 into 1. Single rounding turns -0.5 into -1, double rounding into 0 or -1."""
    b = GraphBuilder()
    x = b.input((1, 2), "int8", quant(0))
    y = dense(b, x, [[0, 0], [0, 0]], [1, -1])
    b.tensors[y] = b.tensors[y].__class__(**{**vars(b.tensors[y]), "quant": quant(0, 1 / 8)})
    interval = analyze_intervals(b.build().main)[y]
    assert interval.high.tolist() == [1, 0] and interval.low.tolist()[1] == -1
