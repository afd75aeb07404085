"""Create the call of the kernel that converts integers from one scale to another."""

from __future__ import annotations

from arenite.converters.graph.quantized_arithmetic import quantize_multiplier
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.elementwise.binary import TYPE_CODES


def requantize_call(ctx: LowerContext, real: float, limits: tuple[int, int]) -> KernelCall:
    """Return a call that multiplies input 0 by ``real``, rounds, and clamps the quantized output to ``limits``."""
    inp, out = ctx.input_tensor(0), ctx.output()
    multiplier, shift = quantize_multiplier(real)
    fields = {
        "input": ctx.input_ptr(0),
        "output": ctx.output_ptr(),
        "count": out.elements,
        "multiplier": multiplier,
        "input_offset": -inp.zero_point,
        "output_offset": out.zero_point,
        "act_min": limits[0],
        "act_max": limits[1],
        "input_type": TYPE_CODES[inp.dtype],
        "output_type": TYPE_CODES[out.dtype],
        "shift": shift,
    }
    return KernelCall("ar_requantize", "requantize.h", ("requantize.c",), "ar_requantize_params", fields)
