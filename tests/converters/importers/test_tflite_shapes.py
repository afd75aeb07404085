"""TensorFlow Lite files with open dimensions: --input-shape fixes them, and an open batch needs no option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.shapes import check_shapes
from arenite.converters.importers.imported_model import ImportedModel, ImportOptions
from arenite.converters.importers.litert_runs import random_inputs, run_litert
from arenite.converters.importers.sources import import_source
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError, UsageError
from tests.converters.importers.float_network import float_net
from tests.converters.small_models import Net, conv_net
from tests.converters.tflite.corrupted_files import change_tensor, corrupted


def _open_pictures(root: Any) -> None:
    """Make height and width of every computed tensor open, as TensorFlow's converter writes open dimensions: with
    size 1 in the shape and -1 in the shape signature."""
    g = root.subgraphs[0]
    computed = {*g.inputs, *(i for op in g.operators for i in op.outputs)}
    for index in computed:
        table = g.tensors[index]
        if len(table.shape) == 4:
            channels = int(table.shape[3])
            table.shape, table.shapeSignature = [1, 1, 1, channels], [1, -1, -1, channels]


def _import(folder: Path, data: bytes, **shapes: tuple[int, ...]) -> ImportedModel:
    """Import the file with these input shapes. The keyword ``_`` is the shape of the only input."""
    path = folder / "open.tflite"
    path.write_bytes(data)
    return import_source(str(path), options=ImportOptions({k.strip("_"): v for k, v in shapes.items()}))


def test_the_input_shape_gives_every_tensor_its_size(tmp_path: Path) -> None:
    fixed = conv_net()
    result = _import(tmp_path, corrupted(fixed, _open_pictures), _=(1, 8, 8, 3))
    assert result.kind == "tflite-quantised"
    model = parse(result.flatbuffer)
    check_shapes(model.main)
    assert [t.shape for t in model.main.tensors if not t.is_constant] == [
        t.shape for t in fixed.main.tensors if not t.is_constant
    ]
    samples = random_inputs(fixed)
    for a, b in zip(
        run_litert(to_flatbuffer(fixed), samples), run_litert(result.flatbuffer, samples), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert result.notes == ("The shapes are fixed for the inputs 't0' [1, 8, 8, 3].",)


def test_an_open_dimension_asks_for_the_input_shape(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match=r"\[1, -1, -1, 3\] has a dynamic dimension") as caught:
        _import(tmp_path, corrupted(conv_net(), _open_pictures))
    assert "--input-shape 1,?,?,3" in caught.value.hint


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"_": (1, 8, 8, 4)}, r"\[1, 8, 8, 4\] does not fit input 't0', which is \[1, \?, \?, 3\]"),
        ({"_": (8, 8, 3)}, r"\[8, 8, 3\] does not fit"),
        ({"image": (1, 8, 8, 3)}, "no input 'image'; its inputs are"),
    ],
)
def test_a_shape_that_does_not_fit_is_an_error(tmp_path: Path, shapes: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _import(tmp_path, corrupted(conv_net(), _open_pictures), **shapes)


def test_the_sizes_of_a_float_model_with_stored_weights_are_fixed(tmp_path: Path) -> None:
    data = corrupted(float_net("float16"), change_tensor(0, shape=[1, 6], shapeSignature=[-1, 6]))
    result = _import(tmp_path, data, _=(5, 6))
    model = parse(result.flatbuffer)
    assert [model.main.tensors[i].shape for i in (*model.main.inputs, *model.main.outputs)] == [
        (5, 6),
        (5, 3),
    ]
    assert result.agreement is not None and result.agreement.sqnr_db > 100


def test_a_batch_that_moves_inside_the_graph_is_fixed_at_1(tmp_path: Path) -> None:
    """After a TRANSPOSE, the batch is not the first dimension. After a RESHAPE, batch times time is stated as 1."""
    n = Net(1)
    x = n.tensor((1, 10, 6), "float32", quant=None)
    n.inputs.append(x)
    t = n.op(
        "TRANSPOSE", [x, n.ints([1, 0, 2])], (10, 1, 6), "float32", options="TransposeOptions", quant=None
    )
    rows = n.op("RESHAPE", [t, n.ints([-1, 6])], (10, 6), "float32", options="ReshapeOptions", quant=None)
    y = n.op("TANH", [rows], (10, 6), "float32", quant=None)
    model = n.model([y])

    def change(root: Any) -> None:
        for index, shape, signature in (
            (x, [1, 10, 6], [-1, 10, 6]),
            (t, [10, 1, 6], [10, -1, 6]),
            (rows, [1, 6], [-1, 6]),
            (y, [1, 6], [-1, 6]),
        ):
            change_tensor(index, shape=shape, shapeSignature=signature)(root)

    result = _import(tmp_path, corrupted(model, change))
    samples = random_inputs(model)
    for a, b in zip(
        run_litert(to_flatbuffer(model), samples), run_litert(result.flatbuffer, samples), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    check_shapes(parse(result.flatbuffer).main)
    assert any("batch dimension of 4 tensors" in note for note in result.notes)
