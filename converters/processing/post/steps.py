"""The common postprocessing steps: ``top_k`` (classes), ``boxes`` (an SSD head), ``nms`` (non-maximum suppression) and
``mse`` (reconstruction error)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.post.step_checks import MAX_POINTS, check_threshold
from arenite.converters.processing.specification.record_fields import check_one_of, check_within, record_error


@dataclass(frozen=True)
class TopK:
    """Select the ``k`` best classes of ``output`` whose score is at least ``threshold``, best first. If scores
    are equal, the lower class is first.

    With ``softmax``, scores are the softmax of the output. With ``logits``, the threshold is a probability and the
    output is the value before the sigmoid, which does not change the order of classes.
    """

    do: ClassVar[str] = "top_k"
    k: int = 1
    threshold: float | None = None
    logits: bool = False
    output: int = 0
    softmax: bool = False

    def __post_init__(self) -> None:
        check_within(self.k, 1, 1000, "Top-k: k")
        check_within(self.output, 0, 255, "Top-k: output")
        check_threshold("Top-k", self.threshold, self.logits or self.softmax)
        if self.logits and self.softmax:
            raise record_error("Top-k takes logits, or softmax, not both.")


@dataclass(frozen=True)
class Boxes:
    """Decode the boxes of an SSD head: output ``boxes`` [1, n, 4 or more] is relative to anchors, output ``scores`` is
    [1, n, classes].

    A box is a center and a size in the order ``yxhw`` (TensorFlow's detectors) or ``xywh`` (MediaPipe's). The decoded
    center is center / ``centre_scale`` * anchor size + anchor center. The decoded size is size / ``size_scale`` *
    anchor size, or e^(size / ``size_scale``) * anchor size with ``exponential``. Coordinates are fractions of the
    input. ``points`` is the number of landmarks that follow; each has two numbers, which are decoded as a center.

    ``anchors`` has center y, center x, height and width of each anchor. Or ``grid`` has the rows, columns and
    anchors per cell of each feature map; these anchors are in the centers of the cells and have height and width 1.
    Without anchors the output holds absolute boxes. With ``background``, class 0 is the background. Only the best
    ``candidates`` boxes whose score is at least ``threshold`` are decoded. With ``logits``, the output holds scores
    before the sigmoid.
    """

    do: ClassVar[str] = "boxes"
    boxes: int = 0
    scores: int = 1
    order: str = "yxhw"
    centre_scale: float = 1.0
    size_scale: float = 1.0
    exponential: bool = False
    anchors: tuple[tuple[float, ...], ...] = ()
    grid: tuple[tuple[int, ...], ...] = ()
    threshold: float = 0.5
    logits: bool = False
    background: bool = False
    candidates: int = 100
    points: int = 0

    def __post_init__(self) -> None:
        check_one_of(self.order, ("yxhw", "xywh"), "Boxes: order")
        check_within(self.centre_scale, 1e-3, 1e6, "Boxes: centre_scale")
        check_within(self.size_scale, 1e-3, 1e6, "Boxes: size_scale")
        check_within(self.candidates, 1, 10_000, "Boxes: candidates")
        check_within(self.points, 0, MAX_POINTS, "Boxes: points")
        for output in (self.boxes, self.scores):
            check_within(output, 0, 255, "Boxes: boxes and scores")
        check_threshold("Boxes", self.threshold, self.logits)
        if self.anchors and self.grid:
            raise record_error("Boxes takes anchors, or a grid, not both.")
        for anchor in self.anchors:
            if len(anchor) != 4 or not all(0 <= v < 2 for v in anchor):
                raise record_error(
                    f"Boxes: anchors has {anchor}, expected four numbers: at least 0 and below 2."
                )
        for cells in self.grid:
            if len(cells) != 3 or not all(1 <= v <= 1024 for v in cells):
                raise record_error(
                    f"Boxes: grid has {cells}, expected three numbers from 1 to 1,024: rows, columns, anchors per cell."
                )


@dataclass(frozen=True)
class Nms:
    """Non-maximum suppression: of boxes that overlap by more than ``iou`` (intersection over union), only the best is
    kept. At most ``most`` boxes are kept. With ``average``, the coordinates of a kept box are replaced by its average
    with the boxes that overlap it, weighted by scores, as in MediaPipe. With ``by_class``, only boxes of the same
    class suppress each other."""

    do: ClassVar[str] = "nms"
    iou: float = 0.5
    most: int = 20
    by_class: bool = True
    average: bool = False

    def __post_init__(self) -> None:
        check_within(self.iou, 0.0, 1.0, "NMS: iou")
        check_within(self.most, 1, 10_000, "NMS: most")


@dataclass(frozen=True)
class Mse:
    """Compute the mean squared error between ``output`` and ``input`` as real numbers. An error above ``threshold``
    is an anomaly."""

    do: ClassVar[str] = "mse"
    threshold: float | None = None
    output: int = 0
    input: int = 0
