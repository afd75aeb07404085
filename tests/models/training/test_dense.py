"""Dense networks that are trained with NumPy: the optimizer fits, and the model computes the same as the layers."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from arenite.converters.tflite.writer import to_flatbuffer
from arenite.models.training.dense import Adam, dense_model

RNG = np.random.default_rng(3)


def test_the_optimizer_finds_a_line() -> None:
    x = RNG.normal(size=200)
    slope, offset = np.zeros(1), np.zeros(1)
    adam = Adam([slope, offset], 0.05)
    for _ in range(500):
        error = slope * x + offset - (3 * x - 1)
        adam.update([np.array([(error * x).mean()]), np.array([error.mean()])])
    assert slope[0] == pytest.approx(3, abs=0.01) and offset[0] == pytest.approx(-1, abs=0.01)


@pytest.mark.parametrize("softmax", [False, True])
def test_the_model_computes_its_layers(softmax: bool) -> None:
    layers = [RNG.normal(size=shape) for shape in ((6, 4), (6,), (3, 6), (3,))]
    x = RNG.normal(size=(1, 4)).astype(np.float32)
    values = np.maximum(x @ layers[0].T + layers[1], 0) @ layers[2].T + layers[3]
    if softmax:
        values = np.exp(values) / np.exp(values).sum()
    interpreter = Interpreter(
        model_content=to_flatbuffer(dense_model(layers, softmax=softmax)),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    output = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(output, values, rtol=1e-4, atol=1e-5)
