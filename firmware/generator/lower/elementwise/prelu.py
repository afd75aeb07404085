"""Lower PRELU to a kernel call."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    Lowering,
    register,
    require_dtype,
    require_quantized,
)
from arenite.firmware.generator.lower.elementwise.activation import scale_ratio
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES
from arenite.firmware.generator.lower.elementwise.broadcast import broadcast_fields, check_broadcast


@register
class Prelu(Lowering):
    op_name = "PRELU"
    supports = "int8, int16 (alpha int8); alpha broadcasts"
    kernels = ("broadcast.c", "prelu.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, alpha, out = (graph.tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
        require_dtype(op, inp, ("int8", "int16"))
        require_dtype(op, alpha, ("int8",))
        require_dtype(op, out, (inp.dtype,))
        for t in (inp, alpha, out):
            require_quantized(op, t)
        check_broadcast(op, [inp, alpha], out)
        check_broadcast(op, [inp], out)

    def in_place(self, graph: Subgraph, op: Op) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, alpha, out = ctx.input_tensor(0), ctx.input_tensor(1), ctx.output()
        multiplier, shift = quantize_multiplier(scale_ratio(inp, out))
        real = np.float32(inp.scale) * np.float32(alpha.scale) / np.float32(out.scale)
        alpha_multiplier, alpha_shift = quantize_multiplier(float(real))
        fields = {
            "input": ctx.input_ptr(0),
            "alpha": ctx.input_ptr(1),
            "output": ctx.output_ptr(),
            "shape": broadcast_fields(ctx, [inp.shape, alpha.shape], [inp.itemsize, 1]),
            "multiplier": multiplier,
            "alpha_multiplier": alpha_multiplier,
            "input_offset": -inp.zero_point,
            "alpha_offset": -alpha.zero_point,
            "output_offset": out.zero_point,
            "type": TYPE_CODES[inp.dtype],
            "shift": shift,
            "alpha_shift": alpha_shift,
        }
        return KernelCall("ar_prelu", "prelu.h", ("prelu.c", "broadcast.c"), "ar_prelu_params", fields)
