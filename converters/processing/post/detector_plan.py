"""The plan that says how to read boxes and scores from a model's outputs: the position of each number, and thresholds
as integers.

A key is an integer that stands for a stored score and has the same order, see ``tensor_values.keys``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.steps import Nms
from arenite.converters.processing.post.tensor_values import TensorReader
from arenite.converters.processing.specification.record_fields import record_error


@dataclass(frozen=True)
class ElementLayout:
    """The positions of numbers in a tensor: field ``f`` of row ``i`` is element ``first + i * step + f * field``."""

    first: int
    step: int
    field: int = 0


@dataclass(frozen=True)
class BoxesPlan:
    """The plan of a detector. A row holds the numbers of one possible box.

    ``centres`` and ``sizes`` have channel 0 for y and channel 1 for x. ``numbers`` has channel 0 for scores and
    channel 1 for classes and the count of boxes, if the model outputs them.
    """

    outputs: tuple[int, int, int | None, int | None]  # indices of the outputs boxes, scores, classes, count
    centres: TensorReader
    sizes: TensorReader
    numbers: TensorReader
    box: ElementLayout  # fields: the coordinates and the landmarks
    score: ElementLayout  # fields: the classes
    object: ElementLayout | None  # objectness
    label: ElementLayout | None  # None if the model does not output classes
    labels: str  # type of the outputs classes and count
    count: int  # number of rows
    first_class: int  # 1 if class 0 is the background, else 0
    classes: int  # the last class plus 1
    least: int  # the smallest key of a score that reaches the threshold
    least_object: int  # the smallest key of an objectness that reaches the threshold
    candidates: int  # at most this number of rows, with the best scores, are decoded
    nms: Nms
    iou: int  # with ``REAL_BITS`` fractional bits
    x_first: bool  # whether x is before y
    corners: bool = False  # whether a box is two corners instead of a center and a size
    exponential: bool = False  # whether sizes are exponents of e
    logits: bool = False  # whether scores are values before the sigmoid
    anchors: np.ndarray | None = None  # uint16 [count, 4]
    points: int = 0  # number of landmarks
    point_first: int = 4  # field of the first landmark's first number
    point_values: int = 2  # numbers per landmark
    key_scale: float = 1.0  # real score = key_scale * (key - key_zero) for integer scores
    key_zero: int = 0
    object_zero: int = 0  # zero point of integer scores; used with objectness


def key_scale(scores: Tensor) -> float:
    """Return the scale of integer scores, or 1 for float32."""
    return 1.0 if scores.dtype == "float32" else scores.scale


def key_zero(scores: Tensor) -> int:
    """Return the zero point of integer scores, or 0 for float32."""
    return 0 if scores.dtype == "float32" else scores.zero_point


def input_sides(inputs: Sequence[Tensor]) -> tuple[int, int]:
    """Return height and width of the first input, whose channels are the last or the second dimension. Raises
    ``UsageError`` if it is not a picture."""
    shape = inputs[0].shape if inputs else ()
    if len(shape) == 4 and shape[-1] in (1, 3, 4):
        return shape[1], shape[2]
    if len(shape) == 4 and shape[1] in (1, 3, 4):
        return shape[2], shape[3]
    raise record_error("Coordinates are in pixels, but the model's first input is not a picture.")
