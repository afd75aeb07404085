"""A TRANSPOSE before a reduction or a fully connected layer is removed: the reduction gets other axes, the layer
gets its weights in another order. LiteRT computes the float32 outputs of both models, which are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.importers.litert_runs import random_inputs, run_litert
from arenite.converters.importers.remove_transposes import remove_transposes
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.small_models import Net, conv_net


class FloatNet(Net):
    """Builds float32 operators after a TRANSPOSE of a 4 x 6 x 3 image, by default to channels first."""

    def __init__(self, order: list[int] | None = None) -> None:
        super().__init__(6)
        self.image = self.tensor((1, 4, 6, 3), "float32", quant=None)
        self.inputs.append(self.image)
        order = order or [0, 3, 1, 2]
        shape = tuple((1, 4, 6, 3)[k] for k in order)
        self.first = self.float_op("TRANSPOSE", [self.image, self.ints(order)], shape, "TransposeOptions")

    def float_op(
        self, name: str, inputs: list[int], shape: tuple[int, ...], options: str, **values: Any
    ) -> int:
        """Add an operator with a float32 output and return the output."""
        return self.op(name, inputs, shape, "float32", options=options, quant=None, **values)

    def layer(self, flat: int, columns: int, rows: int) -> int:
        """Add a fully connected layer with ``columns`` inputs and ``rows`` outputs, and return its output."""
        w = self.tensor(
            (rows, columns), "float32", data=self.rng.standard_normal((rows, columns)), quant=None
        )
        b = self.tensor((rows,), "float32", data=self.rng.standard_normal(rows), quant=None)
        return self.float_op("FULLY_CONNECTED", [flat, w, b], (1, rows), "FullyConnectedOptions")

    def flat(self, tensor: int) -> int:
        """Reshape the image to its 72 elements, and return the result."""
        return self.float_op(
            "RESHAPE", [tensor, self.ints([1, 72])], (1, 72), "ReshapeOptions", new_shape=(1, 72)
        )


def check(model: Model, expected_ops: list[str]) -> None:
    """Check which operators remain, and that outputs change only by the order of floating-point sums."""
    rewritten, notes = remove_transposes(model)
    assert [op.name for op in rewritten.main.ops] == expected_ops
    assert bool(notes) == (rewritten is not model)
    samples = random_inputs(model)
    before, after = run_litert(to_flatbuffer(model), samples), run_litert(to_flatbuffer(rewritten), samples)
    for expected, actual in zip(before, after, strict=True):
        for e, g in zip(expected, actual, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [[2, 3], [3, -2], [3], [1, 2, 3]])
def test_a_reduction_takes_other_axes(axes: list[int]) -> None:
    n = FloatNet()
    shape = tuple(d for k, d in enumerate((1, 3, 4, 6)) if k not in [a % 4 for a in axes])
    y = n.float_op("MEAN", [n.first, n.ints(axes)], shape, "ReducerOptions", keep_dims=False)
    # The MEAN over columns has shape [1, 3, 4]: channels before rows. No MEAN of the image itself gives this order.
    check(n.model([y]), ["TRANSPOSE", "MEAN"] if axes == [3] else ["MEAN"])


def test_a_reduction_that_keeps_its_dimensions_keeps_the_transpose() -> None:
    n = FloatNet()
    y = n.float_op("MEAN", [n.first, n.ints([2, 3])], (1, 3, 1, 1), "ReducerOptions", keep_dims=True)
    check(n.model([y]), ["TRANSPOSE", "MEAN"])


@pytest.mark.parametrize("order", [[0, 3, 1, 2], [0, 2, 1, 3], [0, 3, 2, 1]])
def test_a_fully_connected_layer_gets_its_weights_in_another_order(order: list[int]) -> None:
    n = FloatNet(order)
    check(n.model([n.layer(n.flat(n.first), 72, 5)]), ["RESHAPE", "FULLY_CONNECTED"])


def test_a_reshape_can_feed_two_fully_connected_layers() -> None:
    n = FloatNet()
    flat = n.flat(n.first)
    check(
        n.model([n.layer(flat, 72, 5), n.layer(flat, 72, 2)]),
        ["RESHAPE", "FULLY_CONNECTED", "FULLY_CONNECTED"],
    )


def test_a_transpose_with_another_reader_is_kept_for_that_reader() -> None:
    n = FloatNet()
    y = n.layer(n.flat(n.first), 72, 5)
    check(n.model([y, n.first]), ["TRANSPOSE", "RESHAPE", "FULLY_CONNECTED"])


def test_a_reshape_with_another_reader_is_not_changed() -> None:
    n = FloatNet()
    flat = n.flat(n.first)
    y = n.layer(flat, 72, 5)
    check(n.model([y, flat]), ["TRANSPOSE", "RESHAPE", "FULLY_CONNECTED"])


def test_a_layer_over_rows_is_not_changed() -> None:
    n = FloatNet()
    rows = n.float_op("RESHAPE", [n.first, n.ints([3, 24])], (3, 24), "ReshapeOptions", new_shape=(3, 24))
    w = n.tensor((2, 24), "float32", data=n.rng.standard_normal((2, 24)), quant=None)
    y = n.float_op("FULLY_CONNECTED", [rows, w, -1], (3, 2), "FullyConnectedOptions")
    check(n.model([y]), ["TRANSPOSE", "RESHAPE", "FULLY_CONNECTED"])


def test_a_model_without_transposes_is_not_changed() -> None:
    model = conv_net()
    rewritten, notes = remove_transposes(model)
    assert rewritten is model and notes == ()
