"""Compute the plan with which the generated C code reads landmarks or a mask from a model's outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.detector_plan import ElementLayout, input_sides
from arenite.converters.processing.post.landmark_mask_steps import Mask, Points
from arenite.converters.processing.post.tensor_values import (
    MAX_ROWS,
    TensorReader,
    affine_of,
    tensor_of,
    threshold_key,
)
from arenite.converters.processing.specification.record_fields import record_error

#: The value of ``PointsPlan.score`` for points without a score.
NO_SCORE = 255
#: The types of class outputs and their size in bytes. All supported processors are little-endian.
_CLASS_BYTES = {"int32": 4, "int64": 8}


@dataclass(frozen=True)
class PointsPlan:
    """The plan to read landmarks. A key is an integer that stands for a score, see ``tensor_values.keys``."""

    step: Points
    values: TensorReader  # channels: y, x, score
    count: int  # number of landmarks
    y: int  # index of the y coordinate among the values of a point
    x: int  # index of the x coordinate
    score: int  # index of the score among the values of a point, or NO_SCORE
    presence: tuple[int, int] | None  # output index, and the smallest key of an object that is present


@dataclass(frozen=True)
class MaskPlan:
    """The plan to read a mask: the class of each pixel. A key is an integer that stands for a score, see
    ``tensor_values.keys``."""

    step: Mask
    dtype: str
    pixel: ElementLayout  # fields are channels
    shape: tuple[int, int]  # height, width
    first: int  # the first channel with scores
    last: int  # the last channel plus 1
    least: int  # the smallest key of a score that reaches the threshold
    # Whether the output holds classes instead of scores; dtype and pixel then describe the lowest byte of each class.
    holds_classes: bool = False


def plan_points_or_mask(
    step: object, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> PointsPlan | MaskPlan:
    """Return the plan of ``step``. Raises ``UsageError`` if the shape or type of an output does not suit the step."""
    if isinstance(step, Points):
        return _plan_points(step, inputs, outputs)
    assert isinstance(step, Mask)
    return _plan_mask(step, outputs)


def _plan_points(step: Points, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> PointsPlan:
    tensor = tensor_of(outputs, step.output, "output")
    count = tensor.elements // step.values
    if tensor.elements % step.values:
        raise record_error(
            f"Points: the output has {tensor.elements} values, which is not a multiple of {step.values} "
            "(the field values of the step)."
        )
    if count > MAX_ROWS:
        raise record_error(f"Points: the output has {count} points, but at most {MAX_ROWS} are supported.")
    height, width = input_sides(inputs) if step.unit == "pixels" else (1, 1)
    channels = ((tensor, 1.0 / height), (tensor, 1.0 / width), (tensor, 1.0))
    presence = None
    if step.presence is not None:
        presence_tensor = tensor_of(outputs, step.presence, "output")
        presence = (step.presence, threshold_key(presence_tensor, step.threshold, step.presence_logits))
    return PointsPlan(
        step,
        TensorReader(tensor.dtype, affine_of(*channels)),
        count,
        y=int(step.order == "xy"),
        x=int(step.order == "yx"),
        score=NO_SCORE if step.score is None else step.score,
        presence=presence,
    )


def _plan_mask(step: Mask, outputs: Sequence[Tensor]) -> MaskPlan:
    # ``tensor_of`` would reject an output of classes, because its integers have no scale.
    has_classes = step.output < len(outputs) and outputs[step.output].dtype in _CLASS_BYTES
    tensor = outputs[step.output] if has_classes else tensor_of(outputs, step.output, "output")
    shape = tensor.shape[1:] if len(tensor.shape) > 2 and tensor.shape[0] == 1 else tensor.shape
    if len(shape) == 2:
        shape = (1, *shape) if step.planes else (*shape, 1)
    if len(shape) != 3:
        raise record_error(
            f"Mask: the output's shape is {'x'.join(map(str, tensor.shape))}, expected height, width and channels."
        )
    height, width, channels = (*shape[1:], shape[0]) if step.planes else shape
    if has_classes and channels == 1:
        pixel = ElementLayout(0, _CLASS_BYTES[tensor.dtype])
        return MaskPlan(step, "uint8", pixel, (height, width), 0, 1, 0, holds_classes=True)
    if has_classes or channels > 256 or (step.channel is not None and step.channel >= channels):
        raise record_error(
            f"Mask: the output has {channels} channels of {tensor.dtype}. Expected one channel of classes (int32 or "
            "int64), or 1 to 256 channels of scores. The field channel must be less than the number of channels."
        )
    channel = step.channel if channels > 1 else 0
    return MaskPlan(
        step,
        tensor.dtype,
        ElementLayout(0, 1, height * width) if step.planes else ElementLayout(0, channels, 1),
        (height, width),
        first=0 if channel is None else channel,
        last=channels if channel is None else channel + 1,
        least=threshold_key(tensor, step.threshold, step.logits),
    )
