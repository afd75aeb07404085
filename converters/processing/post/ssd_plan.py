"""Plan how the boxes of an SSD head are decoded from a model's outputs, and compute the table of its anchors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.detector_plan import BoxesPlan, ElementLayout, key_scale, key_zero
from arenite.converters.processing.post.steps import Boxes, Nms
from arenite.converters.processing.post.tensor_values import (
    ANCHOR_BITS,
    INT32,
    MAX_ROWS,
    REAL_BITS,
    tensor_of,
    threshold_key,
    values_of,
)
from arenite.converters.processing.specification.record_fields import record_error


def plan_boxes(step: Boxes, nms: Nms, outputs: Sequence[Tensor]) -> BoxesPlan:
    """Return the plan of an SSD head. Raises ``UsageError`` if outputs, anchors and steps do not fit together."""
    boxes, scores = tensor_of(outputs, step.boxes, "output"), tensor_of(outputs, step.scores, "output")
    anchors = anchor_table(step)
    count = len(anchors) if anchors is not None else boxes.shape[-2] if len(boxes.shape) > 1 else 0
    if not count or boxes.elements % count or scores.elements % count or boxes.elements // count < 4:
        raise record_error(
            f"Boxes: output {step.boxes} has {boxes.elements} values and output {step.scores} has {scores.elements},"
            f" expected the same number of values for each of the {count} anchors, and at least 4 in output"
            f" {step.boxes}."
        )
    stride, classes = boxes.elements // count, scores.elements // count
    if classes <= int(step.background):
        raise record_error(
            f"Boxes: with background, each box needs at least 2 scores, but output {step.scores} has {classes} per box."
        )
    if max(count, stride, classes) > MAX_ROWS:
        raise record_error(f"Boxes: there are {count} anchors, expected at most {MAX_ROWS:,}.")
    if stride < 4 + 2 * step.points:
        raise record_error(
            f"Boxes: {step.points} points need {4 + 2 * step.points} values per box, but there are {stride}."
        )
    return BoxesPlan(
        outputs=(step.boxes, step.scores, None, None),
        centres=values_of(boxes, step.centre_scale, step.centre_scale),
        sizes=values_of(boxes, step.size_scale, step.size_scale),
        numbers=values_of(scores, 1.0),
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


def anchor_table(step: Boxes) -> np.ndarray | None:
    """Return the anchors as uint16 [anchors, 4]: center y, center x, height, width, with ``ANCHOR_BITS`` (15)
    fractional bits. Return None if there are no anchors."""
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
