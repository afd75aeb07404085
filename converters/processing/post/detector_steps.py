"""The postprocessing steps ``yolo`` and ``detections``, for detectors without anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.post.step_checks import MAX_POINTS, UNITS, check_threshold
from arenite.converters.processing.specification.record_fields import check_one_of, check_within, record_error


@dataclass(frozen=True)
class Yolo:
    """Decode the boxes of a YOLO head in one ``output``.

    Each box has x, y, width and height (or left, top, right and bottom with ``corners``), then with ``objectness`` a
    number by which the scores are multiplied, then a score for each class, then ``points`` landmarks of
    ``point_values`` numbers. The first two numbers of a landmark are x and y. ``classes`` is the number of classes; 0
    means that all remaining numbers are classes.

    ``layout`` is ``rows`` for [1, n, numbers] as in YOLOv5, ``columns`` for [1, numbers, n] as in YOLOv8, or ``auto``:
    then the longer side is n. ``unit`` is the unit of the coordinates: ``pixels`` of the input or ``fractions`` of its
    sides. Only the best ``candidates`` boxes whose score is at least ``threshold`` are decoded. With ``logits``, the
    output holds scores before the sigmoid.
    """

    do: ClassVar[str] = "yolo"
    output: int = 0
    layout: str = "auto"
    objectness: bool = False
    corners: bool = False
    unit: str = "pixels"
    threshold: float = 0.25
    logits: bool = False
    candidates: int = 300
    classes: int = 0
    points: int = 0
    point_values: int = 3

    def __post_init__(self) -> None:
        check_within(self.output, 0, 255, "YOLO: output")
        check_one_of(self.layout, ("auto", "rows", "columns"), "YOLO: layout")
        check_one_of(self.unit, UNITS, "YOLO: unit")
        check_within(self.candidates, 1, 10_000, "YOLO: candidates")
        check_within(self.classes, 0, 65535, "YOLO: classes")
        check_within(self.points, 0, MAX_POINTS, "YOLO: points")
        check_within(self.point_values, 2, 16, "YOLO: point_values")
        check_threshold("YOLO", self.threshold, self.logits)
        if self.logits and self.objectness:
            raise record_error(
                "YOLO takes logits, or objectness, not both: scores are multiplied as probabilities."
            )


@dataclass(frozen=True)
class Detections:
    """Read boxes that the model has already decoded and selected.

    The boxes are in four outputs like those of TFLite_Detection_PostProcess: ``boxes`` [1, n, 4] in ``order``,
    ``classes`` [1, n], ``scores`` [1, n], and optionally ``count`` [1]. Or they are in one ``output`` [1, n, 6]: the
    four numbers of a box, its score and its class. At most ``most`` boxes with a score of at least ``threshold`` are
    read.
    """

    do: ClassVar[str] = "detections"
    boxes: int = 0
    classes: int = 1
    scores: int = 2
    count: int | None = None
    output: int | None = None
    order: str = "yxyx"
    unit: str = "fractions"
    threshold: float = 0.5
    most: int = 20

    def __post_init__(self) -> None:
        for output in (self.boxes, self.classes, self.scores, self.count or 0, self.output or 0):
            check_within(output, 0, 255, "Detections: boxes, classes, scores, count and output")
        check_one_of(self.order, ("yxyx", "xyxy"), "Detections: order")
        check_one_of(self.unit, UNITS, "Detections: unit")
        check_within(self.most, 1, 10_000, "Detections: most")
