"""Postprocessing bound to a model's outputs: thresholds as stored values, scales as integers, anchors as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.errors import UsageError
from arenite.converters.graph import Tensor
from arenite.converters.processing.fields import bad
from arenite.converters.processing.levels import Affine, _fixed
from arenite.converters.processing.steps_post import Boxes, Mse, Nms, Postprocessing, TopK

#: Fractional bits of a real number, of anchors.
REAL_BITS = 16
ANCHOR_BITS = 15
#: The most a coordinate can be, in parts of the input.
MOST = 16
#: 2^(k / 128) in 30 fractional bits, and log2(e) in 28.
EXP_BITS = 30
LOG2E = round(math.log2(math.e) * (1 << 28))
#: Differences are cut to this, so that 8192 squares sum below 2^63.
MOST_DIFFERENCE = 1 << 25
MOST_ELEMENTS = 8192
#: What post.h holds in 16 bits.
MOST_ANCHORS = 65535

_INT32 = (-(2**31), 2**31 - 1)
TYPES = ("float32", "int8", "uint8", "int16")


@dataclass(frozen=True)
class Values:
    """How to read a tensor: ``affine`` takes stored integers to ``REAL_BITS``; of float32 it is not used."""

    dtype: str
    affine: Affine


@dataclass(frozen=True)
class TopKPlan:
    step: TopK
    dtype: str
    count: int
    least: int  # the smallest key that counts


@dataclass(frozen=True)
class BoxesPlan:
    step: Boxes
    nms: Nms
    centres: Values
    sizes: Values
    scores: str  # dtype
    count: int
    stride: int  # numbers of a box in the output
    classes: int
    least: int
    anchors: np.ndarray | None  # uint16 [count, 4]
    iou: int  # REAL_BITS


@dataclass(frozen=True)
class MsePlan:
    step: Mse
    input: Values
    output: Values
    count: int
    unit: float  # float32: of the sum of squares


PostPlan = TopKPlan | BoxesPlan | MsePlan


def plan_post(spec: Postprocessing, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> PostPlan:
    """Raises ``UsageError`` when the model has no such outputs, or of another shape or type."""
    first = spec.steps[0]
    if isinstance(first, TopK):
        tensor = _tensor(outputs, first.output, "output")
        return TopKPlan(first, tensor.dtype, tensor.elements, _least(tensor, first.threshold, first.logits))
    if isinstance(first, Mse):
        a, b = _tensor(inputs, first.input, "input"), _tensor(outputs, first.output, "output")
        if a.elements != b.elements or a.elements > MOST_ELEMENTS:
            raise bad(f"MSE: input and output have {a.elements} and {b.elements} values.")
        unit = float(np.float32(1.0 / (a.elements * 2.0 ** (2 * REAL_BITS))))
        return MsePlan(first, _values(a, 1.0), _values(b, 1.0), a.elements, unit)
    nms = spec.steps[1]
    assert isinstance(first, Boxes) and isinstance(nms, Nms)
    boxes, scores = _tensor(outputs, first.boxes, "output"), _tensor(outputs, first.scores, "output")
    anchors = anchor_table(first)
    count = len(anchors) if anchors is not None else boxes.shape[-2] if len(boxes.shape) > 1 else 0
    if not count or boxes.elements % count or scores.elements % count or boxes.elements // count < 4:
        raise bad(
            f"Boxes: there are {count} anchors, but {boxes.elements} values of boxes and {scores.elements} of scores."
        )
    if max(count, boxes.elements // count, scores.elements // count) > MOST_ANCHORS:
        raise bad(f"Boxes: there are {count} anchors, expected at most {MOST_ANCHORS:,}.")
    return BoxesPlan(
        step=first,
        nms=nms,
        centres=_values(boxes, first.centre_scale),
        sizes=_values(boxes, first.size_scale),
        scores=scores.dtype,
        count=count,
        stride=boxes.elements // count,
        classes=scores.elements // count,
        least=_least(scores, first.threshold, first.logits),
        anchors=anchors,
        iou=round(nms.iou * (1 << REAL_BITS)),
    )


def _tensor(tensors: Sequence[Tensor], index: int, what: str) -> Tensor:
    if index >= len(tensors):
        raise bad(f"Postprocessing speaks of {what} {index}, but the model has {len(tensors)}.")
    tensor = tensors[index]
    quantised = tensor.quant is not None and not tensor.quant.per_axis
    if tensor.dtype not in TYPES or (tensor.dtype != "float32" and not quantised) or not tensor.elements:
        raise UsageError(
            f"Postprocessing cannot read {what} {index} '{tensor.name}', which is {tensor.dtype}.",
            "It reads float32, int8, uint8 and int16, quantised per tensor.",
        )
    return tensor


def _values(tensor: Tensor, divide: float) -> Values:
    if tensor.dtype == "float32":
        # Divided afterwards, as integers: (2^30 / divide) >> 30.
        multiplier, shift = _fixed(1.0 / divide)
        return Values("float32", Affine((0,), (multiplier,), (shift,), (0.0,), 0, *_INT32))
    multiplier, shift = _fixed(tensor.scale / divide * (1 << REAL_BITS))
    return Values(tensor.dtype, Affine((tensor.zero_point,), (multiplier,), (shift,), (0.0,), 0, *_INT32))


def _least(tensor: Tensor, threshold: float | None, logits: bool) -> int:
    """The smallest key of a value that reaches the threshold."""
    if threshold is None:
        return _INT32[0]
    real = math.log(threshold / (1 - threshold)) if logits else threshold
    if tensor.dtype == "float32":
        return int(keys(np.array([real], np.float32))[0])
    return max(min(math.ceil(real / tensor.scale) + tensor.zero_point, 2**31 - 1), _INT32[0])


def keys(values: np.ndarray) -> np.ndarray:
    """int64 in the order of ``values``: integers themselves; the bits of float32, those of negative ones turned."""
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(2**31) - bits - 1, bits)


def anchor_table(step: Boxes) -> np.ndarray | None:
    """uint16 [anchors, 4]: centre y, x, height, width, 1 as 2^15; None without anchors."""
    if step.grid:
        rows = [
            ((y + 0.5) / height, (x + 0.5) / width, 1.0, 1.0)
            for height, width, each in step.grid
            for y in range(height)
            for x in range(width)
            for _ in range(each)
        ]
    elif step.anchors:
        rows = list(step.anchors)  # type: ignore[arg-type]
    else:
        return None
    return np.round(np.array(rows, np.float64) * (1 << ANCHOR_BITS)).astype(np.uint16)


def exp_table() -> np.ndarray:
    """uint32 [129]."""
    return np.round(2.0 ** (np.arange(129) / 128) * (1 << EXP_BITS)).astype(np.uint32)
