"""The lookup of embeddings in a float model becomes an operator that has an integer kernel."""

from __future__ import annotations

import numpy as np

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.weights.integer_weights import sqnr_db
from arenite.converters.tflite.litert.interpreter import run_outputs
from arenite.converters.tflite.reader import parse
from tests.converters.quantize.float_models import FloatNet, Samples
from tests.converters.quantize.quantized_runs import run


def test_an_embedding_lookup_becomes_gather() -> None:
    n = FloatNet(2)
    tokens = n.tensor((6,), "int32", quant=None)
    n.inputs.append(tokens)
    flatbuffer = n.bytes(n.layer("EMBEDDING_LOOKUP", [tokens, n.random(20, 5)], (6, 5)))
    simplified, notes = simplify(flatbuffer)
    assert notes == ("Operator 0 EMBEDDING_LOOKUP became GATHER, which has an integer kernel.",)
    rng = np.random.default_rng(0)
    samples = [[rng.integers(0, 20, 6).astype(np.int32)] for _ in range(16)]
    real = [before for (before,) in run_outputs(flatbuffer, samples)]
    for before, (after,) in zip(real, run_outputs(simplified, samples), strict=True):
        assert np.array_equal(before, after)
    image = quantize(simplified, load_recipe("int8"), observe(simplified, Samples(samples))).flatbuffer
    assert [op.name for op in parse(image).main.ops] == ["GATHER"]
    assert sqnr_db(np.stack(real), run(image, samples).reshape(16, 6, 5)) > 35
