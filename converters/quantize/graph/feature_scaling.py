"""Offsets and factors for the features of an input, computed in float32 before the input is quantized.

An integer tensor has one scale. If one feature of an input has values up to 0.001 and another up to 1,000, the first
one has a single quantization step, and its weights have few steps as well. So the image subtracts an offset from each
feature and multiplies it by a factor of its own before it quantizes them, and its input has the type float32.

If the model begins with such operators, as with Keras' Normalization, they stay float32. If it begins with fully
connected layers, the operators are added, and the weights and biases change so that the outputs stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.quantize.graph.graph_draft import GraphDraft
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer

#: The beginning of the name of the outputs of operators that scale features. They are computed in float32.
PREFIX = "feature_scaling/"

_OPERATORS = frozenset({"ADD", "SUB", "MUL", "DIV"})

#: The features get factors of their own if the ratio of signal to noise with one int8 scale is below the first number,
#: and if the factors improve it by the second number; both in dB.
_MIN_SIGNAL = 30.0
_MIN_GAIN = 10.0

#: A feature gets a range of at least this number of standard deviations on both sides. With the largest sample alone
#: as the limit, new samples of each feature would be clipped.
_MIN_DEVIATIONS = 3.5

#: The largest number of rows of samples that are used.
_MAX_ROWS = 65536


@dataclass(frozen=True)
class _Affine:
    """(feature - offset) * factor, with one offset and one factor for each feature as float32."""

    offset: np.ndarray
    factor: np.ndarray

    def apply(self, rows: np.ndarray) -> np.ndarray:
        result: np.ndarray = (rows - self.offset) * self.factor
        return result


def scales_features(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` scales features in float32 before an input is quantized."""
    return op.name in _OPERATORS and graph.tensors[op.outputs[0]].name.startswith(PREFIX)


def float_inputs(graph: Subgraph) -> frozenset[int]:
    """Return the inputs whose features are scaled in float32."""
    return frozenset(i for op in graph.ops if scales_features(graph, op) for i in op.inputs) & frozenset(
        graph.inputs
    )


def scale_features(
    flatbuffer: bytes, samples: Sequence[Sequence[np.ndarray]]
) -> tuple[bytes, tuple[str, ...]]:
    """Return the float model, in which features of very different ranges are scaled, and a sentence for each such
    input. ``samples[k][i]`` is input ``i`` of sample ``k``. If nothing changes, the bytes are returned unchanged."""
    model, notes = parse(flatbuffer), []
    for position, index in enumerate(model.main.inputs):
        tensor = model.main.tensors[index]
        if tensor.dtype != "float32" or not tensor.shape or tensor.shape[-1] < 2 or not samples:
            continue
        rows = np.concatenate([sample[position].reshape(-1, tensor.shape[-1]) for sample in samples])
        rows = rows[:: -(-len(rows) // _MAX_ROWS)].astype(np.float64)
        readers = [op for op in model.main.ops if index in op.inputs]
        if index in model.main.outputs or not readers or not np.isfinite(rows).all():
            continue
        chain = _scaling_chain(model.main, index)
        changed = _keep_chain(model, chain, rows) if chain else _add_scaling(model, index, readers, rows)
        if changed is None:
            continue
        model = changed
        spans = np.ptp(rows, axis=0)
        ratio = float(spans.max() / spans[spans > 0].min())
        notes.append(
            f"The ranges of the features of the input '{tensor.name}' differ by a factor of {ratio:,.0f}, too much "
            "for one int8 scale. So the image takes them as float32, without scaling by the caller, and scales each "
            "feature before it quantizes them."
        )
    return (to_flatbuffer(replace(model, repairs=())), tuple(notes)) if notes else (flatbuffer, ())


def _scaling_chain(graph: Subgraph, index: int) -> list[Op]:
    """Return the operators after the input ``index`` that change each feature by constants."""
    chain: list[Op] = []
    features = graph.tensors[index].shape[-1]
    while True:
        readers = [op for op in graph.ops if index in op.inputs]
        if len(readers) != 1 or readers[0].name not in _OPERATORS or index in graph.outputs:
            return chain
        op = readers[0]
        constants = [graph.tensors[i] for i in op.inputs if i != index]
        if (
            len(constants) != 1
            or constants[0].data is None
            or constants[0].data.size not in (1, features)
            or (constants[0].data.size > 1 and constants[0].shape[-1] != features)
            or (op.name == "DIV" and op.inputs[0] != index)
            or op.options.get("fused_activation_function", 0)
        ):
            return chain
        chain.append(op)
        index = op.outputs[0]


def _keep_chain(model: Model, chain: Sequence[Op], rows: np.ndarray) -> Model | None:
    """Return the model in which the operators of ``chain`` stay float32; None if they need not."""
    graph = model.main
    scaled, factors = rows, np.ones(rows.shape[1])
    for op in chain:
        position = next(k for k, i in enumerate(op.inputs) if graph.tensors[i].data is not None)
        data = graph.tensors[op.inputs[position]].data
        assert data is not None
        value = data.reshape(-1).astype(np.float64)
        if op.name == "MUL":
            scaled, factors = scaled * value, factors * value
        elif op.name == "DIV":
            scaled, factors = scaled / value, factors / value
        elif op.name == "ADD":
            scaled = scaled + value
        else:
            sign = 1 if position == 1 else -1
            scaled, factors = sign * (scaled - value), factors * sign
    if not np.isfinite(scaled).all():
        return None
    before = _signal_to_noise(rows, np.diag(factors), has_weights=False)
    after = _signal_to_noise(scaled, np.eye(rows.shape[1]), has_weights=False)
    if before >= _MIN_SIGNAL or after < before + _MIN_GAIN:
        return None
    tensors = list(graph.tensors)
    for op in chain:
        out = tensors[op.outputs[0]]
        tensors[out.index] = replace(out, name=PREFIX + out.name)
    return model.with_main(replace(graph, tensors=tuple(tensors)))


def _add_scaling(model: Model, index: int, readers: Sequence[Op], rows: np.ndarray) -> Model | None:
    """Return the model with operators that scale the features of the input ``index`` before the fully connected layers
    ``readers``; None if they are not needed, or if another operator reads the input."""
    graph = model.main
    matrices = []
    for op in readers:
        weights = graph.tensors[op.input(1)] if op.name == "FULLY_CONNECTED" else None
        bias = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
        if (
            weights is None
            or op.inputs[0] != index
            or weights.data is None
            or weights.dtype != "float32"
            or weights.shape[-1] != rows.shape[1]
            or (bias is not None and bias.data is None)
        ):
            return None
        matrices.append(weights.data.astype(np.float64))
    scaling = _best_scaling(rows, np.concatenate(matrices))
    return None if scaling is None else _with_scaling(model, index, readers, scaling)


def _best_scaling(rows: np.ndarray, weights: np.ndarray) -> _Affine | None:
    """Return a scaling of the features in ``rows``, float64 [samples, features], to about [-1, 1], before layers with
    ``weights``; None if one int8 scale is good enough. A constant feature keeps its factor."""
    before = _signal_to_noise(rows, weights)
    if before >= _MIN_SIGNAL:
        return None
    low, high = rows.min(axis=0), rows.max(axis=0)
    limit = np.maximum((high - low) / 2, _MIN_DEVIATIONS * rows.std(axis=0))
    factor = (1 / np.where(limit > 1e-30, limit, 1.0)).astype(np.float32)
    offset = ((low + high) / 2).astype(np.float32)
    scaling = _Affine(offset.astype(np.float64), factor.astype(np.float64))
    after = _signal_to_noise(scaling.apply(rows), weights / scaling.factor)
    return None if after < before + _MIN_GAIN else scaling


def _signal_to_noise(rows: np.ndarray, weights: np.ndarray, *, has_weights: bool = True) -> float:
    """Return the ratio in dB of the variance of ``rows @ weights.T`` to the error of int8 values with one scale, and of
    int8 weights with a scale for each output if ``has_weights``."""
    deviations = rows - rows.mean(axis=0)
    signal = float(((deviations @ weights.T) ** 2).mean(axis=0).sum())
    step = (max(rows.max(initial=0.0), 0.0) - min(rows.min(initial=0.0), 0.0)) / 255
    varies = np.ptp(rows, axis=0) > 0
    noise = float((weights[:, varies] ** 2).sum()) * step**2 / 12
    if has_weights:
        steps = np.abs(weights).max(axis=1) / 127
        noise += float((steps**2).sum()) / 12 * float((rows**2).mean(axis=0).sum())
    if noise <= 0 or signal <= 0:
        return np.inf
    return 10 * float(np.log10(signal / noise))


def _with_scaling(model: Model, index: int, readers: Sequence[Op], scaling: _Affine) -> Model:
    """Return the model with the operators of ``scaling`` between the input ``index`` and ``readers``."""
    draft, graph = GraphDraft(model), model.main
    source = graph.tensors[index]
    added, last = [], index
    for name, values in (("SUB", scaling.offset), ("MUL", scaling.factor)):
        constant = draft.constant(f"{PREFIX}{name.lower()}/values", values.astype(np.float32))
        out = draft.computed(source, f"{PREFIX}{source.name}/{name.lower()}")
        options = {"fused_activation_function": 0} | ({"pot_scale_int16": True} if name == "SUB" else {})
        added.append(Op(-1, name, (last, constant), (out,), options, f"{name.capitalize()}Options"))
        last = out
    for k, op in enumerate(readers):
        weights, bias = graph.tensors[op.inputs[1]], graph.tensors[op.input(2)] if op.input(2) >= 0 else None
        assert weights.data is not None
        matrix = weights.data.astype(np.float64)
        start = np.zeros(len(matrix)) if bias is None or bias.data is None else bias.data.astype(np.float64)
        new_weights = draft.constant(weights.name, (matrix / scaling.factor).astype(np.float32))
        bias_name = f"{weights.name}/bias" if bias is None else bias.name
        new_bias = draft.constant(bias_name, (start + matrix @ scaling.offset).astype(np.float32))
        changed = replace(op, inputs=(last, new_weights, new_bias))
        draft.ops[op.index] = [*added, changed] if k == 0 else [changed]
    return draft.finish()
