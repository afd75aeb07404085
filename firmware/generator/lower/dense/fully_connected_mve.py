"""Lower FULLY_CONNECTED on Helium (MVE), and CONV_2D with one output pixel, which computes the same.

The kernel computes four units at a time. The weights keep the model's order.
"""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import SAME, activation_range
from arenite.firmware.generator.lower.conv.gemm_layout_mve import folded_bias
from arenite.firmware.generator.lower.conv.gemm_layout_mve import requantization as convolution_requantization
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    require_accepted,
    require_constant,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.layer_scales import (
    accumulator_range,
    real_scale,
    weights_offset,
)
from arenite.firmware.generator.requant.single_rounding import proven_multipliers
from arenite.firmware.generator.target import MVE, Target

#: The number of units that the kernel computes together. It always reads at least that number of multipliers.
_GROUP = 4
#: The least number of weights of a model's fully connected layers with which builds for small flash use the kernel.
_LEAST_WEIGHTS = 1024


def requantization(graph: Subgraph, op: Op) -> tuple[np.ndarray, np.ndarray] | None:
    """Return multipliers and shifts for ``ar_requant_once``, one per unit or one for all.

    They are proven to give LiteRT's outputs for every possible accumulator. Returns None if there are no such
    multipliers, or if a shift is above -1, because the kernel always shifts to the right.
    """
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    bias = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    lowest, highest = accumulator_range(inp, w, bias)
    scales = real_scale(inp, w, out)
    if len(scales) == 1:
        lowest, highest = lowest.min(keepdims=True), highest.max(keepdims=True)
    low, high = activation_range(op.options["fused_activation_function"], out)
    # The scaled sums at which the clamped output increases.
    levels = np.arange(low + 1, high + 1) - out.zero_point
    proven = proven_multipliers(scales, lowest, highest, levels)
    return None if proven is None or np.any(proven[1] > -1) else proven


@variant
class FullyConnectedMve(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = (MVE,)
    priority = 200
    kernels = ("fully_connected_s8_mve.c",)
    compact = True

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int8" or w.data is None or weights_offset(w):
            return False
        if target.optimise == "flash" and not _takes_time(graph):
            return False
        return requantization(graph, op) is not None

    def lower(self, ctx: LowerContext) -> KernelCall:
        requant = require_accepted(requantization(ctx.graph, ctx.op))
        return units_call(ctx, *requant, {"twice": 0, "two_sided": 0})


@variant
class ConvolutionOfOnePixelMve(Variant):
    """CONV_2D whose filters are as large as the input. Each filter is one unit of the fully connected kernel."""

    op_name = "CONV_2D"
    tiers = (MVE,)
    priority = 220
    kernels = ("fully_connected_s8_mve.c",)
    compact = True

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8" or w.shape[1:] != inp.shape[1:] or out.shape[1:3] != (1, 1):
            return False
        dilated = op.options["dilation_h_factor"] != 1 or op.options["dilation_w_factor"] != 1
        padded = op.options["padding"] == SAME and w.shape[1:3] != (1, 1)
        if dilated or padded or w.shape[1] * w.shape[2] * w.shape[3] > 0xFFFF:
            return False
        return convolution_requantization(graph, op) is not None

    def lower(self, ctx: LowerContext) -> KernelCall:
        rounding = require_accepted(convolution_requantization(ctx.graph, ctx.op))
        flags = {"twice": 1, "two_sided": int(rounding.two_sided)}
        return units_call(ctx, rounding.multiplier, rounding.shift, flags)


def _takes_time(graph: Subgraph) -> bool:
    """Return whether the kernel saves enough in a build for small flash: it takes 150 bytes more than the one for the
    DSP extension. All fully connected layers of a model have the same kernel."""
    weights = [graph.tensors[op.inputs[1]] for op in graph.ops if op.name == "FULLY_CONNECTED"]
    return sum(w.elements for w in weights) >= _LEAST_WEIGHTS or any(
        op.name == "CONV_2D"
        and graph.tensors[op.inputs[1]].shape[1:] == graph.tensors[op.inputs[0]].shape[1:]
        for op in graph.ops
    )


def units_call(
    ctx: LowerContext, multiplier: np.ndarray, shift: np.ndarray, flags: dict[str, int]
) -> KernelCall:
    """Return the call of the kernel. ``multiplier`` and ``shift`` have one element per unit, or one for all units."""
    inp, bias, out = ctx.input_tensor(0), ctx.input(2), ctx.output()
    weights = require_constant(ctx.op, ctx.input(1), "weights")
    filters = weights.reshape(len(weights), -1)
    units, depth = filters.shape
    per_unit = len(multiplier) > 1
    if len(multiplier) < _GROUP:
        multiplier, shift = np.resize(multiplier, _GROUP), np.resize(shift, _GROUP)
    low, high = activation_range(ctx.op.options["fused_activation_function"], out)
    folded = folded_bias(filters, None if bias is None else bias.data, inp.zero_point)
    return KernelCall(
        "ar_fully_connected_s8_mve",
        "fully_connected_s8_mve.h",
        ("fully_connected_s8_mve.c",),
        "ar_fully_connected_mve_params",
        {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(weights, "weights"),
            "bias": ctx.weights(folded, "bias"),
            "multiplier": ctx.table(multiplier, "multiplier"),
            "shift": ctx.table(shift, "shift"),
            "batches": out.elements // units,
            "depth": depth,
            "units": units,
            "scale_step": int(per_unit),
            "output_zero": out.zero_point,
            "act_min": low,
            "act_max": high,
            **flags,
        },
    )
