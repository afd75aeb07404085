"""Lower int8 FULLY_CONNECTED on cores with the DSP extension in builds for small flash."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.conv.channel_pairs import (
    channel_pairs,
    pairs_fit,
    row_order,
    weight_products,
    weight_words,
)
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.lower.dense.fully_connected import proven_scales
from arenite.firmware.generator.requant.layer_scales import accumulator_range, weights_offset
from arenite.firmware.generator.target import DSP, MVE, Target

_INT8 = (-128, 127)
#: With an accumulator nearer to zero than this number, 256 * accumulator has 32 bits.
_MAX_SUM = 1 << 23
#: The range of shifts with which the kernel needs only the upper half of a product, and no rounding exceeds 32 bits.
_SHIFTS = (-31, -2)
#: Inputs that are multiplied in one round, and their bytes when they are widened.
_ROUND, _ROUND_BYTES = 8, 16


@variant
class FullyConnectedCompactDsp(Variant):
    op_name = "FULLY_CONNECTED"
    tiers = (DSP, MVE)
    priority = 150
    compact = True
    kernels = ("fully_connected_s8_compact_dsp.c",)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "flash" or target.stream_input:
            return False
        inp, w, bias, out = _tensors(graph, op)
        if inp.data is not None:
            return False  # the kernel reads some bytes after the input, which may be at the end of flash
        if inp.dtype != "int8" or w.data is None or w.stored or weights_offset(w):
            return False
        if activation_range(op.options["fused_activation_function"], out) != _INT8 or not pairs_fit(w.data):
            return False
        lowest, highest = accumulator_range(inp, w, bias)
        if max(w.shape) > 0xFFFF or max(-lowest.min(), highest.max()) >= _MAX_SUM:
            return False
        scales = proven_scales(inp, w, bias, out, _INT8)
        return scales is not None and bool(np.all((scales[1] >= _SHIFTS[0]) & (scales[1] <= _SHIFTS[1])))

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        return -(-graph.tensors[op.inputs[1]].shape[1] // _ROUND) * _ROUND_BYTES

    def lower(self, ctx: LowerContext) -> KernelCall:
        inp, w, bias, out = _tensors(ctx.graph, ctx.op)
        units, depth = w.shape
        assert w.data is not None
        multiplier, shift = require_accepted(proven_scales(inp, w, bias, out, _INT8))
        biases = np.zeros(units, np.int64)
        if bias is not None and bias.data is not None:
            biases = bias.data.astype(np.int64).reshape(-1)
        first, second = channel_pairs(biases[:, None])
        words = weight_words(w.data, row_order(depth))
        starts = np.concatenate([256 * first + second, second - weight_products(words)[:, None]], axis=1)
        starts = (starts & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "pairs": ctx.weights(np.concatenate([starts, words], axis=1), "weights"),
            "multiplier": ctx.table(multiplier, "multiplier"),
            "shift": ctx.table(shift, "shift"),
            "scratch": ctx.scratch_ptr(),
            "batches": out.elements // units,
            "depth": depth,
            "units": units,
            "rounds": -(-depth // _ROUND),
            "input_zero": inp.zero_point,
            "output_zero": out.zero_point,
            "per_channel": int(len(multiplier) > 1),
        }
        return KernelCall(
            "ar_fully_connected_s8_compact_dsp",
            "fully_connected_s8_compact_dsp.h",
            self.kernels,
            "ar_fully_connected_compact_params",
            fields,
        )


def _tensors(graph: Subgraph, op: Op) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Return the input, the weights, the bias or None, and the output."""
    bias = op.input(2)
    return (
        graph.tensors[op.inputs[0]],
        graph.tensors[op.inputs[1]],
        graph.tensors[bias] if bias >= 0 else None,
        graph.tensors[op.outputs[0]],
    )
