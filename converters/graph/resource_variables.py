"""Find the resource variables of a graph: values that a model keeps from one inference to the next."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph


def resource_name(op: Op) -> str:
    """Return the name that identifies a variable for VAR_HANDLE, READ_VARIABLE and ASSIGN_VARIABLE of all subgraphs."""
    return f"{op.options.get('container') or ''}/{op.options.get('shared_name') or ''}"


def handle_names(graph: Subgraph) -> dict[int, str]:
    """Return the name of the resource variable of each handle tensor. A variable may have several handles."""
    return {op.outputs[0]: resource_name(op) for op in graph.ops if op.name == "VAR_HANDLE" and op.outputs}


def variable_reads(graph: Subgraph) -> dict[str, list[Op]]:
    """Return the READ_VARIABLE operators of each variable, in the order of the graph. Variables that no operator reads
    are left out."""
    return _uses(graph, "READ_VARIABLE")


def variable_assignments(graph: Subgraph) -> dict[str, list[Op]]:
    """Return the ASSIGN_VARIABLE operators of each variable, in the order of the graph. Variables that no operator
    assigns are left out."""
    return _uses(graph, "ASSIGN_VARIABLE")


def _uses(graph: Subgraph, operator: str) -> dict[str, list[Op]]:
    names = handle_names(graph)
    uses: dict[str, list[Op]] = {}
    for op in graph.ops:
        if op.name == operator and op.inputs[0] in names:
            uses.setdefault(names[op.inputs[0]], []).append(op)
    return uses
