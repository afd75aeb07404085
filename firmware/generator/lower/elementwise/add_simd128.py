"""Lower int8 ADD and SUB for WebAssembly's 128-bit SIMD. The kernel computes the formula of ``add_linear.py`` for
sixteen elements at a time."""

from __future__ import annotations

from dataclasses import replace

from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.elementwise.add_linear import Linear
from arenite.firmware.generator.target import SIMD128


class _LinearSimd128(Linear):
    """The base class for both operators."""

    tiers = (SIMD128,)
    priority = 200
    kernels = ("add_s8_simd128.c",)
    sum_row = "ar_add_s8_simd128_row"

    def lower(self, ctx: LowerContext) -> KernelCall:
        return replace(super().lower(ctx), kernel="ar_add_s8_simd128", header="add_s8_simd128.h")


@variant
class AddSimd128(_LinearSimd128):
    op_name = "ADD"


@variant
class SubSimd128(_LinearSimd128):
    op_name = "SUB"
