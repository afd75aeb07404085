"""Lower a planned model: one kernel call with constant parameters for each layer, and the constants that they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.loop import LOOP, loop_of
from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.planner.plan import Plan, Segment
from arenite.converters.planner.row_requirements import RowRequirements, StateLayout, row_unit, state_layout
from arenite.errors import PlanError
from arenite.firmware.generator.constants import ConstantPool
from arenite.firmware.generator.generated_model import Generated, Layer, SegmentCode, symbols_in
from arenite.firmware.generator.loop_body import body_target, carried_order, moved
from arenite.firmware.generator.lower.core.lowering import (
    NULL,
    Expr,
    KernelCall,
    LowerContext,
    Lowering,
    StructArray,
    arena_address,
    require_accepted,
)
from arenite.firmware.generator.lower.core.row_functions import one_row
from arenite.firmware.generator.lower.core.unpacked_weights import unpacked_row
from arenite.firmware.generator.lower.core.variant import Variant, variant_of
from arenite.firmware.generator.lower.recurrent.loop import loop_call
from arenite.firmware.generator.operator_needs import loop_plan, lowering_of, op_macs, split_for
from arenite.firmware.generator.state import find_variables
from arenite.firmware.generator.target import PORTABLE, Target
from arenite.firmware.generator.two_core_halves import HalfCall, LayerHalf, split_halves

#: The number in ``ar_stage`` that means that there is no stage: AR_NO_STAGE in stream.h.
NO_STAGE = 255


class _Context(LowerContext):
    """The context of one operator in a plan. Constants are added to ``pool``."""

    def __init__(
        self, graph: Subgraph, op: Op, layer: int, plan: Plan, pool: ConstantPool, target: Target
    ) -> None:
        self.graph, self.op, self.target = graph, op, target
        self._full_graph = graph
        self._layer, self._plan, self._pool = layer, plan, pool
        self._state: int | None = None  # offset of the accumulators
        self._shift: Mapping[int, int] = {}  # by tensor: bytes from its beginning to the part that is lowered
        self._scratch_shift = 0

    def set_rows(self, rows: RowRequirements, accumulators: int) -> None:
        """Change this context for a stage of a segment. ``accumulators`` is the arena offset of its accumulators."""
        if rows.row_alone:
            self.graph = one_row(self.graph, self.op)
        self._state = accumulators if rows.state else None

    def for_half(self, half: LayerHalf, scratch: int) -> _Context:
        """Return the context for one half of the operator. Its scratch begins ``scratch`` bytes into the operator's
        scratch."""
        context = _Context(half.graph, self.op, self._layer, self._plan, self._pool, self.target)
        context._full_graph, context._shift, context._scratch_shift = self._full_graph, half.shift, scratch
        return context

    @property
    def full_graph(self) -> Subgraph:
        return self._full_graph

    def input_ptr(self, position: int) -> Expr:
        index = self.op.input(position)
        return NULL if index < 0 else self.tensor_ptr(index)

    def output_ptr(self, position: int = 0) -> Expr:
        return self.tensor_ptr(self.op.outputs[position])

    def tensor_ptr(self, index: int) -> Expr:
        tensor = self.graph.tensors[index]
        if tensor.data is not None:
            return self.weights(tensor.data, f"tensor{index}")
        return arena_address(self._plan.offsets[index] + self._shift.get(index, 0))

    def variable_ptr(self, name: str) -> Expr:
        return arena_address(self._plan.variable_offsets[name])

    def weights(self, values: np.ndarray, hint: str, tables: int = 0) -> Expr:
        return self._add(values, hint, True, tables)

    def table(self, values: np.ndarray, hint: str) -> Expr:
        return self._add(values, hint, False)

    def _add(self, values: np.ndarray, hint: str, is_weight: bool, tables: int = 0) -> Expr:
        comment = f"layer {self._layer} {self.op.kind}: {hint} {'x'.join(map(str, values.shape))}"
        return self._pool.add(values, self._layer, hint, comment, is_weight, tables)

    def scratch_ptr(self, offset: int = 0) -> Expr:
        return arena_address(self._plan.scratch_offsets[self.op.index] + self._scratch_shift + offset)

    def state_ptr(self) -> Expr:
        return NULL if self._state is None else arena_address(self._state)


def _no_image() -> bytes:
    """Return zeros in place of the SHA-256 of an image."""
    return bytes(32)


def lower_model(
    model: Model,
    plan: Plan,
    *,
    target: Target = PORTABLE,
    image_hash: Callable[[], bytes] = _no_image,
    name: str = "model",
    prefix: str = "",
) -> Generated:
    """Lower every operator of the main subgraph in the plan's order, with the kernels for which ``plan`` was made.

    ``image_hash`` returns the SHA-256 of the image, and is called when it is needed. ``prefix`` is the prefix of every
    symbol that other files use, so that several models can be linked together. Raises ``UnsupportedModelError`` for an
    operator that cannot be run exactly.
    """
    graph = model.main
    pool = ConstantPool()
    layers = []
    stages = {k: (s, n) for s in plan.segments for n, k in enumerate(s.stages)}
    for position, op_index in enumerate(plan.order):
        op = graph.ops[op_index]
        lowering = lowering_of(op)
        lowering.check(graph, op)
        context = _Context(graph, op, position, plan, pool, target)
        chosen = variant_of(graph, op, target) or lowering
        rows = None
        if op_index in stages:
            segment, stage = stages[op_index]
            rows = row_needs_of(graph, op, target)
            context.set_rows(
                rows, segment.state_offset + state_of(graph, segment, target).accumulators[stage]
            )
        pair = None if rows is not None else _lower_halves(context, chosen)
        body: tuple[Op, ...] = ()
        call: KernelCall | None
        if op.name == LOOP:
            call, body = _lower_loop(context, prefix)
        else:
            call = chosen.lower(context) if pair is None else pair[0].call
        if call is not None and rows is not None:
            call = row_call(call, rows)
        comment = layer_comment(graph, op, plan)
        layer = Layer(position, op, call, op_macs(graph, op), comment, rows is not None, body=body)
        if pair is not None:
            layer = replace(layer, second=pair[1].call, share=max(piece.share for piece in pair))
        layers.append(layer)
    segments = tuple(segment_code(graph, plan, s, layers, target, pool, prefix) for s in plan.segments)
    variables = find_variables(model, plan)
    # A lowering may request the address of a constant and then not use it. The linker would drop the array anyway.
    calls = [call for layer in layers for call in layer.all_calls]
    used = {symbol for call in calls for symbol in symbols_in(call.fields)}
    used |= {symbol for segment in segments for symbol in symbols_in(segment.call.fields)}
    constants = tuple(c for c in pool.constants if c.symbol in used)
    return Generated(model, plan, prefix, tuple(layers), constants, variables, image_hash, name, segments)


def _lower_loop(context: _Context, prefix: str) -> tuple[KernelCall, tuple[Op, ...]]:
    """Return the call that runs a LOOP, and the operator of each call of its body. The arena of the body begins at the
    scratch of the LOOP."""
    loop = require_accepted(loop_of(context.op))
    target = body_target(context.target)
    body_plan = loop_plan(loop, target)
    if body_plan.arena_bytes:
        body_plan = moved(body_plan, context._plan.scratch_offsets[context.op.index])
    calls: dict[int, KernelCall] = {}
    for k in body_plan.order:
        op = loop.body.ops[k]
        inner = _Context(loop.body, op, context._layer, body_plan, context._pool, target)
        call = (variant_of(loop.body, op, target) or lowering_of(op)).lower(inner)
        if call is not None:
            calls[k] = call

    def address(tensor: int) -> Expr:
        return arena_address(body_plan.offsets[tensor])

    layers = Expr(f"{prefix}layer_{context._layer}_body")
    carried = require_accepted(carried_order(loop, body_plan.offsets))
    loop_kernel = loop_call(context, address, carried, list(calls.values()), layers)
    return loop_kernel, tuple(loop.body.ops[k] for k in calls)


def _lower_halves(context: _Context, chosen: Lowering | Variant) -> tuple[HalfCall, HalfCall] | None:
    """Return the halves for both cores, or None for an operator that is not divided."""
    graph, op, target = context.graph, context.op, context.target
    needs, cut = split_for(graph, op, target)
    if cut is None:
        return None

    def lower(half: LayerHalf, at: int) -> KernelCall | None:
        if (
            half.graph is not graph
            and isinstance(chosen, Variant)
            and not chosen.can_run(half.graph, op, target)
        ):
            return None
        return chosen.lower(context.for_half(half, at))

    return split_halves(graph, op, cut, context._plan, needs.scratch, lower)


def row_call(call: KernelCall, rows: RowRequirements) -> KernelCall:
    """Return the call of a layer's kernel, changed to its function for one row."""
    row_kernel = replace(
        call,
        kernel=rows.function,
        sources=rows.sources or call.sources,
        headers=(*call.headers, *rows.headers),
        before=None,
    )
    return row_kernel if call.before is None else unpacked_row(call.before, row_kernel)


def segment_code(
    graph: Subgraph,
    plan: Plan,
    segment: Segment,
    layers: Sequence[Layer],
    target: Target,
    pool: ConstantPool,
    prefix: str,
) -> SegmentCode:
    """Return the code of a segment: an ``ar_segment`` with the table of its stages and sources, and its schedule."""
    first = plan.order.index(segment.stages[0])
    numbers = {t: len(segment.stages) + n for n, t in enumerate(segment.sources)}
    numbers |= {graph.ops[k].outputs[0]: n for n, k in enumerate(segment.stages)}
    layout = state_of(graph, segment, target)

    unit = row_unit(at for offsets in segment.rows.values() for at in offsets)

    def tensor(t: int) -> dict[str, Any]:
        height = graph.tensors[t].shape[1]
        sizes = {"row_bytes": graph.tensors[t].nbytes // height, "height": height}
        if t not in segment.rows:
            return {"data": arena_address(plan.offsets[t]), "places": NULL, **sizes}
        places = np.array([at // unit for at in segment.rows[t]], np.uint16)
        comment = f"layers {first} on: the places of the rows of tensor {t}"
        return {
            "data": arena_address(0),
            "places": pool.add(places, first, f"places{t}", comment, False),
            **sizes,
        }

    items: list[dict[str, Any]] = []
    for n, k in enumerate(segment.stages):
        op, rows = graph.ops[k], row_needs_of(graph, graph.ops[k], target)
        window = rows.inputs[0]
        read = [numbers[op.inputs[i.position]] for i in rows.inputs]
        assert all(replace(i, position=0) == replace(window, position=0) for i in rows.inputs)
        call = layers[first + n].call
        assert call is not None
        items.append(
            {"run": Expr(call.kernel), "params": Expr(f"&{prefix}layer_{first + n}_params")}
            | tensor(op.outputs[0])
            | {
                "input": [*read, *[NO_STAGE] * (2 - len(read))],
                "taps": window.taps,
                "stride": window.stride,
                "dilation": window.dilation,
                "pad_top": window.pad_top,
                "accumulates": int(rows.accumulates),
            }
        )
    items += [{"run": NULL} | tensor(t) for t in segment.sources]
    streamed_input = segment.streamed_input is not None
    schedule = np.array(segment.schedule, np.uint8)
    fields = {
        "stages": StructArray("ar_stage", items),
        "schedule": pool.add(schedule, first, "schedule", f"layers {first} on: the order of rows", False),
        "counts": arena_address(segment.state_offset),
        "rows": arena_address(segment.state_offset + layout.addresses),
        "steps": len(segment.schedule),
        "clear": layout.cleared // 4,
        "layer": sum(layer.call is not None for layer in layers[:first]),
        "stage_count": len(segment.stages),
        "unit": unit,
        "arriving": numbers[segment.streamed_input] if segment.streamed_input is not None else NO_STAGE,
    }
    call = KernelCall("ar_stream_whole", "stream.h", ("stream.c",), "ar_segment", fields)
    return SegmentCode(first, call, streamed_input)


def state_of(graph: Subgraph, segment: Segment, target: Target) -> StateLayout:
    """Return the layout of the memory in which a segment keeps its progress."""
    rows = tuple(row_needs_of(graph, graph.ops[k], target) for k in segment.stages)
    return state_layout(rows, len(segment.sources))


def row_needs_of(graph: Subgraph, op: Op, target: Target) -> RowRequirements:
    """Return the requirements for running ``op`` row by row. Raises ``PlanError`` if its kernel cannot run row by
    row."""
    chosen = variant_of(graph, op, target)
    rows = lowering_of(op).rows(graph, op) if chosen is None else chosen.rows(graph, op, target)
    if rows is None:
        raise PlanError(
            f"The plan streams operator {op.index} {op.name}, which cannot run row by row.",
            "Convert the model again to make a new plan.",
        )
    return rows


def layer_comment(graph: Subgraph, op: Op, plan: Plan) -> str:
    """Return a comment like ``CONV_2D 1x48x48x8 -> 1x48x48x16, arena [0, 18432) -> [18432, 55296)``."""
    rows = {t: offsets for s in plan.segments if op.index in s.stages for t, offsets in s.rows.items()}

    def shapes(tensors: list[Tensor]) -> str:
        return ", ".join("x".join(map(str, t.shape)) or "scalar" for t in tensors) or "nothing"

    def intervals(tensors: list[Tensor]) -> str:
        places = []
        for t in tensors:
            if t.index in rows:
                end = max(rows[t.index]) + t.nbytes // t.shape[1]
                places.append(f"rows in [{min(rows[t.index])}, {end})")
            elif (start := plan.offsets.get(t.index)) is not None:
                places.append(f"[{start}, {start + t.nbytes})")
        return ", ".join(places) or "nothing"

    ins = [t for t in graph.in_tensors(op) if t.data is None]
    outs = list(graph.out_tensors(op))
    return f"{op.kind} {shapes(ins)} -> {shapes(outs)}, arena {intervals(ins)} -> {intervals(outs)}"
