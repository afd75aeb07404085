"""Cross-layer equalization: give the channels between two layers similar ranges.

With a positive factor per channel, relu(W x / s) * s = relu(W x): a layer can divide by the factor and the next layer
can multiply by it without a change of the model's results. Let r1 and r2 be the largest magnitudes of the channel's
weights in the two layers. The factors s = sqrt(r1 / r2) make both equal to sqrt(r1 r2), so that one scale per tensor
fits all channels. Source: M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
ICCV 2019, section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE, RELU
from arenite.converters.passes.producers import producers, reader_counts
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.weights.float_weights import frozen_float32
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer

#: Layers between two convolutions whose output scales with their input in every channel.
_SCALING_LAYERS = frozenset({"MAX_POOL_2D", "AVERAGE_POOL_2D"})

#: The largest number of passes over all pairs.
_MAX_PASSES = 40
#: The passes end if the magnitude of the logarithm of every factor of a pass is smaller than this.
_CONVERGED = 1e-3

#: The largest factor of one pass, and the inverse of the smallest factor. Other factors would make some weights too
#: large.
_MAX_FACTOR = 1e3


@dataclass(frozen=True)
class LayerPair:
    """Two layers. Channel ``c`` of the first layer's output is only read as channel ``c`` of the second layer's
    input."""

    first: int  # operator index
    second: int  # operator index
    between: tuple[int, ...] = ()  # the tensors from the second layer's input back to the first's output


@dataclass(frozen=True)
class EqualizedModel:
    """The float model with equalized weights, or the same model if it has no pairs.

    ``scaled`` has the indices of the tensors whose channels were scaled; all other computed tensors have the same
    values as before. Indices of tensors and operators do not change.
    """

    flatbuffer: bytes
    scaled: frozenset[int]
    notes: tuple[str, ...]


def equalize_layers(flatbuffer: bytes) -> EqualizedModel:
    """Equalize every possible pair of layers, and repeat this until the factors are close to 1."""
    model = parse(flatbuffer)
    graph = model.main
    pairs = find_layer_pairs(graph)
    if not pairs:
        return EqualizedModel(flatbuffer, frozenset(), ())
    values = {
        t.index: t.data.astype(np.float64)
        for t in graph.tensors
        if t.data is not None and t.dtype == "float32"
    }
    total = {pair: np.zeros(0) for pair in pairs}
    for _ in range(_MAX_PASSES):
        change = 0.0
        for pair in pairs:
            factors = _equalize_pair(graph, pair, values)
            total[pair] = total[pair] * factors if total[pair].size else factors
            change = max(change, float(np.abs(np.log(factors)).max(initial=0.0)))
        if change < _CONVERGED:
            break
    tensors = tuple(
        replace(t, data=frozen_float32(values[t.index])) if t.index in values else t for t in graph.tensors
    )
    factors = np.concatenate(list(total.values()))
    pair_names = ", ".join(f"{p.first}-{p.second}" for p in pairs)
    note = f"Layers {pair_names} equalized: channels scaled by {1 / factors.max():.3g} to {1 / factors.min():.3g}."
    new = replace(model.with_main(replace(graph, tensors=tensors)), repairs=())
    scaled = frozenset(i for p in pairs for i in p.between)
    return EqualizedModel(to_flatbuffer(new), scaled, (note,))


def find_layer_pairs(graph: Subgraph) -> tuple[LayerPair, ...]:
    """Return the pairs of layers that can be equalized, in order."""
    producer, count = producers(graph), reader_counts(graph)
    layer_pairs = []
    for op in graph.ops:
        if not _is_suitable(graph, op, count):
            continue
        between = [op.inputs[0]]
        source = op.inputs[0]
        while source in producer and producer[source].name in _SCALING_LAYERS and count[source] == 1:
            if producer[source].options["fused_activation_function"] not in (NONE, RELU):
                break
            source = producer[source].inputs[0]
            between.append(source)
        first = producer.get(source)
        if first is None or count[source] != 1 or not _is_suitable(graph, first, count):
            continue
        if first.options["fused_activation_function"] not in (NONE, RELU):
            continue
        if graph.tensors[source].shape[-1] == _channels_in(graph, op):
            layer_pairs.append(LayerPair(first.index, op.index, tuple(between)))
    return tuple(layer_pairs)


def _is_suitable(graph: Subgraph, op: Op, count: dict[int, int]) -> bool:
    """Return whether the layer has constant float weights and bias that no other layer reads. A depthwise layer must
    have a multiplier of 1."""
    if op.name not in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        return False
    rule = WEIGHTS[op.name]
    own = [op.inputs[rule.weights], *([op.input(rule.bias)] if op.input(rule.bias) >= 0 else [])]
    if not all(
        graph.tensors[i].is_constant and graph.tensors[i].dtype == "float32" and count[i] == 1 for i in own
    ):
        return False
    x, w = graph.tensors[op.inputs[0]], graph.tensors[own[0]]
    if op.name == "DEPTHWISE_CONV_2D":
        return w.shape[3] == x.shape[3]
    return op.name == "FULLY_CONNECTED" or w.shape[3] == x.shape[3]


def _channels_in(graph: Subgraph, op: Op) -> int:
    return graph.tensors[op.inputs[1]].shape[-1]


def _equalize_pair(graph: Subgraph, pair: LayerPair, values: dict[int, np.ndarray]) -> np.ndarray:
    """Equalize one pair in ``values``, and return the factors by which the first layer was divided."""
    first, second = graph.ops[pair.first], graph.ops[pair.second]
    w1, w2 = first.inputs[1], second.inputs[1]
    r1 = _largest(values[w1], WEIGHTS[first.name].axis)
    # The last axis has the input channels of a convolution or a dense layer, or the channels of a depthwise one.
    r2 = _largest(values[w2], values[w2].ndim - 1)
    alive = (r1 > 0) & (r2 > 0)
    factors = np.where(alive, np.sqrt(np.where(alive, r1, 1.0) / np.where(alive, r2, 1.0)), 1.0)
    factors = np.clip(factors, 1 / _MAX_FACTOR, _MAX_FACTOR)
    divide_channels(first, second, factors, values)
    return factors


def divide_channels(
    first: Op, second: Op, factors: np.ndarray, values: dict[int, np.ndarray]
) -> frozenset[int]:
    """Divide the channels between the layers ``first`` and ``second`` by ``factors``: change the weights and the bias
    in ``values``, the constants by tensor index. Return the indices of the changed tensors."""
    w1, w2, bias = first.inputs[1], second.inputs[1], first.input(2)
    axis = WEIGHTS[first.name].axis
    values[w1] = values[w1] / _reshape_along(factors, axis, values[w1].ndim)
    if bias >= 0:
        values[bias] = values[bias] / factors
    values[w2] = values[w2] * _reshape_along(factors, values[w2].ndim - 1, values[w2].ndim)
    return frozenset({w1, w2} | ({bias} if bias >= 0 else set()))


def _largest(weights: np.ndarray, axis: int) -> np.ndarray:
    """Return the largest magnitude of the weights at each position of ``axis``."""
    return np.asarray(np.abs(weights).max(axis=tuple(i for i in range(weights.ndim) if i != axis)))


def _reshape_along(factors: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """Return ``factors`` in a shape that multiplies an array of ``rank`` dimensions along ``axis``."""
    return factors.reshape([-1 if i == axis else 1 for i in range(rank)])
