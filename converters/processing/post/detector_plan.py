"""The plan of a detector for a model's outputs: the position of each number, and thresholds as integer scores."""

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
    """Field ``f`` of row ``i`` is element ``first + i * step + f * field`` of its tensor."""

    first: int
    step: int
    field: int = 0


@dataclass(frozen=True)
class BoxesPlan:
    """The plan of a detector. ``centres`` and ``sizes`` have channel 0 for y and 1 for x; ``weights`` has channel 0 for
    keys and 1 for classes that the model outputs."""

    outputs: tuple[int, int, int | None, int | None]  # indices of the outputs boxes, scores, classes, count
    centres: TensorReader
    sizes: TensorReader
    weights: TensorReader
    box: ElementLayout
    score: ElementLayout
    object: ElementLayout | None  # objectness
    label: ElementLayout | None  # classes that the model outputs
    labels: str  # type of the outputs classes and count
    count: int  # rows
    first_class: int
    classes: int  # the last class plus 1
    least: int  # the smallest key of a score that reaches the threshold
    least_object: int  # the smallest key of an objectness that reaches the threshold
    candidates: int
    nms: Nms
    iou: int  # REAL_BITS
    x_first: bool
    corners: bool = False
    exponential: bool = False
    logits: bool = False
    anchors: np.ndarray | None = None  # uint16 [count, 4]
    points: int = 0
    point_first: int = 4
    point_values: int = 2
    key_scale: float = 1.0  # real score = key_scale * (key - key_zero) for integer scores
    key_zero: int = 0
    object_zero: int = 0


def key_scale(scores: Tensor) -> float:
    return 1.0 if scores.dtype == "float32" else scores.scale


def key_zero(scores: Tensor) -> int:
    return 0 if scores.dtype == "float32" else scores.zero_point


def input_sides(inputs: Sequence[Tensor]) -> tuple[int, int]:
    """Return height and width of the first input, channels last or first. Raises ``UsageError`` if it is not a
    picture."""
    shape = inputs[0].shape if inputs else ()
    if len(shape) == 4 and shape[-1] in (1, 3, 4):
        return shape[1], shape[2]
    if len(shape) == 4 and shape[1] in (1, 3, 4):
        return shape[2], shape[3]
    raise record_error("Coordinates are in pixels, but the model's first input is not a picture.")
