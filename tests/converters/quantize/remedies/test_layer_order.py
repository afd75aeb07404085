"""Recipes with int16 in some layers keep int16 where values are joined between these layers."""

from __future__ import annotations

from collections.abc import Collection

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.remedies.layer_order import with_int16
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.quantize.float_models import FloatNet, samples_for


def branches() -> Model:
    """Return a graph with the layers 0 and 1 (dense), 2 (joins both), 3 (reshapes), 4 and 5 (dense)."""
    n = FloatNet(3)
    x = n.input((1, 8), "float32")
    a, b = n.dense(x, 6), n.dense(x, 6)
    c = n.layer("CONCATENATION", [a, b], (1, 12), "ConcatenationOptions", axis=1, fused_activation_function=0)
    d = n.layer("RESHAPE", [c, n.ints([1, 12])], (1, 12), "ReshapeOptions", new_shape=(1, 12))
    return n.model([n.dense(n.dense(d, 5), 4)])


def int16_layers(chosen: Collection[int]) -> set[int]:
    """Return the layers that compute with int16 in the quantized model if the layers ``chosen`` shall do so."""
    model = branches()
    flatbuffer = to_flatbuffer(model)
    recipe = with_int16(load_recipe("int8"), model.main, chosen, inputs_and_outputs=False)
    quantized = quantize(flatbuffer, recipe, observe(flatbuffer, samples_for(model)))
    return {figures.index for figures in quantized.layers if figures.activations == "int16"}


def test_a_join_between_int16_layers_is_int16_too() -> None:
    # The reshape (3) has the type of its input.
    assert int16_layers([0, 4]) == {0, 2, 3, 4}


def test_a_join_before_or_after_int16_layers_stays_int8() -> None:
    assert int16_layers([0, 1]) == {0, 1}
    assert int16_layers([4, 5]) == {4, 5}


def test_the_recipe_names_ranges_of_neighboring_layers() -> None:
    recipe = with_int16(load_recipe("int8"), branches().main, [0, 1, 5], inputs_and_outputs=True)
    assert [rule.match for rule in recipe.layers] == ["#0-1", "#5"]
    assert (recipe.inputs, recipe.outputs) == ("int16", "int16")
