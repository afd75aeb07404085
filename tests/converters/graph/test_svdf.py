"""The NumPy reference of SVDF with int8 state gives the bytes of TensorFlow Lite Micro."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.graph.svdf import TIME, Int8StateSvdf, has_int8_state
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm.runner import available as tflm_is_installed
from tests.converters.graph.tflm_runs import tflm_outputs
from tests.fuzz.cases.svdf import add_svdf, svdf_int8_state
from tests.fuzz.graph_builder import GraphBuilder


def one_svdf(seed: int, memory_type: str = "int8", biased: bool = False) -> Model:
    """Return a model of one random SVDF; with ``biased``, it is the first one from ``seed`` on that has a bias
    (input 3)."""
    while True:
        b = GraphBuilder(np.random.default_rng(seed))
        add_svdf(b, memory_type)
        model = b.build()
        if not biased or model.main.ops[0].input(3) >= 0:
            return model
        seed += 1000  # so that neighboring seeds give different models


def chained(seed: int) -> Model | None:
    """Return a random model of two SVDF, each of which feeds the next; None if ``seed`` gives another model."""
    b = GraphBuilder(np.random.default_rng(seed))
    svdf_int8_state(b)
    model = b.build()
    ops = model.main.ops
    return model if len(ops) == 2 and ops[1].inputs[0] == ops[0].outputs[0] else None


def inputs_of(model: Model, runs: int, seed: int) -> list[np.ndarray]:
    """Return ``runs`` random inputs of the model."""
    shape = model.main.tensors[model.main.inputs[0]].shape
    return [np.random.default_rng([seed, k]).integers(-128, 128, shape).astype(np.int8) for k in range(runs)]


def test_the_reference_gives_the_bytes_of_tflm_over_many_calls(tmp_path: Path) -> None:
    if not tflm_is_installed():
        pytest.skip("needs tflite-micro")
    models = [one_svdf(seed, biased=True) for seed in range(20)]  # TFLM aborts on an SVDF without a bias
    inputs = [inputs_of(model, 12, k) for k, model in enumerate(models)]
    outputs = tflm_outputs([to_flatbuffer(model) for model in models], inputs, tmp_path)
    for model, runs, actual in zip(models, inputs, outputs, strict=True):
        reference = Int8StateSvdf(model.main, model.main.ops[0])
        np.testing.assert_array_equal([reference.evaluate(values) for values in runs], actual)


def test_a_reset_restores_the_first_state() -> None:
    model = next(
        m for m in map(one_svdf, range(100)) if m.main.tensors[m.main.ops[0].inputs[TIME]].shape[1] > 4
    )
    reference = Int8StateSvdf(model.main, model.main.ops[0])
    inputs = inputs_of(model, 5, 3)
    first = [reference.evaluate(values) for values in inputs]
    assert any((reference.evaluate(v) != f).any() for v, f in zip(inputs, first, strict=True))
    reference.reset()
    for values, expected in zip(inputs, first, strict=True):
        np.testing.assert_array_equal(reference.evaluate(values), expected)


def test_both_interfaces_to_litert_use_the_reference() -> None:
    model = next(m for m in map(chained, range(100)) if m is not None)
    assert all(has_int8_state(model.main, op) for op in model.main.ops)
    flatbuffer = to_flatbuffer(model)
    bench, host = Reference(flatbuffer), LiteRtModel(flatbuffer, exact=True, keep=True)
    steps = [Int8StateSvdf(model.main, op) for op in model.main.ops]
    for values in inputs_of(model, 4, 8):
        expected = values
        for step in steps:
            step.reset()
            expected = step.evaluate(expected)
        host.run([values])
        np.testing.assert_array_equal(host.results()[0], expected)
        np.testing.assert_array_equal(bench.run([values])[0], expected)


def test_litert_computes_an_svdf_with_int16_state() -> None:
    model = one_svdf(5, "int16")
    assert not any(has_int8_state(model.main, op) for op in model.main.ops)
