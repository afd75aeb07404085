"""Plan landmarks and masks for a model's outputs."""

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
    step: Points
    values: TensorReader  # channels: y, x, score
    count: int
    y: int  # index of the number within a point
    x: int
    score: int  # index of the score within a point; NO_SCORE for none
    presence: tuple[int, int] | None  # output, and the smallest key that means "present"


@dataclass(frozen=True)
class MaskPlan:
    step: Mask
    dtype: str
    pixel: ElementLayout  # fields are channels
    shape: tuple[int, int]
    first: int
    last: int  # the channels are first to last - 1
    least: int  # the smallest key of a score that reaches the threshold
    given: bool = False  # the output holds classes, not scores; dtype and pixel describe their lowest bytes


def plan_points_or_mask(
    step: object, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> PointsPlan | MaskPlan:
    """Return the plan of ``step``. Raises ``UsageError`` for outputs of other shapes or types."""
    if isinstance(step, Points):
        return _plan_points(step, inputs, outputs)
    assert isinstance(step, Mask)
    return _plan_mask(step, outputs)


def _plan_points(step: Points, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> PointsPlan:
    tensor = tensor_of(outputs, step.output, "output")
    count = tensor.elements // step.values
    if tensor.elements % step.values or count > MAX_ROWS:
        raise record_error(
            f"Points: the output has {tensor.elements} values, which is not a multiple of {step.values} per point."
        )
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
    # Classes are integers without a scale.
    has_classes = step.output < len(outputs) and outputs[step.output].dtype in _CLASS_BYTES
    tensor = outputs[step.output] if has_classes else tensor_of(outputs, step.output, "output")
    shape = tensor.shape[1:] if len(tensor.shape) > 2 and tensor.shape[0] == 1 else tensor.shape
    if len(shape) == 2:
        shape = (1, *shape) if step.planes else (*shape, 1)
    if len(shape) != 3:
        raise record_error(
            f"Mask: the output of {'x'.join(map(str, tensor.shape))} has no height, width and channels."
        )
    height, width, channels = (*shape[1:], shape[0]) if step.planes else shape
    if has_classes and channels == 1:
        pixel = ElementLayout(0, _CLASS_BYTES[tensor.dtype])
        return MaskPlan(step, "uint8", pixel, (height, width), 0, 1, 0, given=True)
    if has_classes or channels > 256 or (step.channel is not None and step.channel >= channels):
        raise record_error(
            f"Mask: there are {channels} channels of {tensor.dtype}, expected one channel of classes, or at most 256 "
            "channels of scores, more than the number in the field channel."
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
