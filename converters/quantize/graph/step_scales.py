"""Give the copies of a repeated body, such as the steps of a recurrent layer, the same types and scales.

Only equal copies can run as a loop (``passes/loops``). One scale for all steps also stores each table and each bias
once. But it must cover the largest values of all steps, so a value to which every step adds (the cell state of an LSTM,
the state of a GRU) has larger rounding errors in every step. Such values get 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence

from arenite.converters.graph.model import Subgraph
from arenite.converters.graph.resource_variables import variable_assignments, variable_reads
from arenite.converters.passes.loops.repeated_body import RepeatedBody, find_repeated_bodies
from arenite.converters.passes.producers import producers, readers
from arenite.converters.quantize.graph.form_groups import FLOAT, FormGroups, TensorForm
from arenite.converters.quantize.graph.operator_rules import WEIGHTS

#: The operators that add to a sum in each step, and the operators that compute its terms.
_SUMS = ("ADD", "SUB")
_TERMS = ("ADD", "SUB", "MUL")


def accumulating_ops(graph: Subgraph) -> frozenset[int]:
    """Return the operators that compute a value to which every step of a repeated body adds."""
    accumulating: set[int] = set()
    for body in find_repeated_bodies(graph):
        names = [graph.ops[lane[0]].name for lane in body.lanes]
        readers: dict[
            int, set[str]
        ] = {}  # carried lane -> the names of the operators that read it in the next step
        for name, row in zip(names, body.inputs, strict=True):
            for i in row:
                if i.kind == "carried":
                    readers.setdefault(i.lane, set()).add(name)
        # A layer with weights needs the value in 8 bits.
        pending = [
            k for k, reader_names in readers.items() if names[k] in _SUMS and reader_names.isdisjoint(WEIGHTS)
        ]
        lanes: set[int] = set()
        while pending:
            lane = pending.pop()
            if lane not in lanes:
                lanes.add(lane)
                terms = [i.lane for i in body.inputs[lane] if i.kind == "lane"]
                pending += [term for term in terms if names[term] in _TERMS]
        accumulating |= {k for lane in lanes for k in body.lanes[lane]}
    return frozenset(accumulating | _accumulating_variables(graph))


def _accumulating_variables(graph: Subgraph) -> set[int]:
    """Return the operators that compute the value of a resource variable to which every inference adds."""
    producer, reader = producers(graph), readers(graph)
    reads = variable_reads(graph)
    found: set[int] = set()
    for name, assignments in variable_assignments(graph).items():
        by = {graph.ops[k].name for read in reads.get(name, ()) for k in reader.get(read.outputs[0], ())}
        pending = [producer[op.inputs[1]] for op in assignments if op.inputs[1] in producer]
        if not by or not by.isdisjoint(WEIGHTS) or any(op.name not in _SUMS for op in pending):
            continue
        while pending:
            op = pending.pop()
            if op.index not in found:
                found.add(op.index)
                terms = [producer[i] for i in op.inputs if i in producer]
                pending += [term for term in terms if term.name in _TERMS]
    return found


def share_scales_of_steps(
    graph: Subgraph,
    read: MutableMapping[tuple[int, int], TensorForm],
    produced: Mapping[int, TensorForm],
    results: Sequence[TensorForm | None],
    groups: FormGroups,
) -> dict[TensorForm, TensorForm]:
    """Join the forms that the copies of each operator of a repeated body read and produce.

    ``read`` has the forms by (operator, input), ``produced`` the forms by tensor, and ``results`` the forms of
    the graph's outputs. If the initial state is an input of the graph and the last state an output, both are joined
    too, so that a program can copy the last state of one inference to the initial state of the next inference.

    Return {form that the first step reads: form from which it is converted} for the initial states that must be
    converted in the first step, because the other steps convert the result of the step before.
    """
    converted: dict[TensorForm, TensorForm] = {}
    outputs = dict(zip(graph.outputs, results, strict=True))
    for body in find_repeated_bodies(graph):
        for lane in body.lanes:
            op = graph.ops[lane[0]]
            for position in range(len(op.inputs)):
                _join((read.get((k, position)) for k in lane), groups)
            for output in range(len(op.outputs)):
                _join((produced.get(graph.ops[k].outputs[output]) for k in lane), groups)
        converted |= _converted_states(graph, body, read, produced, groups)
        for state in {i for row in body.inputs for i in row if i.kind == "carried"}:
            last = graph.ops[body.lanes[state.lane][-1]].outputs[state.output]
            if state.tensor in graph.inputs and last in outputs:
                _join((produced.get(state.tensor), outputs[last]), groups)
    return converted


def _converted_states(
    graph: Subgraph,
    body: RepeatedBody,
    read: MutableMapping[tuple[int, int], TensorForm],
    produced: Mapping[int, TensorForm],
    groups: FormGroups,
) -> dict[TensorForm, TensorForm]:
    """Give the first step forms of its own for the states that the other steps convert, and return them with the forms
    from which they are converted."""
    converted = {}
    forms: dict[tuple[TensorForm, TensorForm], TensorForm] = {}
    for lane, rows in zip(body.lanes, body.inputs, strict=True):
        for position, row in enumerate(rows):
            if row.kind != "carried":
                continue
            first, second = (read.get((lane[step], position)) for step in (0, 1))
            result = produced.get(graph.ops[lane[1]].inputs[position])
            if first is None or second is None or result is None or second == result:
                continue
            if FLOAT in (first.dtype, second.dtype, result.dtype):
                continue
            edge = lane[0], position
            if (result, second) not in forms:
                source = groups.add(TensorForm(first.tensor, result.dtype, (*edge, "state")))
                groups.join(result, source)
                own = groups.add(TensorForm(first.tensor, second.dtype, edge))
                groups.join(second, own)
                forms[result, second] = own
                converted[own] = source
            # Operators that read the same form in the other steps also read the same form in the first step.
            read[edge] = forms[result, second]
    return converted


def _join(forms: Iterable[TensorForm | None], groups: FormGroups) -> None:
    """Join ``forms`` if they are integers of one type."""
    present = [form for form in forms if form is not None and form.dtype != FLOAT]
    for form in present[1:]:
        if form.dtype == present[0].dtype:
            groups.join(present[0], form)
