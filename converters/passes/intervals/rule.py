"""The table of rules by operator name. A rule computes the bounds of an operator's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.passes.intervals.bounds import Bounds


@dataclass(frozen=True)
class BoundsContext:
    """The argument of a rule: an operator, its graph, and the bounds of its inputs."""

    graph: Subgraph
    op: Op
    #: Bounds of the int8 tensors that are constant or computed earlier. Scalars and empty tensors have none.
    bounds_by_tensor: Mapping[int, Bounds]

    def optional_input(self, position: int) -> Tensor | None:
        """Return the input at ``position``, or None if it is absent."""
        index = self.op.input(position)
        return self.graph.tensors[index] if index >= 0 else None

    def input(self, position: int) -> Tensor:
        """Return the input at ``position``, which must not be absent."""
        t = self.optional_input(position)
        assert t is not None
        return t

    @property
    def out(self) -> Tensor:
        """The only output."""
        return self.graph.tensors[self.op.outputs[0]]

    def bounds(self, position: int) -> Bounds | None:
        """Return the bounds of the input at ``position``, or None if it is absent or has none."""
        return self.bounds_by_tensor.get(self.op.input(position))


#: A function that returns the bounds of an operator's only output, or None if they are unknown.
Rule = Callable[[BoundsContext], Bounds | None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers a function as the rule for the operators called ``names``."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register
