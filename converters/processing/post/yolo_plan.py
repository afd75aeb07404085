"""Plan how boxes are read from the output of a YOLO head, or from a model that has already selected its boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.detector_plan import (
    BoxesPlan,
    ElementLayout,
    input_sides,
    key_scale,
    key_zero,
)
from arenite.converters.processing.post.detector_steps import Detections, Yolo
from arenite.converters.processing.post.steps import Nms
from arenite.converters.processing.post.tensor_values import (
    INT32,
    MAX_ROWS,
    REAL_BITS,
    TensorReader,
    affine_of,
    tensor_of,
    threshold_key,
    values_of,
)
from arenite.converters.processing.specification.record_fields import record_error


def plan_yolo(step: Yolo, nms: Nms, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> BoxesPlan:
    """Return the plan of a YOLO head. Raises ``UsageError`` if the shape of the output does not suit the step."""
    tensor = tensor_of(outputs, step.output, "output")
    rows, fields = _matrix(tensor)
    columns = step.layout == "columns" or (step.layout == "auto" and fields > rows)
    if columns:
        rows, fields = fields, rows
    start = 5 if step.objectness else 4
    landmark_numbers = step.points * step.point_values
    classes = step.classes or fields - start - landmark_numbers
    if classes < 1 or start + classes + landmark_numbers > fields or max(rows, fields) > MAX_ROWS:
        raise record_error(
            f"YOLO: the output of {'x'.join(map(str, tensor.shape))} has {rows} boxes of {fields} numbers; expected "
            f"at most {MAX_ROWS:,} boxes of at least {start + max(classes, 1) + landmark_numbers} numbers."
        )
    box_step, field = (1, rows) if columns else (fields, 1)
    sides = _unit(step.unit, inputs)
    square = 4 * tensor.scale**2 if step.objectness and tensor.dtype != "float32" else 0.0
    least = threshold_key(tensor, step.threshold, step.logits)
    numbers = values_of(tensor, 1.0)
    if square:
        # A key is a quarter of the product of two stored values minus their zero points.
        numbers = TensorReader(tensor.dtype, replace(affine_of((tensor, 4 * tensor.scale)), offset=(0,)))
    return BoxesPlan(
        outputs=(step.output, step.output, None, None),
        centres=values_of(tensor, *sides),
        sizes=values_of(tensor, *sides),
        numbers=numbers,
        box=ElementLayout(0, box_step, field),
        score=ElementLayout(start * field, box_step, field),
        object=ElementLayout(4 * field, box_step) if step.objectness else None,
        label=None,
        labels="float32",
        count=rows,
        first_class=0,
        classes=classes,
        least=min(math.ceil(step.threshold / square), INT32[1]) if square else least,
        least_object=least if step.objectness else INT32[0],
        candidates=step.candidates,
        nms=nms,
        iou=round(nms.iou * (1 << REAL_BITS)),
        x_first=True,
        corners=step.corners,
        logits=step.logits,
        points=step.points,
        point_first=start + classes,
        point_values=step.point_values,
        key_scale=square or key_scale(tensor),
        key_zero=0 if square else key_zero(tensor),
        object_zero=key_zero(tensor),
    )


def plan_detections(step: Detections, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> BoxesPlan:
    """Return the plan for boxes that the model has selected. Raises ``UsageError`` if the shapes or types of the
    outputs do not suit the step."""
    if step.output is not None:
        boxes = scores = labels = tensor_of(outputs, step.output, "output")
        rows, fields = _matrix(boxes)
        places = (step.output, step.output, step.output, None)
        layouts = (ElementLayout(0, fields, 1), ElementLayout(4, fields), ElementLayout(5, fields))
        if fields < 6:
            raise record_error(f"Detections: a row of output {step.output} has {fields} numbers, expected 6.")
    else:
        indices = (step.boxes, step.scores, step.classes)
        boxes, scores, labels = (tensor_of(outputs, i, "output") for i in indices)
        rows = scores.elements
        places = (*indices, step.count)  # type: ignore[assignment]
        layouts = (ElementLayout(0, 4, 1), ElementLayout(0, 1), ElementLayout(0, 1))
        if boxes.elements != 4 * rows or labels.elements != rows:
            raise record_error(
                f"Detections: there are {rows} scores, but {boxes.elements} values of boxes and "
                f"{labels.elements} of classes."
            )
        if step.count is not None and tensor_of(outputs, step.count, "output").dtype != labels.dtype:
            raise record_error("Detections: classes and count are of different types.")
    if rows > MAX_ROWS:
        raise record_error(f"Detections: there are {rows} boxes, expected at most {MAX_ROWS:,}.")
    sides = _unit(step.unit, inputs)
    return BoxesPlan(
        outputs=places,
        centres=values_of(boxes, *sides),
        sizes=values_of(boxes, *sides),
        numbers=TensorReader(scores.dtype, affine_of((scores, 1.0), (labels, 1.0))),
        box=layouts[0],
        score=layouts[1],
        object=None,
        label=layouts[2],
        labels=labels.dtype,
        count=rows,
        first_class=0,
        classes=1,
        least=threshold_key(scores, step.threshold, False),
        least_object=INT32[0],
        candidates=step.most,
        # No overlap is above 1, so all boxes are kept.
        nms=Nms(1.0, step.most),
        iou=1 << REAL_BITS,
        x_first=step.order == "xyxy",
        corners=True,
        key_scale=key_scale(scores),
        key_zero=key_zero(scores),
    )


def _matrix(tensor: Tensor) -> tuple[int, int]:
    """Return the last two dimensions of a tensor. Raises ``UsageError`` unless all other dimensions are 1."""
    shape = tensor.shape
    if len(shape) < 2 or tensor.elements != shape[-1] * shape[-2]:
        raise record_error(
            f"The output '{tensor.name}' of {'x'.join(map(str, shape))} is not a table of boxes."
        )
    return shape[-2], shape[-1]


def _unit(unit: str, inputs: Sequence[Tensor]) -> tuple[float, float]:
    """Return the numbers to divide y and x by, so that they become fractions of the input's sides."""
    return input_sides(inputs) if unit == "pixels" else (1.0, 1.0)
