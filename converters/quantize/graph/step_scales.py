"""Give the copies of a repeated body, such as the steps of a recurrent layer, the same types and scales.

Only equal copies can run as a loop (``passes/loops``). One scale for all steps also stores each table and each bias
once. But it must cover the largest values of all steps, so a value to which every step adds (the cell state of an LSTM,
the state of a GRU) has larger rounding errors in every step. Such values get 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.quantize.graph.form_groups import FLOAT, FormGroups, TensorForm
from arenite.converters.quantize.graph.operator_rules import WEIGHTS

#: The operators of which a sum over steps consists.
_SUMS = ("ADD", "SUB")
_TERMS = ("ADD", "SUB", "MUL")


def accumulating_ops(graph: Subgraph) -> frozenset[int]:
    """Return the operators that compute a value to which every step of a repeated body adds."""
    found: set[int] = set()
    for body in find_repeated_bodies(graph):
        names = [graph.ops[lane[0]].name for lane in body.lanes]
        readers: dict[int, set[str]] = {}
        for name, row in zip(names, body.inputs, strict=True):
            for i in row:
                if i.kind == "carried":
                    readers.setdefault(i.lane, set()).add(name)
        # A layer with weights needs the value in 8 bits.
        pending = [k for k, by in readers.items() if names[k] in _SUMS and by.isdisjoint(WEIGHTS)]
        lanes: set[int] = set()
        while pending:
            lane = pending.pop()
            if lane not in lanes:
                lanes.add(lane)
                terms = [i.lane for i in body.inputs[lane] if i.kind == "lane"]
                pending += [term for term in terms if names[term] in _TERMS]
        found |= {k for lane in lanes for k in body.lanes[lane]}
    return frozenset(found)


def share_scales_of_steps(
    graph: Subgraph,
    read: Mapping[tuple[int, int], TensorForm],
    produced: Mapping[int, TensorForm],
    results: Sequence[TensorForm | None],
    groups: FormGroups,
) -> None:
    """Join the forms that the copies of each operator of a repeated body read and produce.

    ``read`` has the forms by (operator, input), ``produced`` those by tensor, and ``results`` those of the graph's
    outputs. If the initial state is an input of the graph and the last state an output, these are joined too, so that a
    program can copy one to the other.
    """
    outputs = dict(zip(graph.outputs, results, strict=True))
    for body in find_repeated_bodies(graph):
        for lane in body.lanes:
            op = graph.ops[lane[0]]
            for position in range(len(op.inputs)):
                _join((read.get((k, position)) for k in lane), groups)
            for output in range(len(op.outputs)):
                _join((produced.get(graph.ops[k].outputs[output]) for k in lane), groups)

        for state in {i for row in body.inputs for i in row if i.kind == "carried"}:
            last = graph.ops[body.lanes[state.lane][-1]].outputs[state.output]
            if state.tensor in graph.inputs and last in outputs:
                _join((produced.get(state.tensor), outputs[last]), groups)


def _join(forms: Iterable[TensorForm | None], groups: FormGroups) -> None:
    """Join ``forms`` if they are integers of one type."""
    present = [form for form in forms if form is not None and form.dtype != FLOAT]
    for form in present[1:]:
        if form.dtype == present[0].dtype:
            groups.join(present[0], form)
