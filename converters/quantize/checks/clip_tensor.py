"""Clip one tensor of a float model as its scale would clip it, to measure the loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Tensor
from arenite.converters.tflite.verifier import defaults_of


def clip_tensor_values(model: Model, index: int, low: float, high: float) -> Model:
    """Return ``model`` with float tensor ``index`` clipped to [``low``, ``high``] for all its readers."""
    g = model.main
    source = g.tensors[index]
    first = len(g.tensors)

    def constant(offset: int, value: float) -> Tensor:
        return Tensor(
            first + offset, f"{source.name}/clip{offset}", (), "float32", data=np.array(value, np.float32)
        )

    def clipped(offset: int) -> Tensor:
        return replace(source, index=first + offset, name=f"{source.name}/clipped{offset}")

    limits = (constant(0, low), constant(1, high), clipped(2), clipped(3))
    options = defaults_of("MaximumMinimumOptions")
    clips = [
        Op(0, "MAXIMUM", (index, first), (first + 2,), options, "MaximumMinimumOptions"),
        Op(0, "MINIMUM", (first + 2, first + 1), (first + 3,), options, "MaximumMinimumOptions"),
    ]
    ops: list[Op] = list(clips) if index in g.inputs else []
    for op in g.ops:
        ops.append(replace(op, inputs=tuple(first + 3 if i == index else i for i in op.inputs)))
        if index in op.outputs:
            ops += clips
    # Only the operators that clip read the tensor before it is clipped.
    ops = [replace(op, index=k) for k, op in enumerate(ops)]
    outputs = tuple(first + 3 if i == index else i for i in g.outputs)
    graph = replace(g, tensors=(*g.tensors, *limits), ops=tuple(ops), outputs=outputs)
    signatures = tuple(
        replace(s, outputs=tuple((n, first + 3 if i == index else i) for n, i in s.outputs))
        if s.subgraph == 0
        else s
        for s in model.signatures
    )
    return replace(model.with_main(graph), signatures=signatures)
