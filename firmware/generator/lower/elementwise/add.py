"""Lower ADD, SUB and SQUARED_DIFFERENCE to kernel calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.byte_table import byte_table_of
from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range, quantize_multiplier
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.firmware.generator.lower.core.copy_call import copy_bytes
from arenite.firmware.generator.lower.core.lowering import (
    Expr,
    KernelCall,
    LowerContext,
    refuse,
    register,
    require_quantized,
)
from arenite.firmware.generator.lower.core.row_functions import elementwise_rows
from arenite.firmware.generator.lower.elementwise.arithmetic_f32 import arithmetic_f32
from arenite.firmware.generator.lower.elementwise.binary import (
    Binary,
    plain_activation_range,
    require_activation,
    require_below_one,
)
from arenite.firmware.generator.requant.reference_math import log2_if_power_of_two


@dataclass(frozen=True)
class Scales:
    """Real multipliers of both inputs and of the output, as TFLite's Prepare computes them."""

    input1: float
    input2: float
    output: float


def common_scales(inputs: list[Tensor], out: Tensor, left_shift: int) -> Scales:
    """Return the multipliers that bring both inputs to a common scale (twice the larger input scale), and their sum to
    the output's scale, with ``left_shift`` bits of headroom."""
    a, b = inputs
    twice = float(np.float32(2) * np.float32(max(a.scale, b.scale)))
    headroom = float(np.float32(1 << left_shift) * np.float32(out.scale))
    return Scales(a.scale / twice, b.scale / twice, twice / headroom)


def square_scales(inputs: list[Tensor], out: Tensor) -> Scales:
    """Return the multipliers for the square of the difference, with 7 bits of headroom in each factor."""
    a, b = inputs
    twice = float(np.float32(2) * np.float32(max(a.scale, b.scale)))
    headroom = float(np.float32(1 << 14) * np.float32(out.scale))
    return Scales(a.scale / twice, b.scale / twice, twice * twice / headroom)


class AddLike(Binary):
    """The base class of ADD and SUB. ``sign2`` is the sign of the second input in the sum."""

    dtypes: ClassVar[tuple[str, ...]] = ("int8", "int16", "int32", "float32")
    operation: ClassVar[str]  # a macro of arithmetic_s32.h
    sign2: ClassVar[int] = 1

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        require_activation(op)
        inputs, out = self.operands(graph, op), graph.tensors[op.outputs[0]]
        if out.dtype in ("int32", "float32"):
            return
        for t in (*inputs, out):
            require_quantized(op, t)
        shifts = self.pot_shifts(op, inputs, out)
        if shifts is None:
            scales = self.scales(inputs, out)
            require_below_one(op, scales.input1, "ratio of the input scales")
            require_below_one(op, scales.input2, "ratio of the input scales")
            require_below_one(op, scales.output, "scale of the inputs over that of the output")
        elif min(shifts) != 0 or max(shifts) > 15:
            raise refuse(
                op,
                out,
                "with power-of-two int16 scales, one input must have the output's scale, and the other no larger scale",
                "Convert the model with general int16 scales (pot_scale_int16 = false).",
            )
        elif self.op_name == "ADD" and inputs[0].shape != inputs[1].shape:
            raise refuse(
                op,
                out,
                "TFLite does not broadcast int16 with power-of-two scales",
                "Convert the model with general int16 scales (pot_scale_int16 = false).",
            )

    def scales(self, inputs: list[Tensor], out: Tensor) -> Scales:
        return common_scales(inputs, out, 15 if out.dtype == "int16" else 20)

    def pot_shifts(self, op: Op, inputs: list[Tensor], out: Tensor) -> tuple[int, int] | None:
        """Return the right shifts of the inputs if TFLite uses its code for power-of-two scales, otherwise None."""
        if out.dtype != "int16" or not op.options.get("pot_scale_int16", True):
            return None
        logs = [log2_if_power_of_two(t.scale) for t in (*inputs, out)]
        if logs[0] is None or logs[1] is None or logs[2] is None:
            return None
        return logs[2] - logs[0], logs[2] - logs[1]

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        inputs, out = self.operands(ctx.graph, ctx.op), ctx.output()
        if out.dtype == "float32":
            return arithmetic_f32(self, ctx)
        fields = self.base_fields(ctx)
        activation = require_activation(ctx.op)
        if out.dtype == "int32":
            low, high = plain_activation_range(activation, "int32")
            fields |= {"act_min": low, "act_max": high, "operation": Expr(self.operation)}
            return arithmetic_s32(fields)
        low, high = activation_range(activation, out)
        fields |= {"act_min": low, "act_max": high, "sign2": self.sign2}
        shifts = self.pot_shifts(ctx.op, inputs, out)
        if shifts is not None:
            fields |= {"shift1": shifts[0], "shift2": shifts[1]}
            name = "ar_add_pot_s16"
        else:
            fields |= scaled_fields(self.scales(inputs, out), inputs, out)
            name = "ar_add_s16" if out.dtype == "int16" else "ar_add_s8"
        sources = (f"{name.removeprefix('ar_')}.c", "broadcast.c")
        return KernelCall(name, "add.h", sources, "ar_add_params", fields)


def arithmetic_s32(fields: dict[str, Any]) -> KernelCall:
    """Return the call of the int32 kernel. ``fields`` are all fields of ``ar_arithmetic_s32_params``."""
    return KernelCall(
        "ar_arithmetic_s32",
        "arithmetic_s32.h",
        ("arithmetic_s32.c", "broadcast.c"),
        "ar_arithmetic_s32_params",
        fields,
    )


def scaled_fields(scales: Scales, inputs: list[Tensor], out: Tensor) -> dict[str, int]:
    """Return the multipliers, shifts to the right and zero points of ``ar_add_params``."""
    pairs = [quantize_multiplier(s) for s in (scales.input1, scales.input2, scales.output)]
    return {
        "multiplier1": pairs[0][0],
        "multiplier2": pairs[1][0],
        "output_multiplier": pairs[2][0],
        "shift1": -pairs[0][1],
        "shift2": -pairs[1][1],
        "output_shift": -pairs[2][1],
        "offset1": -inputs[0].zero_point,
        "offset2": -inputs[1].zero_point,
        "output_offset": out.zero_point,
    }


class AddOrSub(AddLike):
    """ADD or SUB. Two inputs of equal shape can be added row by row."""

    supports = "int8, int16 (any or power-of-two scales), int32, float32; broadcasting; fused RELU, RELU6, RELU_N1_TO_1"
    kernels = (
        "add_pot_s16.c",
        "add_s16.c",
        "add_s8.c",
        "arithmetic_f32.c",
        "arithmetic_s32.c",
        "broadcast.c",
    )

    def rows(self, graph: Subgraph, op: Op) -> RowRequirements | None:
        row_needs = elementwise_rows(graph, op, "ar_add_s8_row")
        return row_needs if row_needs is not None and len(row_needs.inputs) == 2 else None


@register
class Add(AddOrSub):
    op_name = "ADD"
    operation = "AR_ADD_S32"

    def alias(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        # CAST, ADD and GATHER that look up bytes in a table are computed by the GATHER alone (see ``byte_table.py``).
        return super().alias(graph, op) if byte_table_of(graph, op) is None else ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall | None:
        return super().lower(ctx) if byte_table_of(ctx.graph, ctx.op) is None else copy_bytes(ctx)


@register
class Sub(AddOrSub):
    op_name = "SUB"
    operation = "AR_SUB_S32"
    sign2 = -1


@register
class SquaredDifference(Binary):
    op_name = "SQUARED_DIFFERENCE"
    supports = "int8, int32; broadcasting"
    kernels = ("arithmetic_s32.c", "broadcast.c", "squared_difference_s8.c")
    dtypes = ("int8", "int32")

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        inputs, out = self.operands(graph, op), graph.tensors[op.outputs[0]]
        if out.dtype == "int32":
            return
        for t in (*inputs, out):
            require_quantized(op, t)
        scales = square_scales(inputs, out)
        require_below_one(op, scales.input1, "ratio of the input scales")
        require_below_one(op, scales.input2, "ratio of the input scales")
        require_below_one(op, scales.output, "squared scale of the inputs over that of the output")

    def lower(self, ctx: LowerContext) -> KernelCall:
        inputs, out = self.operands(ctx.graph, ctx.op), ctx.output()
        low, high = plain_activation_range(0, out.dtype)
        fields = self.base_fields(ctx) | {"act_min": low, "act_max": high}
        if out.dtype == "int32":
            return arithmetic_s32(fields | {"operation": Expr("AR_SQUARED_DIFFERENCE_S32")})
        fields |= scaled_fields(square_scales(inputs, out), inputs, out)
        sources = ("squared_difference_s8.c", "broadcast.c")
        return KernelCall("ar_squared_difference_s8", "add.h", sources, "ar_add_params", fields)
