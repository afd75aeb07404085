"""Quantize a float model by a recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.importers.modernize import has_quantized_operators
from arenite.converters.passes.loops.copies import copies_by_operator
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.calibration.trained_ranges import trained_ranges
from arenite.converters.quantize.graph import lstm
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.graph.type_assignment import FLOAT, TypeAssignment, assign_types
from arenite.converters.quantize.layer_figures import LayerFigures, layer_figures
from arenite.converters.quantize.quantized_graph import emit_quantized_graph
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.weights.balanced_model import balanced_model
from arenite.converters.quantize.weights.bias_correction import corrected_biases
from arenite.converters.quantize.weights.equalize import EqualizedModel, equalize_layers
from arenite.converters.quantize.weights.integer_weights import QuantizedWeights
from arenite.converters.quantize.weights.layer_weights import layer_weights
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import UsageError


@dataclass(frozen=True)
class QuantizedModel:
    """The quantized model.

    ``tensors`` maps float tensors of ``source`` to the tensors with the same values in the quantized model. Such a
    tensor is float if no integer kernel computes it. Tensors whose channels were scaled by equalization are not in the
    map. ``source`` is the float model that was given, or the one that ``balanced_model`` made of it, in which tensors
    and operators have the same indices. ``origins`` has the source layer of each operator of the quantized model, -1
    for an added operator that only converts values, such as QUANTIZE.
    """

    flatbuffer: bytes
    layers: tuple[LayerFigures, ...]
    notes: tuple[str, ...]
    tensors: dict[int, int]
    origins: tuple[int, ...]
    source: bytes


@dataclass(frozen=True)
class _StoredSamples:
    """The samples of ``Observations.inputs`` in the form that ``observe`` reads."""

    inputs: Sequence[Sequence[np.ndarray]]


def quantize(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations | None,
    *,
    only: Collection[int] | None = None,
) -> QuantizedModel:
    """Quantize a float32 model by ``recipe``. The same arguments give the same bytes.

    Args:
        flatbuffer: the float32 model.
        recipe: the settings of each layer.
        observations: the value ranges that were measured in this model; None only if the recipe has float activations
            for all layers.
        only: if set, only these layers (operator indices of ``flatbuffer``) are quantized; all others, and the model's
            inputs and outputs, stay float32.

    Raises:
        UsageError: the model is already quantized, or the observations belong to another model.
    """
    model = parse(flatbuffer)
    if has_quantized_operators(model):
        raise UsageError(
            "The model is already quantized.", "Give the float model, or convert without a recipe."
        )
    stats = {}
    if observations is not None:
        if observations.model_sha256 != hashlib.sha256(flatbuffer).hexdigest():
            raise UsageError("The observations belong to another model.", "Calibrate this model.")
        stats = dict(observations.tensors)
    elif recipe.needs_observations:
        raise UsageError(
            f"The recipe '{recipe.name}' needs calibration samples.",
            "Give samples, or use a recipe with float activations, such as float16, if the image is not for a"
            " microcontroller.",
        )
    if recipe.balance and observations is not None:
        balanced = balanced_model(flatbuffer, observations)
        flatbuffer, observations = balanced.flatbuffer, balanced.observations
        model, stats = parse(flatbuffer), dict(observations.tensors)
    source = flatbuffer
    samples = observations.inputs if observations is not None else ()
    notes: tuple[str, ...] = ()
    scaled: frozenset[int] = frozenset()
    trained = trained_ranges(model)
    # The ranges of quantization-aware training would not fit the scaled channels.
    if recipe.equalisation and not trained:
        equalized, new_observations = _equalize(flatbuffer, observations)
        flatbuffer, notes, scaled = equalized.flatbuffer, equalized.notes, equalized.scaled
        model = parse(flatbuffer)
        kept = {n: r for n, r in recipe.ranges.items() if n not in _tensor_names(model, scaled)}
        recipe = replace(recipe, ranges=kept)  # the other ranges no longer fit the scaled channels
        stats = dict(new_observations.tensors) if new_observations is not None else stats
    a = assign_types(model.main, recipe, stats, only, trained)
    lstms = [op for op in model.main.ops if op.name == lstm.NAME and a.modes[op.index] != FLOAT]
    a.largest_cell_states = lstm.largest_cell_states(flatbuffer, model.main, lstms, samples)
    weights = layer_weights(flatbuffer, model.main, a, only, samples)
    biases = (
        _correct_biases(flatbuffer, model, a, weights, samples) if recipe.bias_correction and samples else {}
    )
    new, origins, tensors = emit_quantized_graph(model, a, weights, biases)
    tensors = {i: k for i, k in tensors.items() if i not in scaled}
    layers = tuple(layer_figures(model.main, op, a, weights) for op in model.main.ops)
    return QuantizedModel(to_flatbuffer(new), layers, (*notes, *a.notes), tensors, origins, source)


def _tensor_names(model: Model, tensors: Collection[int]) -> set[str]:
    return {model.main.tensors[i].name for i in tensors}


#: A cache of the last equalized model and its observations, because searches and the sensitivity analysis use it
#: repeatedly.
_last_equalized: dict[tuple[str, str], tuple[EqualizedModel, Observations | None]] = {}


def _equalize(
    flatbuffer: bytes, observations: Observations | None
) -> tuple[EqualizedModel, Observations | None]:
    """Return the equalized model, and its observations on the stored samples (None if equalization changed nothing or
    there are no samples)."""
    key = hashlib.sha256(flatbuffer).hexdigest(), observations.data_sha256 if observations is not None else ""
    if key not in _last_equalized:
        equalized = equalize_layers(flatbuffer)
        new_observations = None
        if observations is not None and observations.inputs and equalized.scaled:
            new_observations = observe(equalized.flatbuffer, _StoredSamples(observations.inputs))
        _last_equalized.clear()
        _last_equalized[key] = equalized, new_observations
    return _last_equalized[key]


def _correct_biases(
    flatbuffer: bytes,
    model: Model,
    a: TypeAssignment,
    weights: Mapping[int, QuantizedWeights],
    samples: Sequence[Sequence[np.ndarray]],
) -> dict[int, np.ndarray]:
    """Return the corrected biases of the quantized layers by operator index."""

    def emit(biases: Mapping[int, np.ndarray]) -> tuple[Model, Mapping[int, int]]:
        quantized, _, tensor_map = emit_quantized_graph(model, a, weights, biases)
        return quantized, tensor_map

    ops = [
        op
        for op in model.main.ops
        if op.index in weights
        and a.modes[op.index] != FLOAT
        and op.input(WEIGHTS[op.name].bias) >= 0
        and model.main.tensors[op.inputs[WEIGHTS[op.name].bias]].is_constant
    ]
    return corrected_biases(flatbuffer, model, _group_copies(model.main, ops), samples, emit)


def _group_copies(graph: Subgraph, ops: Sequence[Op]) -> list[list[Op]]:
    """Return ``ops`` in lists. The copies of one operator in all steps of an unrolled loop are in one list; every other
    operator has a list of its own."""
    copies = copies_by_operator(graph)
    layers: dict[int, list[Op]] = {}
    for op in ops:
        layers.setdefault(copies[op.index][0], []).append(op)
    return list(layers.values())
