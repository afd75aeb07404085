"""Lower LOOP: a body of layers that runs once per step. The generator plans and lowers the body itself
(``model_lowering``), because it has a graph and a plan of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arenite.converters.graph.loop import LOOP, LoopPart, loop_of
from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.core.lowering import (
    LOWERINGS,
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    StructArray,
    refuse,
    register,
    require_accepted,
    u16,
)

#: The largest number of copies before a loop, before and after each step, and after the loop.
_MAX_COPIES = 255


@register
class LoopLowering(Lowering):
    op_name = LOOP
    supports = (
        "made from the repeated steps of a recurrent layer; an image stores more than 128 steps as WHILE"
    )
    kernels = ("loop.c",)

    def check(self, graph: Subgraph, op: Op) -> None:
        loop = require_accepted(loop_of(op))
        u16(op, loop.steps, "number of steps")
        for copies in (loop.initial, loop.slices, (*loop.sequences, *loop.carried), loop.finals):
            if len(copies) > _MAX_COPIES:
                raise refuse(
                    op, None, f"each step copies {len(copies)} tensors, the limit is {_MAX_COPIES}",
                    "Split the layer that repeats.",
                )  # fmt: skip
        for inner in loop.body.ops:
            LOWERINGS[inner.name].check(loop.body, inner)

    def macs(self, graph: Subgraph, op: Op) -> int:
        loop = require_accepted(loop_of(op))
        return loop.steps * sum(LOWERINGS[inner.name].macs(loop.body, inner) for inner in loop.body.ops)

    def lower(self, ctx: LowerContext) -> KernelCall:
        raise ValueError("A LOOP is lowered by ``loop_call``.")


def loop_call(
    ctx: LowerContext,
    address: Callable[[int], Expr],
    carried: Sequence[tuple[int, int]],
    body: Sequence[KernelCall],
    layers: Expr,
) -> KernelCall:
    """Return the call that runs the LOOP of ``ctx``.

    ``address`` returns the address of a tensor of the body. ``carried`` are the copies to the states of the next step
    (``loop_body.carried_order``). ``body`` has the calls of the body's layers, and ``layers``
    is the name of the array of their functions.
    """
    loop = require_accepted(loop_of(ctx.op))
    tensors = loop.body.tensors

    def row(source: Expr, target: Expr, from_stride: int, to_stride: int, size: int) -> dict[str, Any]:
        strides = {"from_stride": from_stride, "to_stride": to_stride}
        return {"from": source, "to": target, **strides, "bytes": size}

    def into(part: LoopPart) -> dict[str, Any]:
        source = _at(ctx.input_ptr(part.outer), part.start)
        return row(source, address(part.inner), part.stride, 0, tensors[part.inner].nbytes)

    def out_of(part: LoopPart) -> dict[str, Any]:
        target = _at(ctx.output_ptr(part.outer), part.start)
        return row(address(part.inner), target, 0, part.stride, tensors[part.inner].nbytes)

    first = [into(part) for part in loop.initial]
    before = [into(part) for part in loop.slices]
    # The next step reads the result of this step where it is, if the planner has given it the address of the state.
    after = [out_of(part) for part in loop.sequences]
    after += [row(address(a), address(b), 0, 0, tensors[a].nbytes) for a, b in carried]
    states = dict(loop.carried)
    last = [out_of(part._replace(inner=states.get(part.inner, part.inner))) for part in loop.finals]
    fields = {
        "copies": StructArray("ar_loop_copy", [*first, *before, *after, *last]),
        "layers": layers,
        "layer_count": len(body),
        "steps": loop.steps,
        "first": len(first),
        "before": len(before),
        "after": len(after),
        "last": len(last),
    }
    return KernelCall("ar_loop", "loop.h", ("loop.c",), "ar_loop_params", fields, body=tuple(body))


def _at(address: Expr, start: int) -> Expr:
    """Return ``address`` plus ``start`` bytes."""
    return Expr(address.text, address.offset + start)
