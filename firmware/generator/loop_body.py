"""Plan the memory of the body of a LOOP. The body has its own small arena, which is the scratch of the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    if carried_order(loop, body_plan.offsets) is None:
        # Each state keeps its memory until the end of the step, so no result can be there.
        states = dict.fromkeys((*graph.outputs, *(state for _, state in loop.carried)))
        graph = replace(graph, outputs=tuple(states))
        body_plan = plan(graph, needs, alignment=_ALIGNMENT)
    check(graph, body_plan, needs)
    return body_plan


def carried_order(loop: Loop, offsets: Mapping[int, int]) -> tuple[tuple[int, int], ...] | None:
    """Return ``loop.carried`` without the values that the next step finds at their address, in an order in which no
    copy overwrites a value that a later copy needs. Return None if there is no such order. ``offsets`` are the
    addresses of the body's tensors.

    The copies of ``loop.finals`` are the last ones. They take a carried value from where the next step would read it.
    """
    tensors = loop.body.tensors

    def overlap(a: int, b: int) -> bool:
        return offsets[a] < offsets[b] + tensors[b].nbytes and offsets[b] < offsets[a] + tensors[a].nbytes

    pending = [(result, state) for result, state in loop.carried if offsets[result] != offsets[state]]
    carried = dict(loop.carried)
    others = [part.inner for part in loop.finals if part.inner not in carried]
    others += [state for result, state in loop.carried if offsets[result] == offsets[state]]
    if any(overlap(state, other) for _, state in pending for other in others):
        return None
    order = []
    while pending:
        free = next(
            (
                pair
                for pair in pending
                if not any(overlap(pair[1], other[0]) for other in pending if other != pair)
            ),
            None,
        )
        if free is None:
            return None
        order.append(free)
        pending.remove(free)
    return tuple(order)


def moved(body_plan: Plan, by: int) -> Plan:
    """Return the plan with every address ``by`` bytes higher."""
    return replace(
        body_plan,
        offsets={k: v + by for k, v in body_plan.offsets.items()},
        scratch_offsets={k: v + by for k, v in body_plan.scratch_offsets.items()},
    )
