"""Lower SVDF to a kernel call."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import RELU
from arenite.converters.graph.svdf import state_multipliers
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    KernelCall,
    LowerContext,
    Lowering,
    refuse,
    register,
    require_constant,
    require_dtype,
    require_quantized,
    u16,
)


def require_state(op: Op, tensor: Tensor | None, dtype: str) -> Tensor:
    """Return ``tensor``, a variable of ``dtype`` that starts at its zero point. Raises ``UnsupportedModelError`` for
    any other tensor."""
    if tensor is None or not tensor.is_variable or tensor.data is not None:
        raise refuse(
            op,
            tensor,
            "its state must be a variable tensor without a value",
            "Convert the model again with TFLite's converter.",
        )
    require_dtype(op, tensor, (dtype,))
    require_quantized(op, tensor)
    return tensor


@register
class Svdf(Lowering):
    op_name = "SVDF"
    supports = (
        "int8 input and features, int16 state and time weights, or int8 as in TensorFlow Lite Micro; fused RELU, as "
        "LiteRT requires"
    )
    kernels = ("svdf_s8.c", "svdf_s8_state8.c")

    def check(self, graph: Subgraph, op: Op) -> None:
        inp, feature, time = (graph.tensors[op.inputs[k]] for k in range(3))
        out = graph.tensors[op.outputs[0]]
        memory = "int8" if time.dtype == "int8" else "int16"
        for tensor, dtype in ((inp, "int8"), (feature, "int8"), (time, memory), (out, "int8")):
            require_dtype(op, tensor, (dtype,))
            require_quantized(op, tensor)
        require_constant(op, feature, "feature weights")
        require_constant(op, time, "time weights")
        require_state(op, graph.tensors[op.inputs[4]] if op.input(4) >= 0 else None, memory)
        if op.input(3) >= 0:
            bias = graph.tensors[op.inputs[3]]
            require_dtype(op, bias, ("int32",))
            require_constant(op, bias, "bias")
        if op.options["fused_activation_function"] != RELU:
            raise refuse(
                op,
                None,
                "its activation is not RELU",
                "Use RELU: LiteRT runs integer SVDF with no other activation.",
            )

    def macs(self, graph: Subgraph, op: Op) -> int:
        inp, feature, time = (graph.tensors[op.inputs[k]] for k in range(3))
        return inp.shape[0] * (feature.elements + time.elements)

    def lower(self, ctx: LowerContext) -> KernelCall:
        op = ctx.op
        inp, feature, time, state = (ctx.input_tensor(k) for k in (0, 1, 2, 4))
        bias, out = ctx.input(3), ctx.output()
        (multiplier_1, shift_1), (multiplier_2, shift_2) = state_multipliers(ctx.graph, op)
        fields = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "feature": ctx.weights(require_constant(op, feature, "feature weights"), "feature"),
            "time": ctx.weights(require_constant(op, time, "time weights"), "time"),
            "bias": NULL if bias is None or bias.data is None else ctx.weights(bias.data, "bias"),
            "state": ctx.input_ptr(4),
            "multiplier_1": multiplier_1,
            "multiplier_2": multiplier_2,
            "batches": u16(op, inp.shape[0], "batch size"),
            "inputs": u16(op, inp.shape[1], "input size"),
            "units": u16(op, out.shape[1], "output size"),
            "rank": u16(op, op.options["rank"], "rank"),
            "memory": u16(op, time.shape[1], "memory size"),
            "input_zero_point": inp.zero_point,
            "output_zero_point": out.zero_point,
            "state_zero_point": state.zero_point if state.dtype == "int8" else 0,
            "shift_1": shift_1,
            "shift_2": shift_2,
        }
        name = "svdf_s8_state8" if state.dtype == "int8" else "svdf_s8"
        return KernelCall(f"ar_{name}", "svdf.h", (f"{name}.c",), "ar_svdf_params", fields)
