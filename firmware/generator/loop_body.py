"""Plan the memory of the body of a LOOP. The body has its own small arena, which is the scratch of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.graph.loop import Loop
from arenite.converters.planner import OpRequirements, Plan, check, plan
from arenite.firmware.generator.target import Target

#: The alignment of the tensors of a body in bytes, as in every arena.
_ALIGNMENT = 16


def body_target(target: Target) -> Target:
    """Return the target for the layers of a body, which one core runs with complete tensors."""
    return replace(target, cores=1, barrier=0, stream_input=False)


def plan_body(loop: Loop, needs: Sequence[OpRequirements]) -> Plan:
    """Return the plan of the body's tensors, verified by the independent checker. ``needs`` has the requirements of the
    operators of the body."""
    graph = planned_graph(loop.body)
    body_plan = plan(graph, needs, alignment=_ALIGNMENT)
    check(graph, body_plan, needs)
    return body_plan


def moved(body_plan: Plan, by: int) -> Plan:
    """Return the plan with every address ``by`` bytes higher."""
    return replace(
        body_plan,
        offsets={k: v + by for k, v in body_plan.offsets.items()},
        scratch_offsets={k: v + by for k, v in body_plan.scratch_offsets.items()},
    )
