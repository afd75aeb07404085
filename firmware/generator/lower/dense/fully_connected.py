"""Lower FULLY_CONNECTED to a kernel call."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.conv.convolution import REQUANTIZE, check_activations
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_constant,
    require_dtype,
    u16,
)
from arenite.firmware.generator.requant.layer_scales import accumulator_range, real_scale, weights_offset
from arenite.firmware.generator.requant.single_rounding import proven_multipliers, real_scales

#: FullyConnectedOptionsWeightsFormat.DEFAULT and TensorType.INT32 in the TFLite schema.
_DEFAULT_FORMAT, _INT32 = 0, 2


@register
class FullyConnected(Lowering):
    op_name = "FULLY_CONNECTED"
    supports = (
        "int8 or int16 activations; int8 weights, constant or not, per channel or per tensor (any zero point); "
        "constant int4 weights (zero point 0)"
    )
    kernels = (
        "dot4_s8.c",
        "fully_connected_s16.c",
        "fully_connected_s8.c",
        "fully_connected_s8_real.c",
        "real_scale.c",
    )

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
        out = graph.tensors[op.outputs[0]]
        check_activations(op, inp, out)
        require_dtype(op, w, ("int8",))
        if w.quant is None:
            raise refuse(op, w, "weights must be quantized", REQUANTIZE)
        if w.quant.per_axis and (w.quant.axis != 0 or any(w.quant.zero_point)):
            raise refuse(op, w, "per-channel weights must be along axis 0 with zero point 0", REQUANTIZE)
        if w.stored == "int4" and any(w.quant.zero_point):
            raise refuse(op, w, "int4 weights must have zero point 0", REQUANTIZE)
        if op.options["weights_format"] != _DEFAULT_FORMAT:
            raise refuse(
                op, w, "shuffled weights are not supported", "Convert the model with default weights."
            )
        if op.input(2) >= 0:
            bias = graph.tensors[op.input(2)]
            require_constant(op, bias, "bias")
            narrow = inp.dtype == "int8" or op.options["quantized_bias_type"] == _INT32
            require_dtype(op, bias, ("int32",) if narrow else ("int64",))
        check_accumulator(op, graph)

    def macs(self, graph: Subgraph, op: Op) -> int:
        return graph.tensors[op.outputs[0]].elements * graph.tensors[op.inputs[1]].shape[1]

    def lower(self, ctx: LowerContext) -> KernelCall:
        op, inp, w = ctx.op, ctx.input_tensor(0), ctx.input_tensor(1)
        bias, out = ctx.input(2), ctx.output()
        units, depth = w.shape
        act_min, act_max = activation_range(op.options["fused_activation_function"], out)
        scales = real_scale(inp, w, out)
        proven = None
        kernel = "fully_connected_s16"
        if inp.dtype == "int8":
            proven = proven_scales(inp, w, bias, out, (act_min, act_max))
            kernel = "fully_connected_s8" if proven else "fully_connected_s8_real"
        multiplier, shift = proven if proven is not None else real_scales(scales)
        bias_ptr = NULL
        if bias is not None and bias.data is not None:
            bias_dtype = np.int32 if inp.dtype == "int8" else np.int64
            bias_ptr = ctx.weights(bias.data.astype(bias_dtype), "bias")
        sums = ("dot4_s8.c",) if inp.dtype == "int8" else ()
        scaling = () if proven else ("real_scale.c",)
        return KernelCall(
            f"ar_{kernel}",
            "fully_connected.h",
            (f"{kernel}.c", *sums, *scaling),
            "ar_fully_connected_params",
            {
                "input": ctx.input_ptr(0),
                "output": ctx.output_ptr(),
                "weights": ctx.input_ptr(1),
                "bias": bias_ptr,
                "multiplier": ctx.table(multiplier, "multiplier"),
                "shift": ctx.table(shift, "shift"),
                "batches": out.elements // units,
                "depth": u16(op, depth, "input size"),
                "units": u16(op, units, "output size"),
                "input_offset": -inp.zero_point,
                "weights_offset": weights_offset(w),
                "output_offset": out.zero_point,
                "act_min": act_min,
                "act_max": act_max,
                "per_channel": int(len(scales) > 1),
            },
        )


def proven_scales(
    inp: Tensor, w: Tensor, bias: Tensor | None, out: Tensor, act_range: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the multipliers (int32) and shifts (int8) with which one rounding is proven exact, one of each for every
    scale of the weights; None if there are none."""
    scales = real_scale(inp, w, out)
    lowest, highest = accumulator_range(inp, w, bias)
    if len(scales) == 1:
        lowest, highest = lowest.min(keepdims=True), highest.max(keepdims=True)
    # The scaled sums at which the clamped output increases.
    levels = np.arange(act_range[0] + 1, act_range[1] + 1) - out.zero_point
    return proven_multipliers(scales, lowest, highest, levels)


def check_accumulator(op: Op, graph: Subgraph) -> None:
    """Raise ``UnsupportedModelError`` if sums can overflow LiteRT's accumulator, or its 32-bit integer after
    scaling."""
    inp, w = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    out = graph.tensors[op.outputs[0]]
    bias = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    lowest, highest = accumulator_range(inp, w, bias)
    largest = np.maximum(-lowest, highest)
    narrow = inp.dtype == "int8" or op.options["quantized_bias_type"] == _INT32
    if np.any(largest >= (1 << 31 if narrow else 1 << 53)):
        raise refuse(op, w, "its sums can overflow the accumulator", "Split the layer into smaller ones.")
    if np.any(largest * real_scale(inp, w, out) >= (1 << 31) - (1 << 16)):
        raise refuse(op, out, "its scale is too small for the layer's sums", REQUANTIZE)
