"""A copy of a float graph in which operators are replaced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Tensor
from arenite.converters.passes.producers import with_ops
from arenite.converters.quantize.calibration.trained_ranges import with_trained_ranges


def describe(op: Op) -> str:
    """Return the number and the name of an operator, for sentences about changes."""
    return f"Operator {op.index} {op.name}"


class _Replacements(dict[int, list[Op]]):
    """The operators that replace each operator. ``changed`` has the operators that were replaced by an assignment
    to one item."""

    def __init__(self, ops: dict[int, list[Op]]) -> None:
        super().__init__(ops)
        self.changed: list[int] = []

    def __setitem__(self, index: int, replacement: list[Op]) -> None:
        self.changed.append(index)
        super().__setitem__(index, replacement)


class GraphDraft:
    """A copy of the main subgraph in which operators are replaced.

    ``ops`` has the operators that replace each operator of the graph. ``renamed`` maps tensors to the tensors that are
    read in their place. ``ranges`` has ranges from training by tensor name.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.graph = model, model.main
        self.tensors = list(self.graph.tensors)
        self.ops = _Replacements({op.index: [op] for op in self.graph.ops})
        self.renamed: dict[int, int] = {}
        self.ranges: dict[str, tuple[float, float]] = {}

    @property
    def changed(self) -> list[int]:
        """The operators that were replaced by an assignment to ``ops[index]``, in the order of the replacements."""
        return self.ops.changed

    def constant(self, name: str, values: np.ndarray) -> int:
        """Add a constant tensor and return its index."""
        data = np.ascontiguousarray(values)
        data.flags.writeable = False
        self.tensors.append(Tensor(len(self.tensors), name, data.shape, str(data.dtype), data=data))
        return len(self.tensors) - 1

    def computed(self, template: Tensor, name: str) -> int:
        """Add a tensor with the type and shape of ``template`` and return its index."""
        self.tensors.append(replace(template, index=len(self.tensors), name=name))
        return len(self.tensors) - 1

    def finish(self) -> Model:
        """Return the model with the replacements, and without tensors that are no longer used."""
        ops = [op for replacement in self.ops.values() for op in replacement]
        main = replace(self.graph, tensors=tuple(self.tensors))
        numbered = [replace(op, index=k) for k, op in enumerate(ops)]
        model = self.model.with_main(main)
        return with_trained_ranges(with_ops(model, numbered, self.renamed), self.ranges)
