"""Choose an arena plan for a target: with complete tensors in the arena, or with operators that run row by row."""

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

#: The alignment of all offsets in bytes. TFLM requires multiples of 16. With this alignment, it uses the plan's
#: offsets.
ALIGNMENT = 16

#: The largest number of instructions that running row by row may add, as a fraction of the instructions with complete
#: tensors. Both numbers are rough estimates. A plan that adds more is rejected, even if it saves much memory.
MAX_EXTRA_WORK = 0.25
#: Approximate instructions of a fast kernel, from which this fraction is computed.
_INSTRUCTIONS_PER_MAC, _INSTRUCTIONS_PER_OUTPUT = 0.9, 5


def plan_complete_tensors(model: Model, needs: Sequence[OpRequirements], *, search: bool = True) -> Plan:
    """Return a plan with complete tensors, verified by the independent checker. Raises ``PlanError`` if there is no
    valid plan.

    Without ``search`` the operators keep their order and the offsets come from heuristics alone. This takes less time
    for graphs of many operators.
    """
    persistent = resource_sizes(model)
    graph = planned_graph(model.main)
    if search:
        new_plan = plan(graph, needs, persistent=persistent, alignment=ALIGNMENT)
    else:
        new_plan = plan(
            graph, needs, persistent=persistent, alignment=ALIGNMENT, reorder=False, offset_budget=0
        )
    check(graph, new_plan, needs, persistent=persistent)
    return new_plan


def same_plan(one: Target, other: Target) -> bool:
    """Return whether two targets get the same plan, provided that their kernels have the same requirements."""
    if one.stream_input or other.stream_input:
        return one.stream_input == other.stream_input
    return (one.optimise == "ram") == (other.optimise == "ram")


def plan_for(model: Model, needs: Sequence[OpRequirements], target: Target, known_plan: Plan | None) -> Plan:
    """Return the plan for ``target``. It has complete tensors; for the goal "ram" it has operators that run row by row
    if that takes less RAM.

    ``known_plan`` is the plan with complete tensors if it is already known, else None. Raises ``UsageError`` if the
    target streams the input and the model cannot receive it row by row.
    """
    if target.stream_input:
        streamed = _streaming(model, needs, model.main.inputs[0] if len(model.main.inputs) == 1 else -1)
        if streamed is None:
            raise UsageError(
                "This model cannot take its input row by row.",
                "Leave out --stream-input, which needs a model whose first operators can run row by row, and whose "
                "input is read by no other operator.",
            )
        return streamed
    complete_plan = plan_complete_tensors(model, needs) if known_plan is None else known_plan
    if target.optimise == "ram":
        streamed = _streaming(model, needs, None)
        if streamed is not None and streamed.arena_bytes < complete_plan.arena_bytes:
            return streamed
    return complete_plan


def _streaming(model: Model, needs: Sequence[OpRequirements], streamed_input: int | None) -> Plan | None:
    """Return the smallest plan with operators that run row by row, verified by the checker.

    The plan adds at most the fraction ``MAX_EXTRA_WORK`` of instructions. If no plan meets this limit and the input
    must be streamed, the smallest plan without the limit is returned. ``streamed_input`` is the tensor index of the
    streamed input, None if the input is not streamed, or -1 if the model has several inputs. Returns None if there is
    no such plan.
    """
    if resource_sizes(model):
        return None
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
