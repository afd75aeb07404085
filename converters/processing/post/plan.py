"""Plan postprocessing for a model's outputs: convert thresholds to integers that scores are compared with, and scales
to integer multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import Boxes, Mse, Nms, TopK
from arenite.converters.processing.post.tensor_values import (
    REAL_BITS,
    TensorReader,
    tensor_of,
    threshold_key,
    values_of,
)
from arenite.converters.processing.specification.record_fields import record_error

if TYPE_CHECKING:
    from arenite.converters.processing.post.detector_plan import BoxesPlan
    from arenite.converters.processing.post.landmark_mask_plan import MaskPlan, PointsPlan

#: Differences of input and output (with ``REAL_BITS`` fractional bits) are clipped to this magnitude, so that the
#: sum of ``MAX_ELEMENTS_MSE`` squares is below 2^63.
MAX_DIFFERENCE = 1 << 25
MAX_ELEMENTS_MSE = 8192


@dataclass(frozen=True)
class TopKPlan:
    """The plan to select the best classes."""

    step: TopK
    dtype: str
    count: int  # number of classes
    # The smallest key (see ``tensor_values.keys``) of a score that reaches the threshold; with softmax, the
    # threshold as a probability with ``REAL_BITS`` fractional bits.
    least: int
    values: TensorReader | None  # None without softmax


@dataclass(frozen=True)
class MsePlan:
    """The plan to compute the mean squared error."""

    step: Mse
    input: TensorReader
    output: TensorReader
    count: int  # elements of the input and of the output
    unit: float  # the mean squared error for an integer sum of squares of 1; a float32 value


PostPlan: TypeAlias = "TopKPlan | BoxesPlan | MsePlan | PointsPlan | MaskPlan"


def plan_post(spec: Postprocessing, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> PostPlan:
    """Return the plan of ``spec`` for a model. Raises ``UsageError`` if an output is missing or its shape or type
    does not suit the step."""
    first = spec.steps[0]
    if isinstance(first, TopK):
        return _top_k(first, outputs)
    if isinstance(first, Mse):
        return _mse(first, inputs, outputs)
    if first.do in ("points", "mask"):
        from arenite.converters.processing.post.landmark_mask_plan import plan_points_or_mask

        return plan_points_or_mask(first, inputs, outputs)
    return _plan_detector(spec, inputs, outputs)


def _plan_detector(spec: Postprocessing, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> BoxesPlan:
    first, nms = spec.steps[0], spec.steps[-1]
    if isinstance(first, Boxes):
        from arenite.converters.processing.post.ssd_plan import plan_boxes

        assert isinstance(nms, Nms)
        return plan_boxes(first, nms, outputs)
    from arenite.converters.processing.post.detector_steps import Detections, Yolo
    from arenite.converters.processing.post.yolo_plan import plan_detections, plan_yolo

    if isinstance(first, Detections):
        return plan_detections(first, inputs, outputs)
    assert isinstance(first, Yolo) and isinstance(nms, Nms)
    return plan_yolo(first, nms, inputs, outputs)


def _top_k(step: TopK, outputs: Sequence[Tensor]) -> TopKPlan:
    tensor = tensor_of(outputs, step.output, "output")
    if not step.softmax:
        return TopKPlan(
            step, tensor.dtype, tensor.elements, threshold_key(tensor, step.threshold, step.logits), None
        )
    least = round((step.threshold or 0.0) * (1 << REAL_BITS))
    return TopKPlan(step, tensor.dtype, tensor.elements, least, values_of(tensor, 1.0))


def _mse(step: Mse, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> MsePlan:
    a, b = tensor_of(inputs, step.input, "input"), tensor_of(outputs, step.output, "output")
    if a.elements != b.elements or a.elements > MAX_ELEMENTS_MSE:
        raise record_error(
            f"MSE: input and output have {a.elements} and {b.elements} values, expected the same number, at most "
            f"{MAX_ELEMENTS_MSE:,}."
        )
    unit = float(np.float32(1.0 / (a.elements * 2.0 ** (2 * REAL_BITS))))
    return MsePlan(step, values_of(a, 1.0), values_of(b, 1.0), a.elements, unit)
