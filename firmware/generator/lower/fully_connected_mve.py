"""FULLY_CONNECTED for Helium: weights as they are in the model, four units at a time."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph import Op, Subgraph
from arenite.firmware.generator.lower.base import KernelCall, LowerContext
from arenite.firmware.generator.lower.fully_connected import accumulator_range, real_scale, weights_offset
from arenite.firmware.generator.lower.pack_gemm_mve import folded_bias
from arenite.firmware.generator.lower.variant import Variant, variant
from arenite.firmware.generator.quant import activation_range
from arenite.firmware.generator.single_rounding import proven_multipliers
from arenite.firmware.generator.target import MVE, Target

#: Units that the kernel does at a time: as many multipliers are read.
_GROUP = 4


def requantisation(graph: Subgraph, op: Op) -> tuple[np.ndarray, np.ndarray] | None:
    """Proven multipliers and shifts, -1 or less, of ``ar_requant_once``, per unit or one of each; None without."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    bias = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    lowest, highest = accumulator_range(inp, w, bias)
    scales = real_scale(inp, w, out)
    if len(scales) == 1:
        lowest, highest = lowest.min(keepdims=True), highest.max(keepdims=True)
    low, high = activation_range(op.options["fused_activation_function"], out)
    levels = np.arange(low + 1, high + 1) - out.zero_point
    proven = proven_multipliers(scales, lowest, highest, levels)
    return None if proven is None or np.any(proven[1] > -1) else proven


@variant
class FullyConnectedMve(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = (MVE,)
    priority = 200
    kernels = ("fully_connected_s8_mve.c",)

    def suits(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None or weights_offset(w):
            return False
        return requantisation(graph, op) is not None

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, w, bias, out = ctx.input(0), ctx.input(1), ctx.input(2), ctx.output()
        found = requantisation(ctx.graph, ctx.op)
        assert inp is not None and w is not None and w.data is not None and found is not None
        multiplier, shift = found
        per_unit = len(multiplier) > 1
        if len(multiplier) < _GROUP:
            multiplier, shift = np.resize(multiplier, _GROUP), np.resize(shift, _GROUP)
        units, depth = w.shape
        low, high = activation_range(ctx.op.options["fused_activation_function"], out)
        sums = folded_bias(w.data, None if bias is None else bias.data, inp.zero_point)
        return KernelCall(
            "ar_fully_connected_s8_mve",
            "fully_connected_s8_mve.h",
            self.kernels,
            "ar_fully_connected_mve_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "weights": ctx.weights(w.data, "weights"),
                "bias": ctx.weights(sums, "bias"),
                "multiplier": ctx.table(multiplier, "multiplier"),
                "shift": ctx.table(shift, "shift"),
                "batches": out.elements // units,
                "depth": depth,
                "units": units,
                "scale_step": int(per_unit),
                "output_zero": out.zero_point,
                "act_min": low,
                "act_max": high,
            },
        )
