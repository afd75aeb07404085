"""Tests of ONNX files of quantized models, in ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.onnx_export.export import to_onnx
from arenite.converters.onnx_export.operators import OPERATORS
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import random_samples
from tests.fuzz.campaign import random_model
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, counter, float_edges, quant, two_inputs

ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def largest_difference(model: Model) -> float:
    """Run random inputs in ONNX Runtime and in LiteRT's reference kernels, and return the largest difference of
    outputs: in steps, or for real numbers as a share of the largest number."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = ort.InferenceSession(to_onnx(model), options)
    reference = Reference(to_flatbuffer(model))
    names = [i.name for i in session.get_inputs()]
    largest = 0.0
    for row in random_samples([model.main.tensors[i] for i in model.main.inputs], 3).inputs:
        outputs = session.run(None, {n: np.asarray(v) for n, v in zip(names, row, strict=True)})
        for expected, output in zip(reference.run(row, reset=True), map(np.asarray, outputs), strict=True):
            assert (output.shape, output.dtype) == (expected.shape, expected.dtype)
            unit = 1.0 if expected.dtype.kind in "iu" else float(np.max(np.abs(expected), initial=0)) or 1.0
            difference = np.abs(output.astype(np.float64) - expected)
            largest = max(largest, float(np.max(difference, initial=0)) / unit)
    return largest


@pytest.mark.parametrize("op", OPERATORS)
def test_random_operators_agree_with_the_reference_kernels(op: str) -> None:
    compared = 0
    for number in range(40):
        model = random_model(1, number, [op], 1)
        try:
            difference = largest_difference(model)
        except UnsupportedModelError:
            continue  # other types, which ONNX has no quantized operators for
        assert difference <= 1, f"graph {number}"
        compared += 1
    assert compared >= 8


@pytest.mark.parametrize("model", [classifier(), two_inputs(), float_edges()])
def test_networks_agree_with_the_reference_kernels(model: Model) -> None:
    assert largest_difference(model) <= 2


def test_images_are_reordered_only_at_the_edges() -> None:
    """The layers between two convolutions keep ONNX' order of dimensions."""
    kinds = to_onnx(classifier())
    assert kinds.count(b"Transpose_") == 2  # before the first convolution, and before the RESHAPE


def test_a_model_with_a_state_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="The operator CALL_ONCE is not written as ONNX"):
        to_onnx(counter())


def test_other_types_are_refused() -> None:
    b = GraphBuilder()
    x = b.input((1, 4), "int16", quant(0.1))
    b.op("TANH", [x], [b.tensor((1, 4), "int16", quant(1 / 32768))])
    with pytest.raises(
        UnsupportedModelError, match="The operator TANH with int16 values is not written as ONNX"
    ):
        to_onnx(b.build())
