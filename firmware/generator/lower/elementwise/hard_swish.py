"""Lower HARD_SWISH to a kernel call."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import refuse, register
from arenite.firmware.generator.lower.elementwise.unary import Unary
from arenite.firmware.generator.requant.lookup_tables import bytes_by_index
from arenite.firmware.generator.requant.reference_math import high_mul, round_shift


def _saturate(x: int) -> int:
    return min(max(x, -32768), 32767)


def _to_int16_multiplier(multiplier: int) -> int:
    """Return the rounded upper half of an int32 multiplier."""
    return 32767 if multiplier >= 2**31 - 1 - 2**15 else (multiplier + 2**15) >> 16


def _multipliers(inp: Tensor, out: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two pairs (int16 multiplier, exponent), which convert 1/128 of an input step to the output's scale and to
    a scale of 3 / 32768. TFLite calls the latter "reluish"."""
    step = np.float32(1 / 128) * np.float32(inp.scale)
    to_output, output_exponent = quantize_multiplier(float(step / np.float32(out.scale)))
    reluish = np.float32(3) / np.float32(32768)
    to_reluish, reluish_exponent = quantize_multiplier(float(step / reluish))
    return (
        (_to_int16_multiplier(to_output), output_exponent),
        (_to_int16_multiplier(to_reluish), reluish_exponent),
    )


def hard_swish(x: int, inp: Tensor, out: Tensor) -> int:
    """Return one int8 output of TFLite's 16-bit fixed-point formula: x times relu6(x + 3) / 6."""
    (output_multiplier, output_exponent), (reluish_multiplier, exponent) = _multipliers(inp, out)
    fine = (x - inp.zero_point) * 128
    preshift = high_mul(fine, output_multiplier, 16)
    reluish = fine
    if exponent > 0:
        reluish = _saturate(reluish << (exponent - 1))
    reluish = high_mul(reluish, reluish_multiplier, 16)
    if exponent > 0:
        reluish = _saturate(reluish << 1)
    elif exponent < 0:
        reluish = round_shift(reluish, -exponent)
    reluish = (reluish + 32768) >> 1  # from [-1, 1] to [0, 1]
    product = reluish * preshift
    # Division towards zero cancels the bias of the rounding multiplications above.
    truncated = product >> 15 if product >= 0 else -(-product >> 15)
    return min(max(round_shift(truncated, -output_exponent) + out.zero_point, -128), 127)


@register
class HardSwish(Unary):
    op_name = "HARD_SWISH"
    supports = "int8"
    kernels = ("map_8.c",)
    dtypes = ("int8",)

    def check(self, graph: Subgraph, op: Op) -> None:
        super().check(graph, op)
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        exponent = _multipliers(inp, out)[0][1]
        if not -15 <= exponent <= 0:
            raise refuse(
                op,
                out,
                f"scale {out.scale:g} is too small or too large for the input's {inp.scale:g}",
                "Calibrate the model on real data.",
            )

    def table8(self, op: Op, inp: Tensor, out: Tensor) -> np.ndarray:
        return bytes_by_index({q: hard_swish(q, inp, out) for q in range(-128, 128)})
