"""Map coordinates of a model's input to the frame."""

from __future__ import annotations

from typing import Protocol


class FrameMapping(Protocol):
    """The part of ``geometry.Geometry`` that readers use. The point (x, y) of the input is at (left + width * x,
    top + height * y) of the frame; all coordinates are fractions."""

    @property
    def left(self) -> float: ...

    @property
    def top(self) -> float: ...

    @property
    def width(self) -> float: ...

    @property
    def height(self) -> float: ...


class WholeFrame:
    """The mapping of an input that shows the whole frame."""

    left = top = 0.0
    width = height = 1.0
