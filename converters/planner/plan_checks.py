"""The basis of the checkers of plans: the list of violations, and the names of operators and tensors in messages."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.model import DTYPES, PACKED_BITS, Subgraph
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements


class PlanChecks:
    """Checks of one plan. They append a sentence to ``violations`` for each violation."""

    def __init__(self, graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements]) -> None:
        self.graph, self.plan, self.needs = graph, plan, needs
        self.violations: list[str] = []

    def add_violation(self, sentence: str) -> None:
        self.violations.append(sentence)

    def tensor_name(self, t: int) -> str:
        return f"tensor {t} '{self.graph.tensors[t].name}'"

    def op_name(self, k: int) -> str:
        return f"operator {k} {self.graph.ops[k].name}"

    def in_arena(self, t: int) -> bool:
        """Return whether tensor ``t`` takes arena."""
        tensor = self.graph.tensors[t]
        return tensor.data is None and DTYPES[tensor.dtype] is not None and tensor.dtype not in PACKED_BITS

    def check_sizes(self, max_arena: int) -> None:
        """Check the arena size, which may be at most ``max_arena`` bytes, the alignment and the lower bound."""
        plan = self.plan
        if not 0 <= plan.arena_bytes <= max_arena:
            self.add_violation(f"The arena has {plan.arena_bytes} bytes, expected 0 to {max_arena}.")
        if plan.alignment < 1 or plan.alignment & (plan.alignment - 1):
            self.add_violation(f"Alignment {plan.alignment} is not a power of two.")
        if plan.lower_bound > plan.arena_bytes:
            self.add_violation(
                f"The lower bound {plan.lower_bound} is above the arena of {plan.arena_bytes} bytes."
            )
