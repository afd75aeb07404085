"""Check field data against a model that is already quantized: find clipping at its inputs and saturation inside.

There is no float model to compute the true values. But a tensor is clipped if its integers are at an end of their range
much more often than with calibration data. An end at which an activation function clamps on purpose (zero for RELU) is
not a sign of saturation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Tensor
from arenite.converters.quantize.checks.coverage import range_of, short_name
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.scoring.model_runner import quantize_values
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.converters.tflite.reader import parse

#: The smallest share of saturated values that is reported.
_MIN_REPORTED_SHARE = 0.001

#: Operators whose outputs normally reach the ends of their range.
_SATURATING_OPERATORS = frozenset({"SOFTMAX", "LOGISTIC", "TANH", "LOG_SOFTMAX"})


@dataclass(frozen=True)
class SaturationReport:
    """The shares of values at the lowest and at the highest integer of a tensor. For an input they are the shares of
    real values below and above the range.

    ``low`` and ``high`` are the real values of the lowest and the highest integer. ``at_low`` and ``at_high`` are the
    shares.
    """

    index: int
    name: str
    made_by: str  # name of the operator that computes the tensor, or "input"
    low: float
    high: float
    at_low: float
    at_high: float

    @property
    def share(self) -> float:
        return self.at_low + self.at_high

    def to_json(self) -> dict[str, Any]:
        return {
            "tensor": self.index,
            "name": self.name,
            "made_by": self.made_by,
            "range": [self.low, self.high],
            "at_low": self.at_low,
            "at_high": self.at_high,
        }


def saturation(flatbuffer: bytes, dataset: Dataset) -> tuple[SaturationReport, ...]:
    """Return the saturation of every quantized input and computed tensor over all samples, in the order of the
    graph. The model runs with the reference kernels."""
    graph = parse(flatbuffer).main
    makers = dict.fromkeys(graph.inputs, "input")
    makers |= {i: op.name for op in graph.ops for i in op.outputs if i >= 0}
    tensors = [graph.tensors[i] for i in makers if _is_quantized(graph.tensors[i])]
    counts = {t.index: np.zeros(3) for t in tensors}
    litert = LiteRtModel(flatbuffer, exact=True, keep=True)
    for sample in dataset.inputs:
        quantized_inputs = [
            _quantized_sample(value, graph.tensors[i]) for value, i in zip(sample, graph.inputs, strict=True)
        ]
        litert.run(quantized_inputs)
        for t in tensors:
            if t.index in graph.inputs:
                counts[t.index] += _count_beyond_range(sample[graph.inputs.index(t.index)], t)
            else:
                counts[t.index] += _count_at_ends(litert.value(t.index), t, makers[t.index])
    saturations = []
    for t in tensors:
        assert t.quant is not None
        span = range_of(t.quant, t.dtype)
        low, high, total = counts[t.index]
        saturations.append(
            SaturationReport(t.index, t.name, makers[t.index], span.low, span.high, low / total, high / total)
        )
    return tuple(saturations)


def saturation_warnings(
    field: Sequence[SaturationReport], calibration: Sequence[SaturationReport] | None = None
) -> tuple[str, ...]:
    """Return a sentence for each tensor that saturates on field data, the worst first. With ``calibration``, only
    tensors that saturate more than twice as often as on calibration data are reported."""
    usual_share = {} if calibration is None else {s.index: s.share for s in calibration}
    saturated = [s for s in field if s.share > max(_MIN_REPORTED_SHARE, 2 * usual_share.get(s.index, 0.0))]
    sentences = []
    for s in sorted(saturated, key=lambda s: -s.share):
        comparison = f" (calibration data: {usual_share[s.index]:.2%})" if s.index in usual_share else ""
        verb = "are outside it" if s.made_by == "input" else "are at its ends"
        sentences.append(
            f"The scale of the {s.made_by} tensor {s.index} '{short_name(s.name)}' represents {s.low:.4g} to "
            f"{s.high:.4g}; {s.share:.2%} of its values in field data {verb}{comparison}. "
            f"Calibrate the float model with samples like these."
        )
    return tuple(sentences)


def _is_quantized(t: Tensor) -> bool:
    return t.dtype in ("int8", "uint8", "int16") and t.quant is not None and not t.quant.per_axis


def _quantized_sample(value: np.ndarray, t: Tensor) -> np.ndarray:
    """Return the real values of a sample in the type of the input ``t``."""
    dtype = DTYPES[t.dtype]
    assert dtype is not None
    return quantize_values(value, t.scale, t.zero_point, dtype) if _is_quantized(t) else value.astype(dtype)


def _count_beyond_range(value: np.ndarray, t: Tensor) -> np.ndarray:
    """Return the number of real values below the range, above it, and in total."""
    assert t.quant is not None
    span = range_of(t.quant, t.dtype)
    low, high = span.low - span.step / 2, span.high + span.step / 2
    return np.array([np.sum(value < low), np.sum(value > high), value.size], float)


def _count_at_ends(value: np.ndarray, t: Tensor, made_by: str) -> np.ndarray:
    """Return the number of integers at the lowest end of the range, at the highest end, and in total. Ends at which the
    operator clamps on purpose count as 0."""
    dtype = DTYPES[t.dtype]
    assert dtype is not None
    info = np.iinfo(dtype)
    if made_by in _SATURATING_OPERATORS:
        return np.array([0, 0, value.size], float)
    # If the lowest integer represents zero, it is the clamp of a RELU.
    low = 0 if t.zero_point == info.min else np.sum(value == info.min)
    return np.array([low, np.sum(value == info.max), value.size], float)


def check_quantized_model(
    flatbuffer: bytes, field: Dataset, calibration: Dataset | None = None
) -> tuple[tuple[SaturationReport, ...], tuple[str, ...]]:
    """Return the saturation on ``field``, and warnings. With ``calibration`` the warnings compare both data sets."""
    field_saturation = saturation(flatbuffer, field)
    usual_saturation = None if calibration is None else saturation(flatbuffer, calibration)
    return field_saturation, saturation_warnings(field_saturation, usual_saturation)
