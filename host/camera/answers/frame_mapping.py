"""Where parts of a model's input lie in the frame."""

from __future__ import annotations

from typing import Protocol


class FrameMapping(Protocol):
    """What readers want of a ``geometry.Geometry``: x of the frame = left + width * x of the input; so is y."""

    @property
    def left(self) -> float: ...

    @property
    def top(self) -> float: ...

    @property
    def width(self) -> float: ...

    @property
    def height(self) -> float: ...


class WholeFrame:
    """The input shows the whole frame."""

    left = top = 0.0
    width = height = 1.0
