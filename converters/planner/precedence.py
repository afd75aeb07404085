"""Find the dependencies between operators: through tensors, and through variables and other state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.graph.resource_variables import handle_names
from arenite.converters.planner.requirements import OpRequirements

#: Operators that may change state that is none of their tensors. An operator that uses state keeps its place before or
#: after them.
_BARRIERS = frozenset({"CALL_ONCE"})


def predecessors(graph: Subgraph, ops: Sequence[int], writer: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """Return the direct predecessors of each operator: the operators that write its inputs, and for each variable
    that it uses the previous operator that uses the variable.

    ``ops`` are the operators that run, in the graph's order. ``writer`` maps a tensor to the operator that writes it.
    """
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
    """Return {output of READ_VARIABLE: name of the resource variable} for each output that needs no copy.

    An output needs no copy if ``needs`` allows the alias and if, in every order, all its readers run before any
    operator that may change the variable. ``before`` has the direct predecessors of each operator. ``members`` maps
    the first of several tensors with the same bytes to all these tensors. ``persistent`` has the bytes of each
    variable.
    """
    names = handle_names(graph)
    ancestors: dict[int, set[int]] = {}  # operator -> all operators that must run before it
    for k, earlier in before.items():
        ancestors[k] = set(earlier).union(*(ancestors[j] for j in earlier))
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
        changes = [j for j in before if k in ancestors[j] and _may_change(graph, j, name, names)]
        if all(readers <= ancestors[j] for j in changes):
            views.update(dict.fromkeys(tensors, name))
    return views


def _may_change(graph: Subgraph, k: int, name: str, names: Mapping[int, str]) -> bool:
    """Return whether operator ``k`` may write the variable ``name``: it has the variable's handle as an input and is
    not READ_VARIABLE, or it is in ``_BARRIERS``."""
    op = graph.ops[k]
    has_handle = any(names.get(t) == name for t in op.inputs)
    return op.name in _BARRIERS or (has_handle and op.name != "READ_VARIABLE")
