"""Choose the int8 recipe whose outputs are nearest to the float model's on the calibration samples.

The recipes differ in the rounding of weights, the correction of biases, the calibrator, the ranges of tensors, and in
the scales of channels and logits (``balanced_model``). These cost nothing on the device. None of them is best for every
network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Subgraph
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.quantize import QuantizedModel, quantize
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.remedies.output_distance import OutputDistance
from arenite.converters.quantize.remedies.range_search import better_ranges
from arenite.converters.quantize.remedies.tried_recipe import ImageCostFunction
from arenite.converters.quantize.sensitivity.sensitivity import output_probes
from arenite.converters.quantize.weights.balanced_model import balanced_model
from arenite.converters.quantize.weights.bias_correction import quantized_samples
from arenite.converters.tflite.litert.interpreter import real_values, run_tensor_values
from arenite.converters.tflite.reader import parse
from arenite.errors import AreniteError

#: The number of calibration samples on which recipes are compared.
_SAMPLES = 256

#: With fewer calibration samples, rounding and biases would fit these samples, not the network's task.
_MIN_SAMPLES = 32

#: A network with more layers with weights, such as an unrolled recurrent layer, or with more weights keeps the plain
#: recipe: correcting its biases runs the network once per layer, and rounding takes minutes.
_MAX_LAYERS = 40
_MAX_WEIGHTS = 2_000_000

#: Another recipe replaces plain int8 if its error is at most this share of the error of plain int8. Smaller
#: differences on the calibration samples mean nothing for other samples.
_MAX_ERROR_SHARE = 0.97

#: The costs of another recipe may exceed plain int8's by at most this factor.
_COST_MARGIN = 1.01

_GPTQ: dict[str, Any] = {"rounding": "gptq"}
#: (settings, whether biases are corrected) of the recipes, in the order in which they are tried.
_VARIANTS: tuple[tuple[dict[str, Any], bool], ...] = (
    (_GPTQ, False),
    (_GPTQ, True),
    ({**_GPTQ, "calibrator": "mse"}, True),
    ({**_GPTQ, "calibrator": "percentile", "calibrator_parameters": {"percentile": 99.99}}, True),
)

#: The recipe of ``_VARIANTS`` that is also tried without balance.
_WITHOUT_BALANCE = 1

#: The recipes of ``_VARIANTS`` that are also tried with other ranges, besides the best one.
_RANGE_VARIANTS = (0, 1, 2)


@dataclass(frozen=True)
class ChosenInt8:
    """The chosen recipe. ``error`` is the error of its outputs as a share of that of plain int8, whose share is 1.0."""

    recipe: Recipe
    error: float

    @property
    def note(self) -> str | None:
        """A sentence on the choice, or None for plain int8."""
        settings = self.recipe.settings
        if self.error == 1.0:
            return None
        parts = ["rounding gptq"] if settings.rounding == "gptq" else []
        parts += ["corrected biases"] if self.recipe.bias_correction else []
        parts += [f"the calibrator {settings.calibrator}"] if settings.calibrator != "minmax" else []
        parts += ["balanced values"] if self.recipe.balance else []
        parts += ["other ranges"] if self.recipe.ranges else []
        names = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        return (
            f"int8 uses {names}: on the calibration samples, the error of the outputs is {self.error:.2f} times that of"
            " plain int8 (--recipe int8), at no cost on the device."
        )


def choose_int8(
    flatbuffer: bytes,
    plain: Recipe,
    observations: Observations,
    costs: ImageCostFunction,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> ChosenInt8:
    """Return ``plain``, or the recipe with other rounding, biases, calibrator or ranges that makes the error of the
    outputs smallest and costs the same.

    The error is the root mean square of ``OutputDistance``. For several outputs it is the geometric mean, and none may
    be larger than with ``plain``.

    Args:
        flatbuffer: the float model.
        plain: the recipe int8.
        observations: the observations of the float model, with stored samples.
        costs: predicts the costs of an image.
        progress: called before each recipe with (a text, recipes tried, number of recipes).
    """
    samples = observations.inputs
    if observations.samples < _MIN_SAMPLES or len(samples) < _MIN_SAMPLES:
        return ChosenInt8(plain, 1.0)
    graph = parse(flatbuffer).main
    if not _is_small(graph):
        return ChosenInt8(plain, 1.0)
    count = min(_SAMPLES, len(samples))
    samples = tuple(samples[k * len(samples) // count] for k in range(count))
    probes = output_probes(graph)
    distance = OutputDistance(graph, _probe_values(flatbuffer, probes, samples))

    def errors(quantized: QuantizedModel, clipping: float) -> list[float]:
        actual = _probe_values(quantized.flatbuffer, [quantized.tensors[i] for i in probes], samples)
        return [math.sqrt(error + clipping) for error in distance.errors(actual)]

    first = quantize(flatbuffer, plain, observations)
    try:
        limit = costs(first.flatbuffer)
    except AreniteError:  # no firmware can run the model, which the conversion itself reports
        return ChosenInt8(plain, 1.0)
    best = ChosenInt8(plain, 1.0)
    balanced = balanced_model(flatbuffer, observations)
    better = better_ranges(
        balanced.flatbuffer,
        plain,
        balanced.observations,
        lambda done, total: progress("choose ranges", done, total),
    )
    plain_errors = errors(first, better.observed_clipping)
    # Other calibrators clip, and balanced channels clip more values of other samples.
    variants = [v for v in _VARIANTS if "calibrator" not in v[0] or not better.are_tails_unknown]
    balance = balanced.flatbuffer != flatbuffer and not better.are_tails_unknown
    base = replace(plain, balance=balance)
    recipes = [replace(base, settings=replace(plain.settings, **v), bias_correction=c) for v, c in variants]
    recipes += [replace(recipes[_WITHOUT_BALANCE], balance=False)] if balance else []
    first_with_ranges = len(recipes)
    steps = first_with_ranges + (len(_RANGE_VARIANTS) + 1 if better.ranges else 0)
    for number in range(steps):
        if number == first_with_ranges:
            wanted = [
                *(recipes[k] for k in _RANGE_VARIANTS),
                *([best.recipe] if best.recipe.balance == balance else []),
            ]
            recipes += [replace(r, ranges=better.ranges) for k, r in enumerate(wanted) if r not in wanted[:k]]
        if number == len(recipes):
            break
        progress("improve int8", number, steps)
        quantized = quantize(flatbuffer, recipes[number], observations)
        clipping = better.clipping if recipes[number].ranges else better.observed_clipping
        share = _error_share(errors(quantized, clipping), plain_errors)
        if share > _MAX_ERROR_SHARE or share >= best.error:
            continue
        cost = costs(quantized.flatbuffer)
        if cost.arena > limit.arena or cost.instructions > _COST_MARGIN * limit.instructions:
            continue
        best = ChosenInt8(recipes[number], share)
    return best


def _is_small(graph: Subgraph) -> bool:
    """Return whether the network is small enough to try recipes that round for the output and correct biases."""
    layers = [op for op in graph.ops if op.name in WEIGHTS]
    weights = sum(graph.tensors[op.inputs[WEIGHTS[op.name].weights]].elements for op in layers)
    return 0 < len(layers) <= _MAX_LAYERS and weights <= _MAX_WEIGHTS


def _probe_values(
    flatbuffer: bytes, tensors: Sequence[int], samples: Sequence[Sequence[np.ndarray]]
) -> list[np.ndarray]:
    """Return the real values of each of ``tensors`` for all samples: float64 [samples, *shape]."""
    model = parse(flatbuffer)
    rows = run_tensor_values(flatbuffer, quantized_samples(model, samples), sorted(set(tensors)))
    by_sample = [
        [real_values(values[i], model.main.tensors[i]).astype(np.float64) for i in tensors] for values in rows
    ]
    return [np.stack([values[k] for values in by_sample]) for k in range(len(tensors))]


def _error_share(errors: Sequence[float], plain: Sequence[float]) -> float:
    """Return the geometric mean of ``errors`` as shares of ``plain``, or infinity if one of them is larger."""
    if any(a > b for a, b in zip(errors, plain, strict=True)):
        return math.inf
    logarithms = [math.log(max(a / b, 1e-12)) for a, b in zip(errors, plain, strict=True) if b > 0]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else 1.0
