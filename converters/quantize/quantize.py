"""A float model and a recipe in, a quantised model out."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.errors import UsageError
from arenite.converters.flatbuffer import to_flatbuffer
from arenite.converters.graph import Model, Op, Subgraph, Tensor
from arenite.converters.importers.modernise import is_quantised
from arenite.converters.importers.tflite import parse
from arenite.converters.quantize.assign import FLOAT, Assignment, assign
from arenite.converters.quantize.bias_correction import corrected_biases
from arenite.converters.quantize.emit import emit
from arenite.converters.quantize.equalise import equalise
from arenite.converters.quantize.moments import can_have_moments, moments
from arenite.converters.quantize.observe import Observations, observe
from arenite.converters.quantize.recipe import Recipe, Settings
from arenite.converters.quantize.rounding import round_for_output
from arenite.converters.quantize.rules import WEIGHTS
from arenite.converters.quantize.trained_ranges import trained_ranges
from arenite.converters.quantize.weights import QuantisedWeights, quantise_weights, sqnr_db, to_integers


@dataclass(frozen=True)
class LayerFigures:
    """One layer of the source model after quantisation."""

    index: int  # of the operator in the source model
    name: str
    output: str  # name of its first output
    activations: str  # int8, int16, float32; "" for a layer without real numbers
    weights: str  # int8, int4, float16, float32; "" for a layer without constant weights
    weight_bytes_before: int  # weights and bias
    weight_bytes: int
    weight_sqnr_db: float | None
    scale: float | None  # of the first output
    zero_point: int | None
    low: float | None  # real values of the first output's smallest and largest integer
    high: float | None


@dataclass(frozen=True)
class Quantised:
    """The quantised model.

    ``tensors`` maps float tensors of the source to the tensors that stand for them (float where no integer kernel makes
    them), ``origins`` each operator to its layer in the source, -1 for a conversion.
    """

    flatbuffer: bytes
    layers: tuple[LayerFigures, ...]
    notes: tuple[str, ...]
    tensors: dict[int, int]
    origins: tuple[int, ...]


@dataclass(frozen=True)
class _Kept:
    inputs: Sequence[Sequence[np.ndarray]]


def quantize(
    flatbuffer: bytes,
    recipe: Recipe,
    observations: Observations | None,
    *,
    only: Collection[int] | None = None,
) -> Quantised:
    """Quantise a float32 model as ``recipe`` says; the same arguments give the same bytes.

    Args:
        observations: of this very model; None only for recipes with float activations throughout.
        only: quantise these layers (operator indices of ``flatbuffer``) alone; all others, and the model's inputs and
            outputs, stay float32.

    Raises ``UsageError`` for a model that is quantised already and for observations of another model.
    """
    model = parse(flatbuffer)
    if is_quantised(model):
        raise UsageError(
            "The model is quantised already.", "Give the float model, or convert without a recipe."
        )
    stats = {}
    if observations is not None:
        if observations.model_sha256 != hashlib.sha256(flatbuffer).hexdigest():
            raise UsageError("The observations are of another model.", "Calibrate this model.")
        stats = dict(observations.tensors)
    elif recipe.needs_observations:
        raise UsageError(
            f"The recipe '{recipe.name}' needs calibration samples.",
            "Give some, or use a recipe for float kernels.",
        )
    kept = observations.inputs if observations is not None else ()
    notes: tuple[str, ...] = ()
    trained = trained_ranges(model)
    if recipe.equalisation and not trained:  # which would no longer fit the channels
        flatbuffer, notes = equalise(flatbuffer)
        model = parse(flatbuffer)
        stats = dict(observe(flatbuffer, _Kept(kept)).tensors) if kept and notes else stats
    a = assign(model.main, recipe, stats, only, trained)
    weights = _all_weights(flatbuffer, model.main, a, only, kept)
    biases = _biases(flatbuffer, model, a, weights, kept) if recipe.bias_correction and kept else {}
    new, origins, made = emit(model, a, weights, biases)
    layers = tuple(_figures(model.main, op, a, weights) for op in model.main.ops)
    return Quantised(to_flatbuffer(new), layers, (*notes, *a.notes), made, origins)


#: Weights that were rounded before, by what they depend on: a search asks for the same ones in many recipes.
_rounded: OrderedDict[tuple, QuantisedWeights] = OrderedDict()
_MOST_ROUNDED = 256


def _all_weights(
    flatbuffer: bytes,
    graph: Subgraph,
    a: Assignment,
    only: Collection[int] | None,
    samples: Sequence[Sequence[np.ndarray]],
) -> dict[int, QuantisedWeights]:
    """The integer weights of every layer that has some, rounded as its settings say."""
    out = _nearest_weights(graph, a, only)
    source = (hashlib.sha256(flatbuffer).digest(), _digest(samples))
    keys = {
        op.index: (*source, op.index, out[op.index].dtype, *_weight_settings(a.settings[op.index]))
        for op in graph.ops
        if op.index in out and a.settings[op.index].rounding == "gptq" and can_have_moments(graph, op)
    }
    missing = [graph.ops[i] for i, key in keys.items() if key not in _rounded]
    for index, found in (moments(flatbuffer, graph, missing, samples) if samples else {}).items():
        _rounded[keys[index]] = round_for_output(_weights_of(graph, graph.ops[index]), out[index], found)
    for index, key in keys.items():
        if key in _rounded:
            _rounded.move_to_end(key)
            out[index] = _rounded[key]
    while len(_rounded) > _MOST_ROUNDED:
        _rounded.popitem(last=False)
    return {i: _with_room_for_bias(graph, graph.ops[i], a, made) for i, made in out.items()}


def _weight_settings(settings: Settings) -> tuple:
    return settings.per_channel, settings.weight_scale


def _digest(samples: Sequence[Sequence[np.ndarray]]) -> bytes:
    digest = hashlib.sha256()
    for sample in samples:
        for array in sample:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _weights_of(graph: Subgraph, op: Op) -> np.ndarray:
    data = graph.tensors[op.inputs[WEIGHTS[op.name].weights]].data
    assert data is not None
    return data


def _biases(
    flatbuffer: bytes,
    model: Model,
    a: Assignment,
    weights: Mapping[int, QuantisedWeights],
    samples: Sequence[Sequence[np.ndarray]],
) -> dict[int, np.ndarray]:
    def emitted(biases: Mapping[int, np.ndarray]) -> tuple[Model, Mapping[int, int]]:
        made, _, twins = emit(model, a, weights, biases)
        return made, twins

    ops = [
        op
        for op in model.main.ops
        if op.index in weights
        and a.modes[op.index] != FLOAT
        and op.input(WEIGHTS[op.name].bias) >= 0
        and model.main.tensors[op.inputs[WEIGHTS[op.name].bias]].is_constant
    ]
    return corrected_biases(flatbuffer, model, ops, samples, emitted)


def _nearest_weights(
    graph: Subgraph, a: Assignment, only: Collection[int] | None
) -> dict[int, QuantisedWeights]:
    out = {}
    for op in graph.ops:
        rule = WEIGHTS.get(op.name)
        if rule is None or op.index not in a.modes or (only is not None and op.index not in only):
            continue
        t = graph.tensors[op.inputs[rule.weights]]
        settings = a.settings[op.index]
        dtype = weight_type(op, a.modes[op.index], settings, a.notes)
        if t.data is None or t.dtype != FLOAT or dtype not in ("int8", "int4"):
            continue
        made = quantise_weights(
            t.data, rule.axis, dtype, per_channel=settings.per_channel, scale_method=settings.weight_scale
        )
        out[op.index] = made
    return out


def weight_type(op: Op, mode: str, settings: Settings, notes: list[str]) -> str:
    """The type that the weights of ``op`` get: the recipe's, or int8 where an integer kernel takes no other."""
    if mode == FLOAT:
        return settings.weights
    if settings.weights == "int4" and mode not in WEIGHTS[op.name].int4:
        notes.append(f"Layer {op.index} {op.name} takes no int4 weights beside {mode}: it gets int8 weights.")
        return "int8"
    return settings.weights if settings.weights == "int4" else "int8"


def _with_room_for_bias(graph: Subgraph, op: Op, a: Assignment, made: QuantisedWeights) -> QuantisedWeights:
    """Coarser weights where a bias would not fit in 32 bits: of tiny weights beside a large bias."""
    rule = WEIGHTS[op.name]
    bias = graph.tensors[op.input(rule.bias)].data if op.input(rule.bias) >= 0 else None
    if bias is None or a.modes[op.index] != "int8":
        return made
    unit = a.quant[a.read[op.index, rule.value]].scale[0]
    needed = np.abs(bias.astype(np.float64)) / (unit * 2.0**30)
    needed = needed if made.scale.size > 1 else np.full(1, needed.max(initial=0.0))
    if np.all(needed <= made.scale):
        return made
    scale = np.maximum(made.scale, needed).astype(np.float32)
    return replace(
        made, scale=scale, values=to_integers(_weights_of(graph, op), scale, made.axis, made.dtype)
    )


def _figures(graph: Subgraph, op: Op, a: Assignment, weights: dict[int, QuantisedWeights]) -> LayerFigures:
    rule = WEIGHTS.get(op.name)
    mode = a.modes.get(op.index, "")
    before = after = 0
    kind, quality = "", None
    t = graph.tensors[op.inputs[rule.weights]] if rule is not None else None
    if rule is not None and t is not None and t.data is not None:
        made = weights.get(op.index)
        bias = graph.tensors[op.input(rule.bias)].elements if op.input(rule.bias) >= 0 else 0
        before = 4 * (t.elements + bias)
        if made is not None:
            kind, quality = made.dtype, sqnr_db(t.data, made.real())
            after = made.stored().nbytes + bias * (8 if mode == "int16" else 4)
        elif mode == FLOAT and a.settings[op.index].weights == "float16":
            kind, after = "float16", before // 2
        else:
            kind, after = FLOAT, before
    out = op.outputs[0] if op.outputs else -1
    quant = a.quant.get(a.made[out]) if out in a.made else None
    low = high = None
    if quant is not None:
        span = np.iinfo(a.made[out].dtype)
        low, high = ((edge - quant.zero_point[0]) * quant.scale[0] for edge in (span.min, span.max))
    return LayerFigures(
        op.index,
        op.name,
        graph.tensors[out].name if out >= 0 else "",
        mode,
        kind,
        before,
        after,
        quality,
        quant.scale[0] if quant else None,
        quant.zero_point[0] if quant else None,
        low,
        high,
    )


def twin(model: Model, quantised: Quantised, tensor: int) -> Tensor:
    """The tensor of the quantised model that stands for ``tensor`` of the source ``model``."""
    return parse(quantised.flatbuffer).main.tensors[quantised.tensors[tensor]]
