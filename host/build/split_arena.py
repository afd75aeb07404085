"""Split the arena of a prepared model over two memories of a board."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arenite.converters.graph.byte_table import planned_graph
from arenite.converters.planner import check
from arenite.converters.planner.memory_split import AccessCounts, plan_split
from arenite.converters.planner.memory_split_checker import find_split_violations
from arenite.converters.planner.plan import Plan
from arenite.errors import PlanError
from arenite.firmware.generator.model_source import GUARD_BYTES
from arenite.firmware.generator.state import resource_sizes
from arenite.firmware.sizes.accesses import estimate_accesses
from arenite.host.build.plan import ALIGNMENT
from arenite.host.build.prepare import Prepared
from arenite.profiles.board import Board, MemoryRegion


@dataclass(frozen=True)
class SplitModel:
    """The model ``prepared``, whose arena plan uses the board's first memory and the memory ``second``.

    ``slow_accesses`` is the estimated number of loads and stores in ``second`` per inference.
    """

    prepared: Prepared
    second: MemoryRegion
    slow_accesses: int

    def extra_cycles(self, board: Board) -> float:
        """Return the estimated extra cycles per inference of the accesses to the second memory, compared with accesses
        to the first memory.

        The number is negative if the second memory is faster.
        """
        return self.slow_accesses * (self.second.access_cycles - board.ram[0].access_cycles)


def split_over(prepared: Prepared, board: Board, second: MemoryRegion, fast_limit: int) -> SplitModel | None:
    """Plan the model with its arena in two memories: at most ``fast_limit`` bytes are in the board's first memory, the
    rest is in the memory ``second``.

    The plan has the fewest accesses to the slower memory. Returns None if there is no such plan.
    """
    limits = (max(fast_limit, 0), second.size - GUARD_BYTES)
    if limits[1] <= 0:
        return None
    persistent = resource_sizes(prepared.model)
    graph = planned_graph(prepared.model.main)
    accesses = estimate_accesses(prepared.generated)
    split_plan = plan_split(
        graph,
        prepared.needs,
        prepared.plan.order,
        accesses,
        limits,
        persistent=persistent,
        preferred_slow=second.access_cycles < board.ram[0].access_cycles,
        alignment=ALIGNMENT,
    )
    if split_plan is None:
        return None
    check(graph, split_plan, prepared.needs, persistent=persistent)
    violations = find_split_violations(
        graph, split_plan, prepared.needs, persistent=persistent, limits=limits
    )
    if violations:
        raise PlanError(
            f"The plan over {board.ram[0].name} and {second.name} is not valid: {' '.join(violations[:3])}",
            "Please report this error with the model.",
        )
    return SplitModel(replace(prepared, plan=split_plan), second, slow_accesses(split_plan, accesses))


def slow_accesses(plan: Plan, accesses: AccessCounts) -> int:
    """Return the number of loads and stores in the second memory of ``plan``, per inference. ``accesses`` has the
    number for each tensor and variable."""
    boundary = plan.fast_bytes
    tensors = sum(n for t, n in accesses.tensors.items() if plan.offsets.get(t, -1) >= boundary)
    return tensors + sum(n for v, n in accesses.variables.items() if plan.variable_offsets[v] >= boundary)
