"""Dependencies between operators: by data, and by state that they share without a tensor between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.planner.requirements import OpRequirements

#: Operators that touch state which is not one of their tensors: they keep their order relative to each other.
_BARRIERS = frozenset({"CALL_ONCE"})


def handle_names(graph: Subgraph) -> dict[int, str]:
    """Handle tensor -> name of its resource variable, which may have several handles."""
    return {
        op.outputs[0]: f"{op.options.get('container') or ''}/{op.options.get('shared_name') or ''}"
        for op in graph.ops
        if op.name == "VAR_HANDLE" and op.outputs
    }


def predecessors(graph: Subgraph, ops: Sequence[int], writer: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """Operator -> those that must run before it, direct ones only: the writers of its inputs, and the previous operator
    on each variable that it touches. ``ops`` are those that run, ``writer`` gives each tensor's operator."""
    names = handle_names(graph)
    before = {}
    last: dict[object, int] = {}
    barrier: int | None = None
    for k in ops:
        op = graph.ops[k]
        earlier = {writer[t] for t in op.inputs if t in writer}
        keys: list[object] = []
        for t in (*op.inputs, *op.outputs):
            if t >= 0 and op.name != "VAR_HANDLE":
                tensor = graph.tensors[t]
                if tensor.is_variable or tensor.dtype in ("resource", "variant"):
                    keys.append(names.get(t, t))
        if (keys or op.name in _BARRIERS) and barrier is not None:
            earlier.add(barrier)
        if op.name in _BARRIERS:
            earlier |= set(last.values())
            barrier = k
        earlier |= {last[key] for key in keys if key in last}
        last.update(dict.fromkeys(keys, k))
        before[k] = frozenset(earlier - {k})
    return before


def variable_views(
    graph: Subgraph,
    needs: Sequence[OpRequirements],
    before: Mapping[int, frozenset[int]],
    members: Mapping[int, Sequence[int]],
    persistent: Mapping[str, int],
) -> dict[int, str]:
    """Tensor -> resource variable, for the outputs of READ_VARIABLE that need no copy.

    An output needs no copy where the requirements allow the alias and where, in every order, all its readers run before
    anything that may change the variable again. ``members`` gives, by its first tensor, all tensors with the same
    bytes.
    """
    names = handle_names(graph)
    must: dict[int, set[int]] = {}  # all operators that run before one
    for k, earlier in before.items():
        must[k] = set(earlier).union(*(must[j] for j in earlier))
    views: dict[int, str] = {}
    for k in before:
        op = graph.ops[k]
        name = names.get(op.input(0))
        if op.name != "READ_VARIABLE" or name is None or (0, 0) not in needs[k].alias:
            continue
        tensors = members.get(op.outputs[0], ())
        if not tensors or persistent.get(name) != graph.tensors[op.outputs[0]].nbytes:
            continue
        if any(t in graph.outputs for t in tensors):
            continue
        readers = {j for j in before if set(graph.ops[j].inputs) & set(tensors)}
        changes = [j for j in before if k in must[j] and _may_change(graph, j, name, names)]
        if all(readers <= must[j] for j in changes):
            views.update(dict.fromkeys(tensors, name))
    return views


def _may_change(graph: Subgraph, k: int, name: str, names: Mapping[int, str]) -> bool:
    """Return whether an operator may write the variable: any operator that has its handle, except READ_VARIABLE."""
    op = graph.ops[k]
    handled = any(names.get(t) == name for t in op.inputs)
    return op.name in _BARRIERS or (handled and op.name != "READ_VARIABLE")
