"""Lower FULLY_CONNECTED with int16 activations on cores with the DSP extension."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.core.lowering import NULL, KernelCall, LowerContext
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.layer_scales import accumulator_range, real_scale, weights_offset
from arenite.firmware.generator.requant.single_rounding import real_scales
from arenite.firmware.generator.target import DSP, MVE, Target

_SOURCES = ("real_scale.c", "row_dot4_s16_dsp.c")
#: The units of a quad, the inputs of a group, and the groups of a block: AR_S16_BLOCK of the kernel.
QUAD, GROUP, BLOCK = 4, 8, 63
#: The order of the weights of four inputs in a word.
_BYTE_ORDER = (0, 2, 1, 3)
_MAX_UINT16 = (1 << 16) - 1


@variant
class FullyConnectedS16Dsp(Variant):
    """FULLY_CONNECTED with two products per multiplication. The weights stay int8."""

    op_name = "FULLY_CONNECTED"
    tiers = (DSP, MVE)
    priority = 100
    kernels: ClassVar[tuple[str, ...]] = (
        "fully_connected_s16_dsp.c",
        "fully_connected_s16_wide_dsp.c",
        *_SOURCES,
    )

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        if inp.dtype != "int16" or w.data is None or weights_offset(w):
            return False
        return max(w.shape) <= _MAX_UINT16

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        depth = graph.tensors[op.inputs[1]].shape[1]
        return 2 * (depth + -depth % GROUP) if depth % GROUP else 0

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, w, out = ctx.op, ctx.input_tensor(0), ctx.input_tensor(1), ctx.output()
        units, depth = w.shape
        bias = ctx.input(2)
        is_narrow = sums_fit(inp, w, bias)
        biases = (
            np.zeros(units, np.int64) if bias is None or bias.data is None else bias.data.astype(np.int64)
        )
        scales = real_scale(inp, w, out)
        multiplier, shift = real_scales(scales)
        act_min, act_max = activation_range(op.options["fused_activation_function"], out)
        assert w.data is not None
        filters = pack_quads(w.data, biases) if is_narrow else pack_blocks(w.data)
        kernel = "fully_connected_s16_dsp" if is_narrow else "fully_connected_s16_wide_dsp"
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "filters": ctx.weights(filters, "filters"),
            "bias": NULL if is_narrow or not biases.any() else ctx.weights(biases, "bias"),
            "multiplier": ctx.table(multiplier, "multiplier"),
            "shift": ctx.table(shift, "shift"),
            "scratch": ctx.scratch_ptr() if depth % GROUP else NULL,
            "batches": out.elements // units,
            "depth": depth,
            "units": units,
            "groups": -(-depth // GROUP),
            "act_min": act_min,
            "act_max": act_max,
            "per_channel": int(len(scales) > 1),
        }
        return KernelCall(
            f"ar_{kernel}",
            "fully_connected_s16_dsp.h",
            (f"{kernel}.c", *_SOURCES),
            "ar_fully_connected_s16_dsp_params",
            fields,
        )


def sums_fit(inp: Tensor, w: Tensor, bias: Tensor | None) -> bool:
    """Return whether the sum of every unit, with its bias, fits into 32 bits for every input."""
    lowest, highest = accumulator_range(inp, w, bias)
    return bool(lowest.min() >= -(1 << 31) and highest.max() < 1 << 31)


def pack_quads(weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the filters for ``row_dot4_s16_dsp.h``, int32 [quads * (4 + 8 * groups)].

    ``weights`` is int8 [units][depth], ``start`` int64 [units] has the values at which the sums start, which fit
    into 32 bits.
    """
    units, depth = weights.shape
    padded = np.pad(weights, ((0, -units % QUAD), (0, -depth % GROUP)))
    fours = padded.reshape(-1, QUAD, padded.shape[1] // 4, 4)[..., list(_BYTE_ORDER)].transpose(0, 2, 1, 3)
    words = np.ascontiguousarray(fours).view(np.uint8).reshape(len(fours), -1).view("<i4").astype(np.int32)
    starts = np.pad(start, (0, -units % QUAD)).astype(np.int32).reshape(-1, QUAD)
    return np.concatenate([starts, words], axis=1).reshape(-1)


def pack_blocks(weights: np.ndarray) -> np.ndarray:
    """Return the filters of ``ar_fully_connected_s16_wide_dsp``, int32: for every four units the quads of all
    blocks (see ``pack_quads``), with sums that start at 0. ``weights`` is int8 [units][depth]."""
    units, depth = weights.shape
    zeros = np.zeros(QUAD, np.int64)
    size = BLOCK * GROUP
    quads = [
        pack_quads(np.pad(four, ((0, QUAD - len(four)), (0, 0))), zeros)
        for unit in range(0, units, QUAD)
        for four in (weights[unit : unit + QUAD, at : at + size] for at in range(0, depth, size))
    ]
    return np.concatenate(quads)
