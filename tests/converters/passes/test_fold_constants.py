"""Constant folding never changes an output, and removes every operator whose result is constant."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import DTYPES, Model, Quantization
from arenite.converters.passes.evaluate_constants import EvaluationError, evaluate
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError
from arenite.host.bench.reference import Reference
from arenite.processes import run
from tests.fuzz.cases import ALONE, load_all
from tests.fuzz.comparison import compare, random_input
from tests.fuzz.graph_builder import GraphBuilder


def keras_reshape(b: GraphBuilder, x: int, tail: tuple[int, ...]) -> int:
    """Reshape ``x`` to (batch, *tail) like a Keras export, and return the new tensor."""
    shape = b.tensor((len(b[x].shape),), "int32")
    b.op("SHAPE", [x], [shape], "ShapeOptions", out_type=2)
    batch = b.tensor((), "int32")
    ends = [b.const([v], "int32") for v in (0, 1, 1)]
    b.op("STRIDED_SLICE", [shape, *ends], [batch], "StridedSliceOptions", shrink_axis_mask=1)
    packed = b.tensor((1 + len(tail),), "int32")
    dims = [b.const(d, "int32") for d in tail]
    b.op("PACK", [batch, *dims], [packed], "PackOptions", values_count=1 + len(tail))
    y = b.tensor((b[x].shape[0], *tail), b[x].dtype, b[x].quant)
    b.op("RESHAPE", [x, packed], [y], "ReshapeOptions", new_shape=None)
    return y


def names(model: Model) -> list[str]:
    """Return the names of the operators."""
    return [op.name for op in model.main.ops]


def outputs(model: Model, seed: int = 0) -> list[np.ndarray]:
    """Return LiteRT's outputs for random inputs."""
    rng = np.random.default_rng(seed)
    inputs = [random_input(model.main.tensors[i], rng) for i in model.main.inputs]
    return Reference(to_flatbuffer(model)).run(inputs)


def assert_same_outputs(a: Model, b: Model) -> None:
    """Check that LiteRT gives equal bytes for both models."""
    for expected, actual in zip(outputs(a), outputs(b), strict=True):
        assert expected.dtype == actual.dtype and expected.shape == actual.shape
        assert expected.tobytes() == actual.tobytes()


def test_shape_arithmetic_of_a_keras_export_is_folded() -> None:
    b = GraphBuilder()
    x = b.input((1, 4, 6), "int8", b.quant())
    keras_reshape(b, x, (8, 3))
    model = b.build()
    folded, notes = fold_constants(model)
    assert names(folded) == ["RESHAPE"]
    shape = folded.main.tensors[folded.main.ops[0].inputs[1]]
    assert shape.data is not None and shape.data.tolist() == [1, 8, 3]
    assert [n.split()[2] for n in notes[:3]] == ["SHAPE", "STRIDED_SLICE", "PACK"]
    assert all(n.endswith(".") for n in notes)
    assert_same_outputs(model, folded)
    assert compare([folded]) == []


def test_a_model_without_constants_is_returned_unchanged() -> None:
    b = GraphBuilder()
    x = b.input((1, 4), "int8", b.quant())
    y = b.tensor((4,), "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const([4], "int32")], [y], "ReshapeOptions", new_shape=None)
    model = b.build()
    folded, notes = fold_constants(model)
    assert folded is model and notes == ()


def test_folding_a_second_time_changes_nothing() -> None:
    b = GraphBuilder()
    x = b.input((2, 6), "int8", b.quant())
    keras_reshape(b, x, (3, 2))
    b.tensor((3,), "int8", b.quant())  # used by no operator
    folded, notes = fold_constants(b.build())
    unchanged, more_notes = fold_constants(folded)
    assert notes and more_notes == () and unchanged is folded


def test_folding_is_deterministic() -> None:
    b = GraphBuilder()
    x = b.input((2, 6), "int8", b.quant())
    keras_reshape(b, x, (3, 2))
    first, second = (fold_constants(b.build()) for _ in range(2))
    assert to_flatbuffer(first[0]) == to_flatbuffer(second[0]) and first[1] == second[1]


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_stored_weights_are_dequantized(dtype: str) -> None:
    b = GraphBuilder()
    values = np.arange(-12, 12).reshape(4, 6)
    quant = Quantization((0.5, 0.25, 2.0, 1.5), (0,) * 4, 0) if dtype == "int8" else None
    w = b.const(values, dtype, quant)
    out = b.tensor((4, 6), "float32")
    b.op("DEQUANTIZE", [w], [out], "DequantizeOptions", version=5 if dtype == "int8" else 3)
    x = b.input((1, 6), "float32")
    y = b.tensor((1, 4), "float32")
    b.op("FULLY_CONNECTED", [x, out, -1], [y], "FullyConnectedOptions", version=3)
    model = b.build()
    folded, _ = fold_constants(model)
    assert names(folded) == ["FULLY_CONNECTED"]
    data = folded.main.tensors[folded.main.ops[0].inputs[1]].data
    scale = np.array(quant.scale)[:, None] if quant else 1.0
    assert data is not None and np.array_equal(data, (values * scale).astype(np.float32))
    assert_same_outputs(model, folded)


def test_dead_operators_and_tensors_are_removed() -> None:
    b = GraphBuilder()
    x = b.input((4,), "int8", b.quant())
    shape = b.const([2, 2], "int32")
    dead = b.tensor((2, 2), "int8", b[x].quant)
    b.op("RESHAPE", [x, shape], [dead], "ReshapeOptions", new_shape=None)
    live = b.tensor((2, 2), "int8", b[x].quant)
    b.op("RESHAPE", [x, shape], [live], "ReshapeOptions", new_shape=None)
    model = b.build()
    model = replace(model, subgraphs=(replace(model.main, outputs=(live,)),))
    folded, notes = fold_constants(model)
    assert notes[0] == "Operator 0 RESHAPE is never used: removed."
    assert len(folded.main.ops) == 1 and folded.main.ops[0].index == 0
    assert len(folded.main.tensors) == 3
    assert [t.index for t in folded.main.tensors] == [0, 1, 2]
    assert_same_outputs(model, folded)


def test_constant_graph_outputs_are_still_outputs() -> None:
    b = GraphBuilder()
    x = b.input((2, 3), "int8", b.quant())
    shape = b.tensor((2,), "int32")
    b.op("SHAPE", [x], [shape], "ShapeOptions", out_type=2)
    y = b.tensor((6,), "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const([6], "int32")], [y], "ReshapeOptions", new_shape=None)
    model = b.build()
    constant = b.const([3, 1, 4], "int16")
    main = replace(model.main, tensors=tuple(b.tensors), outputs=(*model.main.outputs, constant, shape))
    model = replace(model, subgraphs=(main,))
    folded, notes = fold_constants(model)
    assert names(folded) == ["RESHAPE"] * 3
    assert len(notes) == 1
    expected, actual = (
        outputs(model),
        Reference(to_flatbuffer(folded)).run(
            [random_input(folded.main.tensors[i], np.random.default_rng(0)) for i in folded.main.inputs]
        ),
    )
    assert [e.tolist() for e in expected] == [a.tolist() for a in actual]
    assert compare([folded]) == []
    assert fold_constants(folded) == (folded, ())


def test_signatures_refer_to_the_new_tensor_numbers() -> None:
    b = GraphBuilder()
    x = b.input((2, 6), "int8", b.quant())
    y = keras_reshape(b, x, (3, 2))
    model = parse(to_flatbuffer(b.build()))  # the reader adds a signature
    folded, _ = fold_constants(model)
    assert folded.signatures[0].outputs[0][1] == folded.main.outputs[0] != y
    assert_same_outputs(model, folded)


def test_the_error_of_a_dynamic_shape_names_operator_and_tensor() -> None:
    b = GraphBuilder()
    x, s = b.input((6,), "int8", b.quant()), b.input((2,), "int32")
    y = b.tensor((1, 1), "int8", b[x].quant)
    b.op("RESHAPE", [x, s], [y], "ReshapeOptions", new_shape=None)
    b2 = GraphBuilder()
    n = b2.input((), "int32")
    out = b2.tensor((1,), "int32")
    b2.op("FILL", [n, b2.const(3, "int32")], [out], "FillOptions")
    with pytest.raises(UnsupportedModelError, match=r"operator 0 FILL, tensor 0 't0'.*run time"):
        fold_constants(b2.build())
    fixed_y = replace(b.tensors[y], shape=(2, 3))
    b.tensors[y] = fixed_y
    with pytest.raises(UnsupportedModelError, match=r"operator 0 RESHAPE, tensor 1 't1'"):
        fold_constants(b.build())


def test_a_shape_that_the_exporter_guessed_is_corrected() -> None:
    """For a dynamic batch, exporters state 1 as the merged dimension instead of batch x time."""
    b = GraphBuilder()
    x = b.input((1, 4, 6), "int8", b.quant())
    merged = b.tensor((1, 6), "int8", b[x].quant)
    b.op("RESHAPE", [x, b.const([-1, 6], "int32")], [merged], "ReshapeOptions", new_shape=None)
    t = b.tensor((6, 1), "int8", b[x].quant)
    b.op("TRANSPOSE", [merged, b.const([1, 0], "int32")], [t], "TransposeOptions")
    keras_reshape(b, t, (2, 2))
    model = b.build()
    folded, notes = fold_constants(model)
    assert [folded.main.tensors[op.outputs[0]].shape for op in folded.main.ops] == [(4, 6), (6, 4), (6, 2, 2)]
    assert sum("not [1, 6] as the file says" in n for n in notes) == 1
    assert_same_outputs(model, folded)


def test_a_wrong_shape_is_not_changed() -> None:
    b = GraphBuilder()
    x = b.input((2, 4), "int8", b.quant())
    y = b.tensor((3, 2), "int8", b[x].quant)
    b.op("TRANSPOSE", [x, b.const([1, 0], "int32")], [y], "TransposeOptions")
    model = b.build()
    assert fold_constants(model) == (model, ())


def test_constants_that_litert_cannot_evaluate_are_refused() -> None:
    b = GraphBuilder()
    x = b.input((1, 6), "int8", b.quant())
    bad = b.tensor((2, 2), "int32")  # three elements do not fit
    b.op(
        "RESHAPE",
        [b.const([1, 2, 3], "int32"), b.const([2, 2], "int32")],
        [bad],
        "ReshapeOptions",
        new_shape=None,
    )
    y = b.tensor((2, 3), "int8", b[x].quant)
    b.op("RESHAPE", [x, bad], [y], "ReshapeOptions", new_shape=None)
    with pytest.raises(UnsupportedModelError, match="RESHAPE"):
        fold_constants(b.build())


def test_a_crash_of_litert_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(command: list[str], **options: Any) -> object:
        return run([sys.executable, "-c", "import os; os.abort()"], **options)

    monkeypatch.setattr("arenite.converters.passes.evaluate_constants.run", killed)
    with pytest.raises(EvaluationError, match="signal 6"):
        evaluate(GraphBuilder().build())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_folding_keeps_every_output(seed: int) -> None:
    """Random graphs use every operator of the fuzzer; some of their inputs are constant."""
    cases = load_all()
    rng = np.random.default_rng([77, seed])
    b = GraphBuilder(rng)
    for name in rng.choice(sorted(set(cases) - ALONE), 12):
        cases[str(name)](b)
    data = [t for t in b.inputs if DTYPES[b[t].dtype] is not None]
    for i in data:
        if rng.random() < 0.6:
            b.tensors[i] = replace(b.tensors[i], data=random_input(b.tensors[i], rng))
            b.inputs.remove(i)
    x = b.pick(("int8",), 3)
    keras_reshape(b, x, tuple(reversed(b[x].shape[1:])))
    model = b.build()
    folded, notes = fold_constants(model)
    # A constant that is an output of the graph gets a RESHAPE, so RESHAPEs do not count.
    assert notes and count_without_reshapes(folded) < count_without_reshapes(model)
    assert_same_outputs(model, folded)


def count_without_reshapes(model: Model) -> int:
    """Return the number of operators other than RESHAPE."""
    return sum(op.name != "RESHAPE" for op in model.main.ops)
