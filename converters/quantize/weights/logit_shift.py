"""Subtract a common term from the logits of a softmax, so that their range becomes smaller.

A softmax does not change if the same number is subtracted from all logits of a row. The number may depend on the input
of the layer that computes the logits: if it is u x + c, subtracting it subtracts u from the weights and c from the bias
of every class. The largest logit decides most, so u and c predict it from the calibration samples. Then the largest
logit is near 0 for every sample. An int8 range from just above 0 down to the logits without influence suffices,
instead of a range that covers the largest logit of the most certain sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE
from arenite.converters.passes.producers import producers, reader_counts
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.weights.float_weights import (
    float64_matrix,
    frozen_float32,
    is_pruned,
    sampled_rows,
)
from arenite.converters.tflite.litert.interpreter import run_tensor_values

#: This share of the mean variance of the layer's inputs is added to every variance, so that u does not fit the samples.
#: With few samples, u is closer to the mean weights of the classes.
_RIDGE = 0.01

#: Logits with a range of fewer than this many units do not change: an int8 step of less than 0.1 changes probabilities
#: by 1 % at most.
_MIN_RANGE = 25.5


def shift_logits(model: Model, flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]]) -> Model:
    """Return ``model``, whose file is ``flatbuffer``, with shifted logits, or ``model`` itself if no layer with weights
    computes widely spread logits for a softmax alone.

    ``samples`` are real values, as in ``Dataset.inputs``.
    """
    graph = model.main
    layers = _logit_layers(graph)
    if not layers or not samples:
        return model
    tensors = list(graph.tensors)
    changed = False
    wanted = sorted({i for op in layers for i in (op.inputs[0], op.outputs[0])})
    values = list(run_tensor_values(flatbuffer, samples, wanted))
    for op in layers:
        weights, bias = tensors[op.inputs[1]], tensors[op.inputs[2]]
        assert weights.data is not None and bias.data is not None
        w = float64_matrix(weights)
        classes, inputs = w.shape
        if _range(row[op.outputs[0]] for row in values) < _MIN_RANGE:
            continue
        x, logits = sampled_rows(values, op.inputs[0], inputs), sampled_rows(values, op.outputs[0], classes)
        u, c = _common_term(x, logits.max(axis=1), w.mean(axis=0))
        shifted = weights.data - u.reshape(weights.shape[1:])
        tensors[weights.index] = replace(weights, data=frozen_float32(shifted))
        tensors[bias.index] = replace(bias, data=frozen_float32(bias.data - c))
        changed = True
    if not changed:
        return model
    return model.with_main(replace(graph, tensors=tuple(tensors)))


def _range(arrays: Iterable[np.ndarray]) -> float:
    """Return the difference between the largest and the smallest value of all arrays."""
    limits = [(float(a.min()), float(a.max())) for a in arrays]
    return max(high for _, high in limits) - min(low for low, _ in limits)


def _common_term(x: np.ndarray, largest: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the factors u and the constant c with which u x + c is close to ``largest``.

    Args:
        x: the inputs of the layer, float64 [rows, inputs].
        largest: the largest logit of each row.
        start: u is as close to these factors as the samples allow.
    """
    centred = x - x.mean(axis=0)
    second = centred.T @ centred / len(x)
    damping = _RIDGE * np.trace(second) / len(second) + 1e-12
    rest = largest - x @ start
    rest = rest - rest.mean()
    u = start + np.linalg.solve(second + damping * np.eye(len(second)), centred.T @ rest / len(x))
    return u, float(np.mean(largest - x @ u))


def _logit_layers(graph: Subgraph) -> list[Op]:
    """Return the layers whose outputs only a softmax reads, and that multiply each input position by weights of its own
    for each class."""
    producer, count = producers(graph), reader_counts(graph)
    layers = []
    for op in graph.ops:
        layer = producer.get(op.inputs[0]) if op.name == "SOFTMAX" else None
        if layer is None or count[op.inputs[0]] != 1 or op.inputs[0] in graph.outputs:
            continue
        if layer.name not in ("FULLY_CONNECTED", "CONV_2D") or layer.input(WEIGHTS[layer.name].bias) < 0:
            continue
        own = layer.inputs[1:3]
        tensors = [graph.tensors[i] for i in own]
        if any(t.data is None or t.dtype != "float32" or count[t.index] != 1 for t in tensors):
            continue
        if is_pruned(tensors[0]):
            continue
        x, shape = graph.tensors[layer.inputs[0]], tensors[0].shape
        is_pointwise = layer.name == "FULLY_CONNECTED" or (
            shape[1:3] == (1, 1)
            and shape[3] == x.shape[3]
            and (layer.options["stride_h"], layer.options["stride_w"]) == (1, 1)
        )
        has_classes = shape[0] > 1 and graph.tensors[op.inputs[0]].shape[-1] == shape[0]
        if is_pointwise and has_classes and layer.options.get("fused_activation_function") == NONE:
            layers.append(layer)
    return layers
