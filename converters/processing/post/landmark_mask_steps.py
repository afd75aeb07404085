"""Landmarks and masks as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.post.step_checks import UNITS, check_threshold
from arenite.converters.processing.specification.record_fields import check_one_of, check_within


@dataclass(frozen=True)
class Points:
    """Landmarks in ``output``, ``values`` numbers each: the first two are the coordinates in ``order``, and number
    ``score``, where that is given, is the point's score (``logits``: before its sigmoid).

    ``presence``: an output whose one value is the probability that the object with the landmarks is in the picture
    (``presence_logits``: before its sigmoid); below ``threshold`` there are no points.
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
    """The class of each pixel of ``output`` [1, height, width, channels] (``planes``: [1, channels, height, width]):
    the channel with the largest value, of equal ones the first. With ``channel``, or where there is only one: 1 where
    it is at least ``threshold`` (``logits``: a probability, the output comes before its sigmoid), else 0. An output of
    int32 or int64 holds the classes themselves."""

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
