"""Collect the types, sizes, scales and weight errors of each layer after quantization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.graph.type_assignment import FLOAT, TypeAssignment
from arenite.converters.quantize.weights.integer_weights import QuantizedWeights, sqnr_db


@dataclass(frozen=True)
class LayerFigures:
    """One layer of the source model after quantization."""

    index: int  # index of the operator in the source model
    name: str
    output: str  # name of its first output
    activations: str  # int8, int16, float32; "" for a layer that has only integers
    weights: str  # int8, int4, float16, float32; "" for a layer without constant weights
    weight_bytes_before: int  # size of weights and bias in the source model
    weight_bytes: int  # size of weights and bias in the quantized model
    weight_sqnr_db: float | None  # ratio of signal to quantization noise of integer weights
    scale: float | None  # scale of the first output
    zero_point: int | None
    low: float | None  # real values of the smallest and the largest integer of the first output
    high: float | None


def layer_figures(
    graph: Subgraph, op: Op, a: TypeAssignment, weights: Mapping[int, QuantizedWeights]
) -> LayerFigures:
    """Return the figures of the layer ``op`` of ``graph``. ``weights`` has the integer weights by operator."""
    rule = WEIGHTS.get(op.name)
    mode = a.modes.get(op.index, "")
    before = after = 0
    kind, quality = "", None
    t = graph.tensors[op.inputs[rule.weights]] if rule is not None else None
    if rule is not None and t is not None and t.data is not None:
        integers = weights.get(op.index)
        bias = graph.tensors[op.input(rule.bias)].elements if op.input(rule.bias) >= 0 else 0
        before = 4 * (t.elements + bias)
        if integers is not None:
            kind, quality = integers.dtype, sqnr_db(t.data, integers.real())
            after = integers.stored().nbytes + bias * (8 if mode == "int16" else 4)
        elif mode == FLOAT and a.settings[op.index].weights == "float16":
            kind, after = "float16", before // 2
        else:
            kind, after = FLOAT, before
    out = op.outputs[0] if op.outputs else -1
    quant = a.quant.get(a.produced[out]) if out in a.produced else None
    low = high = None
    if quant is not None:
        span = np.iinfo(a.produced[out].dtype)
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
