"""An independent check of plans for two memories. It shares nothing with the planner except the plan.

``checker`` finds overlaps of live blocks, because addresses continue from the first memory into the second. This module
checks that no block crosses the boundary, that scratch and the working memory of segments are in the first memory, and
that the blocks of each memory fit into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.plan import Plan
from arenite.converters.planner.requirements import OpRequirements


def find_split_violations(
    graph: Subgraph,
    plan: Plan,
    needs: Sequence[OpRequirements],
    *,
    persistent: Mapping[str, int] | None = None,
    limits: tuple[int, int] | None = None,
) -> list[str]:
    """Return one sentence for each violation of the rules for two memories. A plan for one memory has no violations.

    ``limits`` are the bytes that the arena may take in each memory. Without limits, the sizes are not checked.
    """
    if plan.split is None:
        return []
    boundary = plan.split.fast_bytes
    violations = []
    if not 0 <= boundary <= plan.arena_bytes:
        violations.append(f"The boundary {boundary} is outside the arena of {plan.arena_bytes} bytes.")
    elif boundary % plan.alignment:
        violations.append(f"The boundary {boundary} is not aligned to {plan.alignment}.")
    if plan.split.status not in ("optimal", "gap"):
        violations.append(f"The split's status '{plan.split.status}' is unknown.")
    elif (plan.split.status == "optimal") != (plan.split.bound == plan.split.accesses):
        violations.append(f"The split's status '{plan.split.status}' contradicts its bound.")
    for name, size, limit in zip(
        ("first", "second"), (boundary, plan.arena_bytes - boundary), limits or (), strict=False
    ):
        if size > limit:
            violations.append(f"The arena takes {size} bytes of the {name} memory, which has {limit}.")
    for description, begin, size, movable in _blocks(graph, plan, needs, persistent or {}):
        if begin < boundary < begin + size:
            violations.append(
                f"The {description}, [{begin}, {begin + size}), crosses the boundary {boundary}."
            )
        elif begin >= boundary and size and not movable:
            violations.append(f"The {description} is in the second memory.")
    return violations


def _blocks(
    graph: Subgraph, plan: Plan, needs: Sequence[OpRequirements], persistent: Mapping[str, int]
) -> Iterator[tuple[str, int, int, bool]]:
    """Yield (description, offset, size in bytes, whether it may be in the second memory) of every block."""
    # The offsets of the rows of tensors that are never completely in memory.
    rows = {t: offsets for s in plan.segments for t, offsets in s.rows.items()}
    for t, offset in plan.offsets.items():
        if not 0 <= t < len(graph.tensors):
            continue  # the plan names a tensor that does not exist, which ``checker`` reports
        tensor = graph.tensors[t]
        if t not in rows:
            yield f"tensor {t} '{tensor.name}'", offset, tensor.nbytes, True
            continue
        for r, at in enumerate(rows[t]):
            yield f"row {r} of tensor {t} '{tensor.name}'", at, tensor.nbytes // len(rows[t]), True
    for k, offset in plan.scratch_offsets.items():
        if not 0 <= k < len(graph.ops):
            continue
        streamed = any(k in s.stages for s in plan.segments)
        rows_of = needs[k].rows
        size = rows_of.scratch if streamed and rows_of is not None else needs[k].scratch
        yield f"scratch of operator {k} {graph.ops[k].name}", offset, size, False
    for name, offset in plan.variable_offsets.items():
        yield f"variable '{name}'", offset, persistent.get(name, 0), True
    for s in plan.segments:
        yield f"state of the segment of operator {s.stages[0]}", s.state_offset, s.state_bytes, False
