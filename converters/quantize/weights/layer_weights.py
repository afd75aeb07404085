"""Compute the integer weights of every layer with the recipe's method of rounding."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.graph.type_assignment import FLOAT, TypeAssignment
from arenite.converters.quantize.recipes.recipe import LayerSettings
from arenite.converters.quantize.weights.input_moments import InputMoments, can_have_moments, input_moments
from arenite.converters.quantize.weights.integer_weights import (
    QuantizedWeights,
    quantize_weights,
    to_integers,
)
from arenite.converters.quantize.weights.rounding import round_for_output

#: A cache of rounded weights, because a search uses the same weights in many recipes. The keys include everything
#: that the weights depend on.
_cached_weights: OrderedDict[tuple[Any, ...], QuantizedWeights] = OrderedDict()
_MAX_CACHED_LAYERS = 256


def layer_weights(
    flatbuffer: bytes,
    graph: Subgraph,
    a: TypeAssignment,
    only: Collection[int] | None,
    samples: Sequence[Sequence[np.ndarray]],
) -> dict[int, QuantizedWeights]:
    """Return the integer weights of every layer with weights, by operator index. They are rounded by the method in the
    layer's settings. The method "gptq" needs the second moments of each layer's inputs and measures them with
    ``samples``; without samples, it rounds to the nearest integers. ``only`` is None or the layers to quantize."""
    out = _nearest_weights(graph, a, only)
    shared: dict[tuple[Any, ...], list[int]] = {}
    for op in graph.ops:
        if op.index in out and a.settings[op.index].rounding == "gptq" and can_have_moments(graph, op):
            settings = a.settings[op.index].per_channel, a.settings[op.index].weight_scale
            content = hashlib.sha256(_weights_of(graph, op).tobytes()).digest()
            key = op.name, _weights_of(graph, op).shape, content, out[op.index].dtype, *settings
            shared.setdefault(key, []).append(op.index)
    source = (hashlib.sha256(flatbuffer).digest(), _digest(samples))
    keys = {(*source, *key, *layers): layers for key, layers in shared.items()}
    missing = [graph.ops[i] for key, layers in keys.items() if key not in _cached_weights for i in layers]
    layer_moments = input_moments(flatbuffer, graph, missing, samples) if samples else {}
    for key, layers in keys.items():
        if key not in _cached_weights and layers[0] in layer_moments:
            # Layers with the same weights (the steps of a recurrent layer) share the rounded weights.
            mean_moments = InputMoments(np.mean([layer_moments[i].matrix for i in layers], axis=0))
            first = layers[0]
            _cached_weights[key] = round_for_output(
                _weights_of(graph, graph.ops[first]), out[first], mean_moments
            )
        if key in _cached_weights:
            _cached_weights.move_to_end(key)
            out |= dict.fromkeys(layers, _cached_weights[key])
    while len(_cached_weights) > _MAX_CACHED_LAYERS:
        _cached_weights.popitem(last=False)
    return {i: _with_room_for_bias(graph, graph.ops[i], a, quantized) for i, quantized in out.items()}


def _digest(samples: Sequence[Sequence[np.ndarray]]) -> bytes:
    """Return the SHA-256 of the samples' values."""
    digest = hashlib.sha256()
    for sample in samples:
        for array in sample:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _weights_of(graph: Subgraph, op: Op) -> np.ndarray:
    data = graph.tensors[op.inputs[WEIGHTS[op.name].weights]].data
    assert data is not None
    return data


def _nearest_weights(
    graph: Subgraph, a: TypeAssignment, only: Collection[int] | None
) -> dict[int, QuantizedWeights]:
    """Return the weights of each layer rounded to the nearest integers, by operator index."""
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
        quantized = quantize_weights(
            t.data, rule.axis, dtype, per_channel=settings.per_channel, scale_method=settings.weight_scale
        )
        out[op.index] = quantized
    return out


def weight_type(op: Op, mode: str, settings: LayerSettings, notes: list[str]) -> str:
    """Return the type that the weights of ``op`` get: the recipe's type, or int8 if the integer kernel does not
    support it. In that case, also add a note to ``notes``."""
    if mode == FLOAT:
        return settings.weights
    if settings.weights == "int4" and mode not in WEIGHTS[op.name].int4:
        notes.append(
            f"Layer {op.index} {op.name} has no kernel for int4 weights with {mode} activations: it gets int8 weights."
        )
        return "int8"
    return settings.weights if settings.weights == "int4" else "int8"


def _with_room_for_bias(
    graph: Subgraph, op: Op, a: TypeAssignment, quantized: QuantizedWeights
) -> QuantizedWeights:
    """Return weights with larger scales for channels whose bias would not fit into 32 bits, because the weights are
    very small and the bias is large."""
    rule = WEIGHTS[op.name]
    bias = graph.tensors[op.input(rule.bias)].data if op.input(rule.bias) >= 0 else None
    if bias is None or a.modes[op.index] != "int8":
        return quantized
    input_scale = a.quant[a.read[op.index, rule.value]].scale[0]
    # A bias of at most 2**30 steps leaves room for the sum of the products.
    needed = np.abs(bias.astype(np.float64)) / (input_scale * 2.0**30)
    needed = needed if quantized.scale.size > 1 else np.full(1, needed.max(initial=0.0))
    if np.all(needed <= quantized.scale):
        return quantized
    scale = np.maximum(quantized.scale, needed).astype(np.float32)
    return replace(
        quantized,
        scale=scale,
        values=to_integers(_weights_of(graph, op), scale, quantized.axis, quantized.dtype),
    )
