"""The outline of a source: what its file says about inputs, outputs and layers, read without its framework."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

#: A shape with None for each open dimension. A shape that is not known at all is None.
Shape = tuple[int | None, ...]

#: The largest number of values that a tensor of a file can have.
_MAX_VALUES = 1 << 62


def integer(value: object) -> int:
    """Return ``value``. Raises ``TypeError`` if it is not an integer: a text times a number could fill the memory."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not an integer")
    return value


def value_count(sizes: Iterable[int]) -> int:
    """Return the number of values of a tensor with these dimensions. Raises ``ValueError`` if it is negative, or larger
    than any file."""
    count = math.prod(sizes)
    if not 0 <= count <= _MAX_VALUES:
        raise ValueError("a tensor has an impossible number of values")
    return count


@dataclass(frozen=True)
class OutlineTensor:
    """An input or output. ``shape`` is in the layout of the source, or None if it is not known."""

    name: str
    shape: Shape | None


@dataclass(frozen=True)
class OutlineLayer:
    """A layer or operator.

    ``name`` is its name in the framework, and ``kind`` the framework's word for what it computes, such as ``Conv2D``.
    ``steps`` has the strides and dilations by their names in the framework, such as ``strides``. ``module`` is the
    class of the layer if ``kind`` is an operator inside of it, or "". ``place`` is the line of the user's program, such
    as "net.py line 12", or "". ``volume`` says whether the layer computes on volumes (three dimensions and channels)
    although ``kind`` does not show it. ``time_steps`` is the number of steps of a recurrent layer that repeats its
    operators, or 0.
    """

    name: str
    kind: str
    steps: dict[str, tuple[int, ...]] = field(default_factory=dict)
    module: str = ""
    place: str = ""
    volume: bool = False
    time_steps: int = 0

    def __str__(self) -> str:
        return f"Layer '{self.name}' ({', '.join(part for part in (self.module, self.kind, self.place) if part)})"


@dataclass(frozen=True)
class Outline:
    """What is known about a source before its framework starts.

    ``inputs`` is None if the file does not list the inputs in their order. ``outputs`` is None if the outputs are not
    known. ``weights`` is the number of values in trained tensors, or None if it is not known. ``channels_first`` says
    for each input whether it is an NCHW picture that becomes NHWC; None means that this is not known.
    """

    layers: tuple[OutlineLayer, ...]
    inputs: tuple[OutlineTensor, ...] | None = None
    outputs: tuple[OutlineTensor, ...] | None = None
    weights: int | None = None
    channels_first: tuple[bool | None, ...] = ()

    @property
    def has_nchw_pictures(self) -> bool:
        """Whether an input is, or may be, a picture in the layout NCHW."""
        return any(first is not False for first in self.channels_first)
