"""The table of shape rules by operator name, the errors that rules raise, and helper functions for rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Op, Tensor

Shape = tuple[int, ...]


class ShapeProblem(Exception):
    """The inputs of an operator do not fit together. Its text follows "operator 3 CONV_2D: " in the error message."""


class UnknownShape(Exception):
    """The shape depends on a value that is computed at run time."""


@dataclass(frozen=True)
class ShapeContext:
    """An operator with its tensors: the argument of a rule."""

    op: Op
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]

    def shape(self, position: int) -> Shape:
        """Return the shape of an input. Raises ``ShapeProblem`` if the input is absent."""
        t = self.inputs[position] if position < len(self.inputs) else None
        if t is None:
            raise ShapeProblem(f"input {position} is missing")
        return t.shape

    def has_input(self, position: int) -> bool:
        """Return whether the optional input at ``position`` is present."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def ints(self, position: int) -> list[int]:
        """Return the values of a constant integer input, flattened.

        Raises ``UnknownShape`` if the input is computed at run time, ``ShapeProblem`` if it has another type.
        """
        t = self.inputs[position]
        if t is None or t.data is None:
            raise UnknownShape
        if t.data.dtype.kind not in "iu":
            raise ShapeProblem(f"input {position} has type {t.dtype}, expected integers")
        return [int(v) for v in t.data.reshape(-1)]

    def option(self, name: str, default: Any = 0) -> Any:
        """Return the value of a field of the operator's options table, or ``default`` if there is no such field."""
        return self.op.options.get(name, default)


Rule = Callable[[ShapeContext], Sequence[Shape]]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a function as the shape rule of the operators ``names``.

    The function returns one shape per output. It raises ``ShapeProblem`` if the inputs do not fit together, and
    ``UnknownShape`` if the shape depends on computed values.
    """

    def add(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"two shape rules for {name}")
            RULES[name] = function
        return function

    return add


def require(condition: bool, problem: str) -> None:
    """Raise ``ShapeProblem`` with the text ``problem`` if ``condition`` is false."""
    if not condition:
        raise ShapeProblem(problem)


def require_rank(shape: Shape, rank: int, name: str) -> None:
    """Raise ``ShapeProblem`` if ``shape`` does not have ``rank`` dimensions. ``name`` says which tensor has the
    shape."""
    require(len(shape) == rank, f"{name} {list(shape)} has {len(shape)} dimensions, expected {rank}")


def axis_of(value: int, rank: int) -> int:
    """Return the number, from 0, of axis ``value`` of a tensor with ``rank`` dimensions. A negative ``value`` counts
    from the last dimension. Raises ``ShapeProblem`` if the tensor has no such axis."""
    require(-rank <= value < rank, f"axis {value} is outside the {rank} dimensions")
    return value % rank


def single_value(values: Sequence[int], name: str) -> int:
    """Return the only one of ``values``. Raises ``ShapeProblem`` if there is not exactly one."""
    require(len(values) == 1, f"{name} has {len(values)} values, expected 1")
    return values[0]


def elements(shape: Shape) -> int:
    """Return the number of elements of a tensor of ``shape``."""
    n = 1
    for d in shape:
        n *= d
    return n


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape to which all ``shapes`` are broadcast, with trailing dimensions aligned. Raises ``ShapeProblem``
    if there is no such shape."""
    rank = max(map(len, shapes))
    out = []
    for dims in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        sizes = set(dims) - {1}
        require(len(sizes) <= 1, f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)
