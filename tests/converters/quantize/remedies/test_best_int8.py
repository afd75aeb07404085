"""If the user chooses no recipe, the converter chooses the rounding, bias correction and calibrator with which the int8
model is nearest to the float model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.converters.quantize.remedies.best_int8 import choose_int8
from arenite.converters.quantize.remedies.tried_recipe import ImageCost, ImageCostFunction
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UnsupportedModelError
from arenite.host.build.board_costs import SpeedBuildCost
from arenite.profiles.boards import load_board
from tests.converters.quantize.float_models import FloatNet, samples_for
from tests.converters.quantize.quantized_runs import run

COSTS = SpeedBuildCost(load_board("qemu_mps2_an386"))
PLAIN = load_recipe("int8")


@cache
def network() -> tuple[bytes, Observations]:
    """Return a network of depthwise-separable layers, and its observations on 64 samples."""
    n = FloatNet(2)
    x = n.conv(n.input((1, 12, 12, 2), "float32"), 12, stride=2)
    for _ in range(3):
        x = n.conv(n.depthwise(x), 12, kernel=1)
    model = n.model([n.layer("SOFTMAX", [n.dense(n.flat(x), 6)], (1, 6), "SoftmaxOptions", beta=1.0)])
    flatbuffer = to_flatbuffer(model)
    return flatbuffer, observe(flatbuffer, samples_for(model, 64))


def chosen(costs: ImageCostFunction = COSTS) -> Recipe:
    """Return the recipe that is chosen for the network."""
    return choose_int8(*_arguments(), costs).recipe


def _arguments() -> tuple[bytes, Recipe, Observations]:
    """Return the first arguments of ``choose_int8`` for the network."""
    flatbuffer, observations = network()
    return flatbuffer, PLAIN, observations


@pytest.mark.slow
def test_the_chosen_recipe_is_nearer_to_the_float_model_on_other_samples() -> None:
    flatbuffer, observations = network()
    choice = choose_int8(flatbuffer, PLAIN, observations, COSTS)
    assert choice.error < 0.97 and choice.note is not None and f"{choice.error:.2f} times" in choice.note
    n = FloatNet(2)
    n.input((1, 12, 12, 2), "float32")
    others = [[x] for x in np.random.default_rng(9).normal(size=(200, 1, 12, 12, 2)).astype(np.float32)]
    expected = run(flatbuffer, others)

    def error(recipe: Recipe) -> float:
        return float(
            np.abs(run(quantize(flatbuffer, recipe, observations).flatbuffer, others) - expected).mean()
        )

    assert error(choice.recipe) < 0.95 * error(PLAIN)


@pytest.mark.slow
def test_the_choice_is_the_same_in_every_run() -> None:
    assert chosen() == chosen()


@pytest.mark.slow
def test_the_chosen_recipe_needs_the_same_arena_and_at_most_1_percent_more_instructions() -> None:
    flatbuffer, observations = network()
    plain, best = (COSTS(quantize(flatbuffer, r, observations).flatbuffer) for r in (PLAIN, chosen()))
    assert best.arena == plain.arena and best.instructions <= 1.01 * plain.instructions


def test_a_recipe_that_costs_more_is_not_used() -> None:
    calls = []

    def rising(flatbuffer: bytes) -> ImageCost:
        """Return a larger cost for each image than for the image before."""
        calls.append(flatbuffer)
        return ImageCost(100 + 16 * len(calls), 0, 0, 1000)

    assert chosen(rising) == PLAIN and len(calls) > 1


def test_few_samples_or_a_model_without_firmware_keep_plain_int8() -> None:
    flatbuffer, observations = network()
    few = replace(observations, samples=20, inputs=observations.inputs[:20])
    assert choose_int8(flatbuffer, PLAIN, few, COSTS).recipe == PLAIN

    def refuse(flatbuffer: bytes) -> ImageCost:
        raise UnsupportedModelError("There is no kernel.", "Use another model.")

    choice = choose_int8(flatbuffer, PLAIN, observations, refuse)
    assert (choice.recipe, choice.error, choice.note) == (PLAIN, 1.0, None)


@pytest.mark.parametrize("layers", [41])
def test_networks_with_many_layers_keep_plain_int8(layers: int) -> None:
    n = FloatNet(4)
    x = n.input((1, 4), "float32")
    for _ in range(layers):
        x = n.dense(x, 4)
    model = n.model([x])
    flatbuffer = to_flatbuffer(model)
    assert choose_int8(flatbuffer, PLAIN, observe(flatbuffer, samples_for(model, 64)), COSTS).recipe == PLAIN
