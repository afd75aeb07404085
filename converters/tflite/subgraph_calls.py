"""Check the operators that call other subgraphs, such as IF and WHILE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arenite.converters.graph.model import Op
from arenite.converters.tflite.diagnostics import malformed, op_at
from arenite.counts import count_of


def check_calls(subgraphs: Sequence[Sequence[Op]]) -> None:
    """Check that the subgraphs that operators call exist, and that no subgraph calls itself, directly or through other
    subgraphs. LiteRT crashes in both cases.

    Args:
        subgraphs: The operators of each subgraph.

    Raises:
        ModelError: A called subgraph does not exist (the error names the operator and the field), or a subgraph calls
            itself (the error names the subgraph).
    """
    calls: list[set[int]] = []
    for i, ops in enumerate(subgraphs):
        calls.append(set())
        for op in ops:
            for field, target in _called(op):
                if not 0 <= target < len(subgraphs):
                    raise malformed(
                        op_at(i, op.index, op.name),
                        f"builtin_options.{field}",
                        f"is {target}, but the model has {count_of(len(subgraphs), 'subgraph')}",
                    )
                calls[i].add(target)
    callers = [0] * len(subgraphs)
    for targets in calls:
        for target in targets:
            callers[target] += 1
    # Remove the subgraphs that no other subgraph calls, again and again. Only subgraphs in cycles, and the subgraphs
    # that these call, remain.
    uncalled = [i for i, count in enumerate(callers) if count == 0]
    checked = 0
    while uncalled:
        checked += 1
        for target in calls[uncalled.pop()]:
            callers[target] -= 1
            if callers[target] == 0:
                uncalled.append(target)
    if checked < len(subgraphs):
        repeated = next(i for i, count in enumerate(callers) if count)
        raise malformed(f"Subgraph {repeated}", "operators", "the subgraph is called from within itself")


def _called(op: Op) -> Iterator[tuple[str, int]]:
    """Yield (name of the option, index of the subgraph) for each subgraph that ``op`` calls."""
    for key, value in op.options.items():
        if key.endswith("subgraph_index") or (key == "subgraph" and op.name == "CALL"):
            yield key, value
        elif key == "branch_subgraph_indices":
            yield from ((key, v) for v in value or ())
