"""The base class of the elementwise operators with two inputs."""

from __future__ import annotations

from typing import Any, ClassVar

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE, NONE, RELU, RELU6, RELU_N1_TO_1
from arenite.firmware.generator.lower.core.lowering import LowerContext, Lowering, refuse, require_dtype
from arenite.firmware.generator.lower.elementwise.broadcast import (
    broadcast_fields,
    check_broadcast,
    in_place_inputs,
)

#: TensorType in the TFLite schema, as in engine/arenite.h.
TYPE_CODES = {"int32": 2, "uint8": 3, "bool": 6, "int16": 7, "int8": 9}


def require_same_dtype(op: Op, tensors: list[Tensor]) -> None:
    """Raise ``UnsupportedModelError`` unless all tensors have the same type."""
    for t in tensors[1:]:
        if t.dtype != tensors[0].dtype:
            raise refuse(
                op,
                t,
                f"has type {t.dtype}, but the other input has {tensors[0].dtype}",
                "The model file contradicts itself. Export it again.",
            )


def require_activation(op: Op) -> int:
    """Return the fused activation. Raises ``UnsupportedModelError`` if the integer kernels do not support it."""
    activation = int(op.options.get("fused_activation_function", NONE))
    if activation not in (NONE, RELU, RELU6, RELU_N1_TO_1):
        raise refuse(
            op,
            None,
            f"fused activation {activation} is not supported",
            "Use RELU, RELU6 or a separate layer.",
        )
    return activation


def plain_activation_range(activation: int, dtype: str) -> tuple[int, int]:
    """Return the limits of a fused activation on integers without a scale."""
    low, high = INTEGER_RANGE[dtype]
    return {NONE: (low, high), RELU: (0, high), RELU6: (0, 6), RELU_N1_TO_1: (-1, 1)}[activation]


def require_below_one(op: Op, real: float, name: str) -> None:
    """Raise ``UnsupportedModelError`` for a multiplier that is not in (0, 1), for which LiteRT aborts or shifts by a
    negative amount."""
    if not 0.0 < real < 1.0:
        raise refuse(
            op,
            None,
            f"{name} is {real:g}, TFLite defines the operator only below 1",
            "Calibrate the model on real data: one scale differs too much from the others.",
        )


class Binary(Lowering):
    """An operator with two inputs that broadcast to the output's shape. A subclass adds types, checks and the call."""

    dtypes: ClassVar[tuple[str, ...]]
    out_dtype: ClassVar[str | None] = None  # None: the type of the inputs

    def operands(self, graph: Subgraph, op: Op) -> list[Tensor]:
        return [graph.tensors[i] for i in op.inputs[:2]]

    def check(self, graph: Subgraph, op: Op) -> None:
        inputs, output = self.operands(graph, op), graph.tensors[op.outputs[0]]
        for t in inputs:
            require_dtype(op, t, self.dtypes)
        require_same_dtype(op, inputs)
        require_dtype(op, output, (self.out_dtype or inputs[0].dtype,))
        check_broadcast(op, inputs, output)

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return in_place_inputs(self.operands(graph, op), graph.tensors[op.outputs[0]])

    def base_fields(self, ctx: LowerContext) -> dict[str, Any]:
        """Return the first fields of every parameter struct of this family: the addresses of the inputs and of the
        output, and ``shape``, which has the steps of the inputs (see ``broadcast.BroadcastSteps``)."""
        inputs = self.operands(ctx.graph, ctx.op)
        return {
            "input1": ctx.input_ptr(0),
            "input2": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "shape": broadcast_fields(ctx, [t.shape for t in inputs], [t.itemsize for t in inputs]),
        }
