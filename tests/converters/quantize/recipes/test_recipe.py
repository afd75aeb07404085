"""Shipped recipes load, layer rules match, and mistakes in a recipe file are errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.quantize.recipes.recipe import LayerRule, Recipe, load_recipe, shipped_recipes
from arenite.errors import UsageError
from tests.converters.quantize.float_models import classifier


def test_every_shipped_recipe_loads_and_has_a_description() -> None:
    recipes = shipped_recipes()
    assert {"int8", "int8_per_tensor", "int16x8", "w4", "float16", "dynamic", "weight_only"} <= set(recipes)
    for name, recipe in recipes.items():
        assert recipe.name == name
        assert recipe.description
        assert load_recipe(name) == recipe
    assert {n for n, r in recipes.items() if not r.needs_observations} == {
        "float16",
        "dynamic",
        "weight_only",
    }


def test_the_files_of_shipped_recipes_are_read_once() -> None:
    assert load_recipe("int8") is load_recipe("int8")
    with pytest.raises(TypeError):
        shipped_recipes()["mine"] = Recipe()  # type: ignore[index]


def test_inputs_and_outputs_have_the_type_of_activations_by_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('activations = "int16"\noutputs = "float"\n')
    recipe = load_recipe(path)
    assert (recipe.name, recipe.inputs, recipe.outputs) == ("mine", "int16", "float")


@pytest.mark.parametrize(
    ("match", "layers"),
    [
        ("CONV_2D", {0, 2}),
        ("#1", {1}),
        ("#2-4", {2, 3, 4}),
        ("^t3$", {0}),
        ("^t1", {3, 4, 5, 6, 7}),
    ],
)
def test_rules_match_operators_indices_and_output_names(match: str, layers: set[int]) -> None:
    graph = classifier().main
    recipe = Recipe().with_layers(LayerRule(match, {"weights": "int4"}))
    matched = {op.index for op in graph.ops if recipe.for_layer(graph, op).weights == "int4"}
    assert matched == layers


def test_later_rules_override_earlier_ones() -> None:
    graph = classifier().main
    recipe = Recipe().with_layers(
        LayerRule("CONV_2D", {"weights": "int4", "per_channel": False}), LayerRule("#0", {"weights": "int8"})
    )
    assert recipe.for_layer(graph, graph.ops[0]).weights == "int8"
    assert not recipe.for_layer(graph, graph.ops[0]).per_channel
    assert recipe.for_layer(graph, graph.ops[2]).weights == "int4"


def test_a_rule_with_another_calibrator_drops_its_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "calibrator = 'percentile'\ncalibrator_parameters = { percentile = 99.0 }\n"
        "[[layers]]\nmatch = '#0'\ncalibrator = 'mse'\n"
        "[[layers]]\nmatch = '#1'\ncalibrator_parameters = { percentile = 98.0 }\n"
    )
    graph = classifier().main
    recipe = load_recipe(path)
    assert recipe.for_layer(graph, graph.ops[0]).calibrator_parameters == {}
    assert recipe.for_layer(graph, graph.ops[1]).calibrator_parameters == {"percentile": 98.0}
    path.write_text("[[layers]]\nmatch = '#1'\ncalibrator_parameters = { percentile = 98.0 }\n")
    with pytest.raises(UsageError, match="'minmax' has no parameter"):
        load_recipe(path)


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("activation = 'int8'", "unknown key 'activation'", "activations"),
        ("weights = 'int3'", "weights is 'int3'", "int4"),
        ("per_channel = 1", "per_channel is 1", "true or false"),
        ("calibrator = 'best'", "calibrator is 'best'", "entropy"),
        ("calibrator_parameters = { percentile = 99 }", "no parameter 'percentile'", "none"),
        ("[[layers]]\nweights = 'int4'", "no 'match'", "CONV_2D"),
        ("[[layers]]\nmatch = '('", "not a regular expression", "re module"),
        ("[[layers]]\nmatch = 'a'\nequalisation = true", "unknown key 'equalisation'", "whole model"),
        ("layers = 3", "not a list", "[[layers]]"),
        ("ranges = 3", "ranges is 3", "a table"),
        ("ranges = { a = [0.5, 1.0] }", "the range of 'a' is [0.5, 1.0]", "include 0"),
        ("ranges = { a = [0, 0] }", "the range of 'a' is [0, 0]", "[-1.0, 2.5]"),
        ("ranges = { a = [-inf, 1] }", "the range of 'a'", "[-1.0, 2.5]"),
        ("ranges = { a = [-1, 'b'] }", "the range of 'a'", "[-1.0, 2.5]"),
        ("ranges = { a = [-1, 0, 1] }", "the range of 'a'", "[-1.0, 2.5]"),
        ("[[layers]]\nmatch = 'a'\nranges = {}", "unknown key 'ranges'", "whole model"),
        ("weights = ", "is not TOML", "recipes.md"),
    ],
)
def test_the_error_names_the_mistake_in_a_recipe(tmp_path: Path, text: str, problem: str, hint: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_recipe(path)
    assert problem in caught.value.problem
    assert hint in caught.value.hint


def test_the_error_of_an_unknown_recipe_lists_the_shipped_recipes() -> None:
    with pytest.raises(UsageError) as caught:
        load_recipe("int7")
    assert "int8_per_tensor" in caught.value.hint


def test_json_contains_every_setting() -> None:
    recipe = load_recipe("w4_mixed")
    data = recipe.to_json()
    layers = data.pop("layers")
    loaded = Recipe.from_table({**data, "layers": layers, "description": recipe.description}, "json")
    assert loaded == recipe


def test_a_recipe_without_slow_steps_keeps_its_types_and_ranges_on_request() -> None:
    rules = (LayerRule("#0", {"activations": "int16"}),)
    settings = replace(
        Recipe().settings, calibrator="mse", weight_scale="mse", rounding="adaptive", weights="int4"
    )
    recipe = Recipe(settings=settings, layers=rules, bias_correction=True, equalisation=True, balance=True)
    for keeps_ranges, calibrator, weight_scale in ((False, "minmax", "max"), (True, "mse", "mse")):
        fast = recipe.without_slow_steps(keeps_ranges=keeps_ranges)
        assert (fast.settings.calibrator, fast.settings.weight_scale) == (calibrator, weight_scale)
        assert (fast.settings.rounding, fast.bias_correction, fast.equalisation) == ("nearest", False, False)
        assert fast.balance == keeps_ranges  # the ranges belong to the balanced values
        assert (fast.settings.weights, fast.layers) == ("int4", rules)
