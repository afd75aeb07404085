"""Lower FULLY_CONNECTED with one multiplier for Helium, eight units at a time: see fully_connected_groups_s8_mve.h."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.conv.gemm_layout_mve import folded_bias
from arenite.firmware.generator.lower.core.lowering import (
    KernelCall,
    LowerContext,
    require_accepted,
    require_constant,
)
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.dense.fully_connected_mve import FullyConnectedMve, requantization
from arenite.firmware.generator.target import Target

#: The units of a group, and the values of a vector.
_GROUP, _VECTOR = 8, 16
#: The largest right shift: the highest byte of a word shifted to the left by 24 - n is the output.
_MAX_SHIFT = 24
#: Weights that are filled up with zeros may take this many times the flash, and only for the goal `speed`.
_MAX_FILL = 2


def pack_groups(filters: np.ndarray) -> np.ndarray:
    """Return the weights of all groups in the order in which the kernel reads them, int8 [units / 8, vectors, 8, 16].

    ``filters`` is int8 [units, depth]. If the depth is no multiple of 16, the vector of the last inputs comes first.
    """
    units, depth = filters.shape
    vectors = -(-depth // _VECTOR)
    filled = np.zeros((units, vectors * _VECTOR), np.int8)
    filled[:, :depth] = filters
    ordered = filled.reshape(units, vectors, _VECTOR)
    if depth % _VECTOR:
        ordered = np.roll(ordered, 1, axis=1)
    groups = ordered.reshape(units // _GROUP, _GROUP, vectors, _VECTOR).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(groups)


@variant
class FullyConnectedGroupsMve(FullyConnectedMve):
    priority = 210
    kernels = ("fully_connected_groups_s8_mve.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not super().can_run(graph, op, target):
            return False
        multiplier, shift = require_accepted(requantization(graph, op))
        units, depth = graph.tensors[op.inputs[1]].shape
        if len(multiplier) != 1 or shift[0] < -_MAX_SHIFT or units % _GROUP:
            return False
        # `balanced` never stores more than the weights need.
        filled = -(-depth // _VECTOR) * _VECTOR
        return filled <= depth * (_MAX_FILL if target.optimise == "speed" else 1)

    def lower(self, ctx: LowerContext) -> KernelCall:
        multiplier, shift = require_accepted(requantization(ctx.graph, ctx.op))
        inp, bias, out = ctx.input_tensor(0), ctx.input(2), ctx.output()
        filters = require_constant(ctx.op, ctx.input(1), "weights")
        units, depth = filters.shape
        low, high = activation_range(ctx.op.options["fused_activation_function"], out)
        folded = folded_bias(filters, None if bias is None else bias.data, inp.zero_point)
        right = -int(shift[0])
        return KernelCall(
            "ar_fully_connected_groups_s8_mve",
            "fully_connected_groups_s8_mve.h",
            self.kernels,
            "ar_fully_connected_groups_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "weights": ctx.weights(pack_groups(filters), "weights"),
                "bias": ctx.weights(folded, "bias"),
                "multiplier": int(multiplier[0]),
                "added": (out.zero_point << right) + (1 << right >> 1),
                "left": _MAX_SHIFT - right,
                "batches": out.elements // units,
                "depth": depth,
                "units": units,
                "act_min": low,
                "act_max": high,
            },
        )
