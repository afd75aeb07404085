"""Collect the requirements of each operator for the planner from the lowerings, and reject unsupported models."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.loop import Loop, loop_of
from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.shapes import check_shapes
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.row_requirements import RowRequirements
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.loop_body import body_target, plan_body
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.core.lowering import Lowering, describe, refuse
from arenite.firmware.generator.lower.core.variant import Variant, variant_of
from arenite.firmware.generator.state import check_state
from arenite.firmware.generator.target import PORTABLE, Target
from arenite.firmware.generator.two_core_split import LayerSplit, choose_split, spatial_kernel, split_needs

#: Fused activations of the schema that no quantized kernel applies. (An LSTM lists its own TANH.)
_NEVER_FUSED = {4: "TANH", 5: "SIGN_BIT"}


#: The maximal number of inputs, and of outputs, of a model: the firmware counts each in one byte.
MAX_TENSORS = 255


def lowering_of(op: Op) -> Lowering:
    """Return the lowering of ``op``. Raises ``UnsupportedModelError`` if there is none."""
    lowering = LOWERINGS.get(op.kind)
    if lowering is None:
        raise UnsupportedModelError(
            f"{describe(op)}: this operator is not supported.",
            "See docs/operators.md for the list. Replace the layer, or move it to the host.",
        )
    return lowering


def check_supported(model: Model) -> None:
    """Raise ``UnsupportedModelError`` for the first operator that cannot be run exactly."""
    for kind, indices in (("inputs", model.main.inputs), ("outputs", model.main.outputs)):
        if len(indices) > MAX_TENSORS:
            raise UnsupportedModelError(
                f"The model has {len(indices)} {kind}, but the limit is {MAX_TENSORS}.",
                "Pack them into fewer tensors.",
            )
    _check_graph(model.main)
    check_state(model)


def _check_graph(graph: Subgraph) -> None:
    """Raise ``UnsupportedModelError`` for the first operator of ``graph``, or of the body of a loop, that cannot be run
    exactly."""
    check_shapes(graph)
    for op in graph.ops:
        if (loop := loop_of(op)) is not None:
            _check_graph(loop.body)
        check_op(graph, op)
        activation = op.options.get("fused_activation_function", 0)
        if activation in _NEVER_FUSED and not op.name.endswith("LSTM"):
            name = _NEVER_FUSED[activation]
            raise refuse(
                op, None, f"has the fused activation {name}", f"Export {name} as a separate operator."
            )
        for t in graph.out_tensors(op):
            if not t.itemsize and op.name != "VAR_HANDLE":
                raise refuse(
                    op, t, f"has type {t.dtype}, which no kernel computes", "Quantize the model to int8."
                )


def check_op(graph: Subgraph, op: Op) -> None:
    """Raise ``UnsupportedModelError`` if ``op`` cannot be run exactly. The message names the operator's first output,
    because converters keep the names of a framework's layers there."""
    try:
        lowering_of(op).check(graph, op)
    except UnsupportedModelError as error:
        name = graph.tensors[op.outputs[0]].name if op.outputs else ""
        if not name or f"'{name}'" in error.problem:
            raise
        problem = f"{error.problem} Its output is '{name}'."
        raise UnsupportedModelError(problem, error.hint) from error


def op_needs(graph: Subgraph, target: Target = PORTABLE) -> list[OpRequirements]:
    """Return one ``OpRequirements`` per operator, in the subgraph's order, for the kernels that run on ``target``."""
    return [op_needs_of(graph, op, target) for op in graph.ops]


def op_needs_of(graph: Subgraph, op: Op, target: Target) -> OpRequirements:
    """Return the ``OpRequirements`` of one operator."""
    needs, split = split_for(graph, op, target)
    return split_needs(graph, op, needs, split)


def split_for(graph: Subgraph, op: Op, target: Target) -> tuple[OpRequirements, LayerSplit | None]:
    """Return (requirements of ``op`` on one core, its split for two cores). The split is None if one core runs the
    op."""
    chosen = variant_of(graph, op, target)
    needs = _needs(graph, op, chosen, target)
    if target.cores == 1:
        return needs, None
    kernel = "" if chosen is None else spatial_kernel(chosen.kernels)
    return needs, choose_split(graph, op, needs, op_macs(graph, op), target, kernel)


def loop_plan(loop: Loop, target: Target) -> Plan:
    """Return the plan of the body of a loop, for the kernels that run on ``target``."""
    return plan_body(loop, op_needs(loop.body, body_target(target)))


def _needs(graph: Subgraph, op: Op, chosen: Variant | None, target: Target) -> OpRequirements:
    """Return the requirements of ``op`` on one core. ``chosen`` is the variant that runs it, or None for the default
    kernel."""
    loop = loop_of(op)
    if loop is not None:
        return OpRequirements(loop_plan(loop, target).arena_bytes)
    lowering = lowering_of(op)
    alias = lowering.alias(graph, op)
    if chosen is not None:
        in_place, rows = chosen.in_place(graph, op, target), chosen.rows(graph, op, target)
        return OpRequirements(
            chosen.scratch(graph, op, target), in_place, alias, _in_place_rows(rows, in_place)
        )
    in_place = lowering.in_place(graph, op)
    rows = _in_place_rows(lowering.rows(graph, op), in_place)
    return OpRequirements(lowering.scratch(graph, op), in_place, alias, rows)


def _in_place_rows(
    rows: RowRequirements | None, in_place: tuple[tuple[int, int], ...]
) -> RowRequirements | None:
    """Return ``rows`` with the inputs whose rows the output row may overwrite. If the kernel computes each row as an
    image of one row, they are the inputs that the output of an image may overwrite, ``in_place``."""
    if rows is None or not rows.row_alone:
        return rows
    return replace(rows, in_place=tuple(i for i, _ in in_place))


def op_macs(graph: Subgraph, op: Op) -> int:
    """Return the multiply-accumulates of ``op`` in one inference."""
    return lowering_of(op).macs(graph, op)
