"""Lower CONCATENATION and PACK, which join several tensors, to kernel calls."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import refuse, register
from arenite.firmware.generator.lower.movement.movement import Movement, ViewPair, same_quant
from arenite.firmware.generator.lower.movement.rearrange import axis_of


@register
class Concatenation(Movement):
    op_name = "CONCATENATION"
    supports = "any type; any axis; int8 inputs quantized like the output, as LiteRT requires"
    dtypes = ("int8", "int16", "int32", "int64", "bool", "float32")
    moved = None

    def check_values(self, graph: Subgraph, op: Op) -> None:
        if op.options["fused_activation_function"]:
            raise refuse(op, None, "has a fused activation", "Make the activation a separate layer.")
        for i in op.inputs:
            t = graph.tensors[i]
            if t.dtype == "int8":
                same_quant(op, graph.tensors[op.outputs[0]], t)

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        axis = axis_of(op, int(op.options["axis"]), outs[0].ndim)
        pairs, start = [], 0
        for source in ins:
            end = start + source.shape[axis]
            pairs.append((source, outs[0][(slice(None),) * axis + (slice(start, end),)]))
            start = end
        if start != outs[0].shape[axis]:
            raise ValueError(f"the inputs have {start} along axis {axis}, the output {outs[0].shape[axis]}")
        return pairs


@register
class Pack(Movement):
    op_name = "PACK"
    supports = "int8, int16, int32, int64, float32"
    dtypes = ("int8", "uint8", "int16", "int32", "int64", "float32")
    moved = None

    def check_values(self, graph: Subgraph, op: Op) -> None:
        for i in op.inputs:
            same_quant(op, graph.tensors[op.outputs[0]], graph.tensors[i])

    def pairs(self, graph: Subgraph, op: Op, ins: list[np.ndarray], outs: list[np.ndarray]) -> list[ViewPair]:
        axis = axis_of(op, int(op.options["axis"]), outs[0].ndim)
        if outs[0].shape[axis] != len(ins):
            raise ValueError(f"{len(ins)} inputs for {outs[0].shape[axis]} parts")
        lead = (slice(None),) * axis
        return [(source, outs[0][(*lead, slice(k, k + 1))].squeeze(axis)) for k, source in enumerate(ins)]
