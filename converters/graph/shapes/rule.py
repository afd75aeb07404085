"""The registration of shape rules, their errors, and access to constant inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arenite.converters.graph.model import Op, Tensor

Shape = tuple[int, ...]


class ShapeProblem(Exception):
    """The inputs of an operator do not fit together. The text continues "operator 3 CONV_2D: "."""


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
        return position < len(self.inputs) and self.inputs[position] is not None

    def ints(self, position: int) -> list[int]:
        """Return the values of a constant integer input, flattened. Raises ``UnknownShape`` if it is computed."""
        t = self.inputs[position]
        if t is None or t.data is None:
            raise UnknownShape
        if t.data.dtype.kind not in "iu":
            raise ShapeProblem(f"input {position} has type {t.dtype}, expected integers")
        return [int(v) for v in t.data.reshape(-1)]

    def option(self, name: str, default: Any = 0) -> Any:
        return self.op.options.get(name, default)


Rule = Callable[[ShapeContext], Sequence[Shape]]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the shape rule of the named operators. It returns one shape per output. It raises
    ``ShapeProblem`` if the inputs do not fit together, and ``UnknownShape`` if the shape depends on computed values."""

    def add(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"two shape rules for {name}")
            RULES[name] = function
        return function

    return add


def require(condition: bool, problem: str) -> None:
    if not condition:
        raise ShapeProblem(problem)


def require_rank(shape: Shape, rank: int, name: str) -> None:
    require(len(shape) == rank, f"{name} {list(shape)} has {len(shape)} dimensions, expected {rank}")


def axis_of(value: int, rank: int) -> int:
    """Return the axis ``value`` as an index from 0; negative values count from the last dimension."""
    require(-rank <= value < rank, f"axis {value} is outside the {rank} dimensions")
    return value % rank


def single_value(values: Sequence[int], name: str) -> int:
    require(len(values) == 1, f"{name} has {len(values)} values, expected 1")
    return values[0]


def elements(shape: Shape) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape to which all ``shapes`` are broadcast, with trailing dimensions aligned."""
    rank = max(map(len, shapes))
    out = []
    for dims in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        sizes = set(dims) - {1}
        require(len(sizes) <= 1, f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)
