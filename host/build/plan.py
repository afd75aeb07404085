"""Choose a plan for a target: whole tensors, or operators that run row by row."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.graph.model import Model
from arenite.converters.planner import check, plan
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.errors import UsageError
from arenite.firmware.generator.operator_needs import op_macs
from arenite.firmware.generator.state import resource_sizes
from arenite.firmware.generator.target import Target

#: TFLM requires offsets at multiples of 16; with this alignment it follows every offset of the plan.
ALIGNMENT = 16

#: The instructions that running by rows may add, as a share of the instructions with whole tensors. Both are rough
#: estimates; a plan that adds more is rejected, however much memory it saves.
MAX_EXTRA_WORK = 0.25
#: Approximate instructions of a fast kernel, from which that share is computed.
_INSTRUCTIONS_PER_MAC, _INSTRUCTIONS_PER_OUTPUT = 0.9, 5


def whole_plan(model: Model, needs: Sequence[OpRequirements]) -> Plan:
    """Return a plan for whole tensors, verified by the independent checker. Raises ``PlanError``."""
    persistent = resource_sizes(model)
    graph = planned_graph(model.main)
    new_plan = plan(graph, needs, persistent=persistent, alignment=ALIGNMENT)
    check(graph, new_plan, needs, persistent=persistent)
    return new_plan


def same_plan(one: Target, other: Target) -> bool:
    """Return whether two targets whose kernels have the same needs get the same plan."""
    if one.stream_input or other.stream_input:
        return one.stream_input == other.stream_input
    return (one.optimise == "ram") == (other.optimise == "ram")


def plan_for(model: Model, needs: Sequence[OpRequirements], target: Target, whole: Plan | None) -> Plan:
    """Return the plan for ``target``: whole tensors, or streaming when that takes less RAM.

    ``whole`` is the plan for whole tensors when it is already known.
    Raises ``UsageError`` when the target streams the input and the model cannot take it row by row.
    """
    if target.stream_input:
        streamed = _streaming(model, needs, model.main.inputs[0] if len(model.main.inputs) == 1 else -1)
        if streamed is None:
            raise UsageError(
                "This model cannot take its input row by row.",
                "Its first operators must run by rows, and nothing else may read the input; leave out --stream-input.",
            )
        return streamed
    whole = whole_plan(model, needs) if whole is None else whole
    if target.optimise == "ram":
        streamed = _streaming(model, needs, None)
        if streamed is not None and streamed.arena_bytes < whole.arena_bytes:
            return streamed
    return whole


def _streaming(model: Model, needs: Sequence[OpRequirements], streamed_input: int | None) -> Plan | None:
    """Return the smallest streaming plan that adds at most ``MAX_EXTRA_WORK`` instructions, verified by the checker.

    For a streamed input the smallest plan at any cost is returned when none is within that share. Returns None when
    there is no streaming plan.
    """

    graph = planned_graph(model.main)
    work = sum(
        _INSTRUCTIONS_PER_MAC * op_macs(graph, op)
        + _INSTRUCTIONS_PER_OUTPUT * sum(t.elements for t in graph.out_tensors(op))
        for op in graph.ops
    )
    if streamed_input == -1:
        return None
    new_plan = plan_streaming(
        graph,
        needs,
        alignment=ALIGNMENT,
        streamed_input=streamed_input,
        extra_limit=round(MAX_EXTRA_WORK * work),
    )
    if new_plan is None and streamed_input is not None:
        new_plan = plan_streaming(graph, needs, alignment=ALIGNMENT, streamed_input=streamed_input)
    if new_plan is not None:
        check(graph, new_plan, needs)
    return new_plan
