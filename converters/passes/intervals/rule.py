"""Register rules that compute the bounds of an operator's output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.passes.intervals.bounds import Bounds


@dataclass(frozen=True)
class BoundsContext:
    """An operator with the bounds of its inputs."""

    graph: Subgraph
    op: Op
    bounds_by_tensor: Mapping[
        int, Bounds
    ]  # bounds of the analyzed tensors that are constant or computed earlier

    def tensor(self, position: int) -> Tensor | None:
        index = self.op.input(position)
        return self.graph.tensors[index] if index >= 0 else None

    def present(self, position: int) -> Tensor:
        t = self.tensor(position)
        assert t is not None
        return t

    @property
    def out(self) -> Tensor:
        return self.graph.tensors[self.op.outputs[0]]

    def bounds(self, position: int) -> Bounds | None:
        return self.bounds_by_tensor.get(self.op.input(position))


#: A function from an operator to the bounds of its only output; None when they are unknown.
Rule = Callable[[BoundsContext], Bounds | None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule for the bounds of the operators called ``names``."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register
