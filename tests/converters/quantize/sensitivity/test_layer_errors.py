"""The error of a layer is the difference between its output in the quantized and in the float model. It is larger for
coarser weights."""

import numpy as np

from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.sensitivity.layer_errors import SAMPLES, layer_errors
from tests.converters.quantize.trained_models import classifier, dataset, samples


def test_the_last_error_equals_the_error_of_the_outputs() -> None:
    model, data = classifier(), dataset(*samples(60, 3))
    quantized = quantize(model, load_recipe("int8"), observe(model, data))
    errors = layer_errors(model, quantized.flatbuffer, quantized.tensors, data.inputs)
    used = data.take(range(SAMPLES))
    pairs = zip(
        run_dataset(model, used), run_dataset(quantized.flatbuffer, used, reference=True), strict=True
    )
    largest_difference = max(float(np.abs(a - b).max()) for a, b in pairs)
    assert errors[-1].max_abs > 0
    assert abs(errors[-1].max_abs - largest_difference) < 1e-6
    assert all(e.step is not None for e in errors)


def test_int4_weights_have_larger_errors() -> None:
    model, data = classifier(), dataset(*samples(60, 3))
    observations = observe(model, data)
    by_recipe = {}
    for name in ("int8", "w4"):
        quantized = quantize(model, load_recipe(name), observations)
        by_recipe[name] = layer_errors(model, quantized.flatbuffer, quantized.tensors, data.inputs)
    assert [e.layer for e in by_recipe["int8"]] == [e.layer for e in by_recipe["w4"]]
    assert by_recipe["w4"][0].sqnr_db < by_recipe["int8"][0].sqnr_db - 3
