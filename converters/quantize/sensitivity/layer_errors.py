"""Compare each tensor of a quantized model with the float model. The error includes the errors of earlier layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Subgraph, Tensor
from arenite.converters.quantize.checks.coverage import short_name
from arenite.converters.quantize.scoring.model_runner import quantize_values
from arenite.converters.tflite.litert.interpreter import real_values, run_tensor_values
from arenite.converters.tflite.reader import parse

#: The largest number of samples that are compared. It is enough for a ratio in decibels.
SAMPLES = 32


@dataclass(frozen=True)
class LayerError:
    """A comparison of one operator's first output in the float and in the quantized model, over all samples.

    ``sqnr_db`` is the ratio of the energy of the float values to the energy of the differences, infinite if there are
    no differences. ``max_abs`` is the largest difference in real units. ``step`` is the quantized tensor's scale, or
    None if it is float.
    """

    layer: int  # operator index in the float model
    op: str
    name: str
    sqnr_db: float
    max_abs: float
    step: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "layer": self.layer,
            "op": self.op,
            "name": self.name,
            "sqnr_db": None if np.isinf(self.sqnr_db) else self.sqnr_db,
            "max_abs": self.max_abs,
            "step": self.step,
        }


def layer_errors(
    flatbuffer: bytes,
    quantized: bytes,
    tensors: Mapping[int, int],
    samples: Sequence[Sequence[np.ndarray]],
) -> tuple[LayerError, ...]:
    """Compare the first output of every operator that computes float values. Return one entry for each, in order.

    Args:
        flatbuffer: the float model.
        quantized: the quantized model, which runs with the reference kernels.
        tensors: maps tensors of the float model's main subgraph to tensors of the quantized model, see
            ``QuantizedModel.tensors``.
        samples: real values, as in ``Dataset.inputs``. The first ``SAMPLES`` are used.
    """
    samples = samples[:SAMPLES]
    before, after = parse(flatbuffer).main, parse(quantized).main
    pairs = {
        op.index: (op.outputs[0], tensors[op.outputs[0]])
        for op in before.ops
        if _is_comparable(before, op, tensors)
    }
    signal, error = dict.fromkeys(pairs, 0.0), dict.fromkeys(pairs, 0.0)
    largest = dict.fromkeys(pairs, 0.0)
    count = len(after.inputs)
    stored = [
        [_quantize_for_input(v, after.tensors[i]) for v, i in zip(s[:count], after.inputs, strict=True)]
        + list(s[count:])
        for s in samples
    ]
    floats = run_tensor_values(flatbuffer, samples, sorted({a for a, _ in pairs.values()}))
    integers = run_tensor_values(quantized, stored, sorted({b for _, b in pairs.values()}), exact=True)
    for expected, actual in zip(floats, integers, strict=True):
        for layer, (a, b) in pairs.items():
            real = real_values(actual[b], after.tensors[b]).reshape(-1)
            value = expected[a].astype(np.float64).reshape(-1)
            signal[layer] += float(np.sum(value**2))
            error[layer] += float(np.sum((value - real) ** 2))
            largest[layer] = max(largest[layer], float(np.max(np.abs(value - real), initial=0.0)))
    return tuple(_entry(before, after, k, pairs[k], signal[k], error[k], largest[k]) for k in pairs)


def _is_comparable(graph: Subgraph, op: Any, tensors: Mapping[int, int]) -> bool:
    """Return whether the first output of ``op`` is a computed float tensor that the quantized model also has."""
    if not op.outputs or op.outputs[0] not in tensors:
        return False
    t = graph.tensors[op.outputs[0]]
    return t.dtype == "float32" and not t.is_constant


def _quantize_for_input(value: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return real values in the type of the input ``tensor``."""
    if tensor.quant is None or tensor.dtype == "float32":
        return value
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    return quantize_values(value, tensor.scale, tensor.zero_point, dtype)


def _entry(
    before: Subgraph,
    after: Subgraph,
    layer: int,
    pair: tuple[int, int],
    signal: float,
    error: float,
    largest: float,
) -> LayerError:
    op, tensor = before.ops[layer], after.tensors[pair[1]]
    sqnr = float("inf") if error == 0 else 10 * np.log10(max(signal, 1e-30) / error)
    step = tensor.scale if tensor.quant is not None else None
    return LayerError(layer, op.name, short_name(before.tensors[pair[0]].name), float(sqnr), largest, step)
