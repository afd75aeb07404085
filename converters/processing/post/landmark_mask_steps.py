"""The postprocessing steps ``points`` (landmarks) and ``mask``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.post.step_checks import UNITS, check_threshold
from arenite.converters.processing.specification.record_fields import check_one_of, check_within


@dataclass(frozen=True)
class Points:
    """Read landmarks of ``values`` numbers each from ``output``. The first two numbers are the coordinates in
    ``order``. If ``score`` is set, it is the index of the number that is the point's score (with ``logits``, the
    score before the sigmoid).

    ``presence`` is an output whose only value is the probability that the object with the landmarks is in the picture
    (with ``presence_logits``, the value before the sigmoid). Below ``threshold`` the result has no points.
    """

    do: ClassVar[str] = "points"
    output: int = 0
    values: int = 3
    order: str = "xy"
    score: int | None = None
    logits: bool = False
    unit: str = "fractions"
    presence: int | None = None
    presence_logits: bool = False
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_within(self.values, 2, 16, "Points: values")
        check_one_of(self.order, ("xy", "yx"), "Points: order")
        check_one_of(self.unit, UNITS, "Points: unit")
        for output in (self.output, self.presence or 0):
            check_within(output, 0, 255, "Points: output and presence")
        if self.score is not None:
            check_within(self.score, 2, self.values - 1, "Points: score")
        check_threshold("Points", self.threshold, self.presence_logits)


@dataclass(frozen=True)
class Mask:
    """Compute the class of each pixel of ``output`` [1, height, width, channels], or [1, channels, height, width] with
    ``planes``.

    The class is the channel with the largest value. If several are equal, it is the first. With ``channel``, or if
    there is only one channel, the class is 1 if the value is at least ``threshold``, else 0. With ``logits``, the
    threshold is a probability and the output is the value before the sigmoid. An output of int32 or int64 already
    holds the class of each pixel.
    """

    do: ClassVar[str] = "mask"
    output: int = 0
    channel: int | None = None
    threshold: float = 0.5
    logits: bool = False
    planes: bool = False

    def __post_init__(self) -> None:
        check_within(self.output, 0, 255, "Mask: output")
        check_within(self.channel or 0, 0, 255, "Mask: channel")
        check_threshold("Mask", self.threshold, self.logits)
