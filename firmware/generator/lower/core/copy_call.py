"""Create calls of the kernel that copies one tensor to another."""

from __future__ import annotations

from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext


def copy_call(ctx: LowerContext, position: int = 0) -> KernelCall | None:
    """Return a call that copies the input at ``position`` to the output; None if both have the same address."""
    source, target = ctx.input_ptr(position), ctx.output_ptr()
    if source == target:
        return None
    fields = {"input": source, "output": target, "bytes": ctx.output().nbytes}
    return KernelCall("ar_copy", "copy.h", ("copy.c",), "ar_copy_params", fields)


def copy_bytes(ctx: LowerContext) -> KernelCall | None:
    """Return a call that copies one byte per value of input 0; None if both have the same address."""
    source, target = ctx.input_ptr(0), ctx.output_ptr()
    if source == target:
        return None
    fields = {"input": source, "output": target, "bytes": ctx.output().elements}
    return KernelCall("ar_copy", "copy.h", ("copy.c",), "ar_copy_params", fields)
