"""Detectors bound to a model's outputs: where each number stands, thresholds as keys, anchors as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.postprocessing import Boxes, Nms, Postprocessing
from arenite.converters.processing.post.tensor_values import (
    ANCHOR_BITS,
    INT32,
    MAX_ROWS,
    REAL_BITS,
    TensorReader,
    tensor_of,
    threshold_key,
    values_of,
)
from arenite.converters.processing.record_fields import record_error


@dataclass(frozen=True)
class ElementLayout:
    """Field ``f`` of row ``i`` is element ``first + i * step + f * field`` of its tensor."""

    first: int
    step: int
    field: int = 0


@dataclass(frozen=True)
class BoxesPlan:
    """``centres`` and ``sizes`` have channel 0 for y, 1 for x; ``weights`` 0 for keys, 1 for given classes."""

    outputs: tuple[int, int, int | None, int | None]  # of boxes, scores, classes, count
    centres: TensorReader
    sizes: TensorReader
    weights: TensorReader
    box: ElementLayout
    score: ElementLayout
    object: ElementLayout | None  # objectness
    label: ElementLayout | None  # given classes
    labels: str  # dtype of given classes and their number
    count: int  # rows
    first_class: int
    classes: int  # the last one and 1
    least: int
    least_object: int
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
    key_scale: float = 1.0  # real score = key_scale * (key - key_zero), of integers
    key_zero: int = 0
    object_zero: int = 0


def plan_detector(spec: Postprocessing, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> BoxesPlan:
    """Raises ``UsageError`` for outputs of other shapes or types."""
    first, nms = spec.steps[0], spec.steps[-1]
    if isinstance(first, Boxes):
        assert isinstance(nms, Nms)
        return plan_boxes(first, nms, outputs)
    from arenite.converters.processing.post.yolo_plan import plan_yolo_or_detections

    return plan_yolo_or_detections(first, nms, inputs, outputs)


def plan_boxes(step: Boxes, nms: Nms, outputs: Sequence[Tensor]) -> BoxesPlan:
    """An SSD head. Raises ``UsageError``."""
    boxes, scores = tensor_of(outputs, step.boxes, "output"), tensor_of(outputs, step.scores, "output")
    anchors = anchor_table(step)
    count = len(anchors) if anchors is not None else boxes.shape[-2] if len(boxes.shape) > 1 else 0
    if not count or boxes.elements % count or scores.elements % count or boxes.elements // count < 4:
        raise record_error(
            f"Boxes: there are {count} anchors, but {boxes.elements} values of boxes and {scores.elements} of scores."
        )
    stride, classes = boxes.elements // count, scores.elements // count
    if classes <= int(step.background):
        raise record_error("Boxes: a box has one score, and that one is of the background.")
    if max(count, stride, classes) > MAX_ROWS:
        raise record_error(f"Boxes: there are {count} anchors, expected at most {MAX_ROWS:,}.")
    if stride < 4 + 2 * step.points:
        raise record_error(
            f"Boxes: {step.points} points want {4 + 2 * step.points} values of a box, there are {stride}."
        )
    return BoxesPlan(
        outputs=(step.boxes, step.scores, None, None),
        centres=values_of(boxes, step.centre_scale, step.centre_scale),
        sizes=values_of(boxes, step.size_scale, step.size_scale),
        weights=values_of(scores, 1.0),
        box=ElementLayout(0, stride, 1),
        score=ElementLayout(0, classes, 1),
        object=None,
        label=None,
        labels="float32",
        count=count,
        first_class=int(step.background),
        classes=classes,
        least=threshold_key(scores, step.threshold, step.logits),
        least_object=INT32[0],
        candidates=step.candidates,
        nms=nms,
        iou=round(nms.iou * (1 << REAL_BITS)),
        x_first=step.order == "xywh",
        exponential=step.exponential,
        logits=step.logits,
        anchors=anchors,
        points=step.points,
        key_scale=key_scale(scores),
        key_zero=key_zero(scores),
    )


def key_scale(scores: Tensor) -> float:
    return 1.0 if scores.dtype == "float32" else scores.scale


def key_zero(scores: Tensor) -> int:
    return 0 if scores.dtype == "float32" else scores.zero_point


def input_sides(inputs: Sequence[Tensor]) -> tuple[int, int]:
    """Height and width of the first input, channels last or first. Raises ``UsageError``."""
    shape = inputs[0].shape if inputs else ()
    if len(shape) == 4 and shape[-1] in (1, 3, 4):
        return shape[1], shape[2]
    if len(shape) == 4 and shape[1] in (1, 3, 4):
        return shape[2], shape[3]
    raise record_error("Coordinates are in pixels, but the model's first input is no picture.")


def anchor_table(step: Boxes) -> np.ndarray | None:
    """uint16 [anchors, 4]: centre y, x, height, width, 1 as 2^15; None without anchors."""
    if step.grid:
        cells = sum(height * width * each for height, width, each in step.grid)
        if cells > MAX_ROWS:
            raise record_error(f"Boxes: the grid has {cells:,} anchors, expected at most {MAX_ROWS:,}.")
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
