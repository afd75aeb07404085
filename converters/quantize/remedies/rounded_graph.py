"""Run a part of a float model in which some tensors are rounded to int8 or clipped, and all others stay exact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Quantization, Tensor
from arenite.converters.tflite.writer import to_flatbuffer


@dataclass(frozen=True)
class DependentGraph:
    """The operators of ``model`` whose results depend on ``changed`` tensors.

    ``inputs`` are the tensors that they read and do not compute, and the changed tensors that they do not compute.
    """

    model: Model
    changed: frozenset[int]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]

    @property
    def computed(self) -> frozenset[int]:
        """The tensors that depend on the changed tensors."""
        return self.changed | {i for op in self.ops for i in op.outputs}

    def rounded_model(self, quant: Quantization, outputs: Sequence[int]) -> bytes:
        """Return a flatbuffer that rounds the changed tensors to int8 with ``quant``, and returns the tensors
        ``outputs``."""
        return _Builder(self).build(lambda builder, i: builder.round(i, quant), outputs)

    def clipped_model(self, low: float, high: float, outputs: Sequence[int]) -> bytes:
        """Return a flatbuffer that clips the changed tensors to [``low``, ``high``], and returns the tensors
        ``outputs``."""
        return _Builder(self).build(lambda builder, i: builder.clip(i, low, high), outputs)


def dependent_graph(model: Model, changed: Collection[int]) -> DependentGraph:
    """Return the part of the main graph of ``model`` that depends on the tensors ``changed``."""
    graph = model.main
    dependent, ops = set(changed), []
    for op in graph.ops:
        if any(i in dependent for i in op.inputs):
            ops.append(op)
            dependent |= set(op.outputs)
    computed = {i for op in ops for i in op.outputs}
    read = {i for op in ops for i in op.inputs if i >= 0 and not graph.tensors[i].is_constant}
    return DependentGraph(
        model, frozenset(changed), tuple(ops), tuple(sorted((read | set(changed)) - computed))
    )


class _Builder:
    """Builds a model from the operators of a ``DependentGraph`` and operators that change some tensors."""

    def __init__(self, part: DependentGraph) -> None:
        self.part = part
        self.tensors = list(part.model.main.tensors)
        self.ops: list[Op] = []
        self.changed: dict[int, int] = {}  # the tensor that replaces each changed tensor

    def build(self, change: Callable[[_Builder, int], None], outputs: Sequence[int]) -> bytes:
        """Return the flatbuffer. ``change`` adds the operators that change a tensor."""
        for i in self.part.inputs:
            if i in self.part.changed:
                change(self, i)
        for op in self.part.ops:
            inputs = tuple(self.changed.get(i, i) for i in op.inputs)
            self.ops.append(replace(op, index=len(self.ops), inputs=inputs))
            for i in op.outputs:
                if i in self.part.changed:
                    change(self, i)
        graph = replace(
            self.part.model.main,
            tensors=tuple(self.tensors),
            ops=tuple(self.ops),
            inputs=self.part.inputs,
            outputs=tuple(self.changed.get(i, i) for i in outputs),
        )
        return to_flatbuffer(Model((graph,)))

    def round(self, i: int, quant: Quantization) -> None:
        """Add a QUANTIZE and a DEQUANTIZE of tensor ``i``."""
        steps = self._add_tensor(replace(self.tensors[i], name=f"rounded_{i}", dtype="int8", quant=quant))
        self.changed[i] = self._add_tensor(replace(self.tensors[i], name=f"real_{i}"))
        self._add_op("QUANTIZE", (i,), steps, "QuantizeOptions", 1)
        self._add_op("DEQUANTIZE", (steps,), self.changed[i], "DequantizeOptions", 2)

    def clip(self, i: int, low: float, high: float) -> None:
        """Add a MINIMUM and a MAXIMUM of tensor ``i``."""
        source = i
        for name, limit in (("MINIMUM", high), ("MAXIMUM", low)):
            data = np.array([limit], np.float32)
            data.flags.writeable = False
            constant = self._add_tensor(Tensor(0, f"{name}_limit_{i}", (1,), "float32", None, data))
            self.changed[i] = self._add_tensor(replace(self.tensors[i], name=f"{name}_{i}"))
            self._add_op(name, (source, constant), self.changed[i], "MaximumMinimumOptions", 1)
            source = self.changed[i]

    def _add_tensor(self, t: Tensor) -> int:
        self.tensors.append(replace(t, index=len(self.tensors)))
        return len(self.tensors) - 1

    def _add_op(self, name: str, inputs: tuple[int, ...], output: int, options: str, version: int) -> None:
        self.ops.append(Op(len(self.ops), name, inputs, (output,), {}, options, version))
