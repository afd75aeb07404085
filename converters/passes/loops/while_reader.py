"""Make LOOP operators of the WHILE operators that ``while_writer`` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from arenite.converters.graph.loop import LOOP, Loop, LoopPart
from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.passes.loops.repeated_body import NOT_REPEATED
from arenite.converters.passes.producers import producers, reader_counts, with_ops
from arenite.converters.passes.prune import live_ops


def read_while(model: Model) -> Model:
    """Return the model with a LOOP in place of each WHILE that ``write_while`` wrote. Other WHILE operators stay; if
    there are only such operators or none, the model itself is returned."""
    graph = model.main
    if all(op.name != "WHILE" for op in graph.ops):
        return model
    producer, count = producers(graph), reader_counts(graph)
    replaced: dict[int, Op | None] = {}
    for op in graph.ops:
        if op.name == "WHILE":
            condition, body = (
                model.subgraphs[op.options[f"{name}_subgraph_index"]] for name in ("cond", "body")
            )
            try:
                replaced |= _LoopReader(graph, producer, count, op, condition, body).read()
            except _OtherForm:
                continue
    if not replaced:
        return model
    ops = [new for op in graph.ops if (new := replaced.get(op.index, op)) is not None]
    if all(op.name != "WHILE" for op in ops):
        model = replace(model, subgraphs=(graph,))
    main = replace(graph, ops=tuple(ops))
    return with_ops(model.with_main(main), live_ops(main))


class _OtherForm(Exception):
    """The WHILE has a form that ``while_writer`` does not write."""


class _Variable(NamedTuple):
    """A variable of WHILE: its tensors before and after the loop, and before and after a step in the body."""

    before: int
    after: int
    inner: int
    inner_after: int


def _require(condition: bool) -> None:
    """Raise ``_OtherForm`` if ``condition`` is false."""
    if not condition:
        raise _OtherForm


class _LoopReader:
    """Reads one WHILE. ``producer`` has the operator that computes each tensor of the main subgraph ``graph``, and
    ``count`` the number of times that each of its tensors is read."""

    def __init__(
        self,
        graph: Subgraph,
        producer: Mapping[int, Op],
        count: Mapping[int, int],
        op: Op,
        condition: Subgraph,
        body: Subgraph,
    ) -> None:
        rows = (op.inputs, op.outputs, body.inputs, body.outputs)
        _require(len({len(r) for r in rows}) == 1 and len(condition.inputs) == len(op.inputs) > 0)
        self._graph, self._producer, self._count, self._op = graph, producer, count, op
        self._condition, self._body = condition, body
        self._variables = [_Variable(*r) for r in zip(*rows, strict=True)]
        self._body_producer = producers(body)
        self._readers: dict[int, list[Op]] = {}
        for inner in body.ops:
            for i in inner.inputs:
                self._readers.setdefault(i, []).append(inner)
        self._arithmetic: set[int] = set()  # operators of the body that are not part of the LOOP
        self._inputs: list[int] = []
        self._outputs: list[int] = []

    def read(self) -> dict[int, Op | None]:
        """Return the LOOP by the index of the WHILE, and None by the index of each operator that it replaces. Raises
        ``_OtherForm``."""
        graph, body, steps = self._graph, self._body, self._steps()
        initial: list[LoopPart] = []
        slices: list[LoopPart] = []
        sequences: list[LoopPart] = []
        carried: list[tuple[int, int]] = []
        finals: list[LoopPart] = []
        replaced: dict[int, Op | None] = {}
        for v in self._variables[1:]:
            readers = self._readers.get(v.inner, [])
            before, inner, after = graph.tensors[v.before], body.tensors[v.inner], body.tensors[v.inner_after]
            _require(_same(before, inner) and _same(inner, after) and _same(after, graph.tensors[v.after]))
            if v.inner == v.inner_after and readers and all(op.name == "GATHER" for op in readers):
                _require(self._count.get(v.after, 0) == 0)
                slices += [self._slice(v, op, steps) for op in readers]
                continue
            writer = self._body_producer.get(v.inner_after)
            if writer is not None and writer.name == "DYNAMIC_UPDATE_SLICE" and writer.inputs[0] == v.inner:
                _require(len(readers) == 1)
                part, reshape = self._sequence(v, writer, steps)
                sequences.append(part)
                if reshape is not None:
                    replaced[reshape.index] = None
                continue
            if readers or v.inner == v.inner_after:
                initial.append(LoopPart(v.inner, self._input(v.before)))
                if v.inner != v.inner_after:
                    carried.append((v.inner_after, v.inner))
            if self._count.get(v.after, 0):
                _require(v.inner != v.inner_after)
                finals.append(LoopPart(v.inner_after, self._output(v.after)))
        _require(bool(slices) and bool(self._outputs))
        parts = (tuple(initial), tuple(slices), tuple(sequences), tuple(carried), tuple(finals))
        loop = _make_loop(self._body, self._arithmetic, steps, *parts)
        replaced[self._op.index] = Op(
            self._op.index, LOOP, tuple(self._inputs), tuple(self._outputs), {"loop": loop}
        )
        return replaced

    def _steps(self) -> int:
        """Return the number of steps. The first variable counts them."""
        graph, count = self._condition, self._variables[0]
        _require([op.name for op in graph.ops] == ["LESS"] and graph.outputs == graph.ops[0].outputs)
        number, limit = graph.ops[0].inputs
        _require(number == graph.inputs[0] and _values(self._graph.tensors[count.before]) == [0])
        add = self._body_producer.get(count.inner_after)
        _require(add is not None and add.name == "ADD" and add.inputs[0] == count.inner)
        assert add is not None
        _require(_is_plain(add) and _values(self._body.tensors[add.inputs[1]]) == [1])
        _require(self._count.get(count.after, 0) == 0)
        self._arithmetic.add(add.index)
        steps = _values(graph.tensors[limit])
        _require(len(steps) == 1 and steps[0] > 0)
        return steps[0]

    def _input(self, tensor: int) -> int:
        """Return the position of ``tensor`` among the inputs of the LOOP."""
        if tensor not in self._inputs:
            self._inputs.append(tensor)
        return self._inputs.index(tensor)

    def _output(self, tensor: int) -> int:
        self._outputs.append(tensor)
        return len(self._outputs) - 1

    def _index(self, tensor: int) -> tuple[list[int], int]:
        """Return (the values of ``tensor`` in the first step, their difference from step to step)."""
        step = self._variables[0].inner
        add = self._body_producer.get(tensor)
        _require(add is not None and add.name == "ADD")
        assert add is not None
        multiply = self._body_producer.get(add.inputs[1])
        _require(multiply is not None and multiply.name == "MUL" and multiply.inputs[0] == step)
        assert multiply is not None
        _require(_is_plain(add) and _is_plain(multiply))
        stride = _values(self._body.tensors[multiply.inputs[1]])
        _require(len(stride) == 1)
        self._arithmetic |= {add.index, multiply.index}
        return _values(self._body.tensors[add.inputs[0]]), stride[0]

    def _slice(self, v: _Variable, gather: Op, steps: int) -> LoopPart:
        """Return the part of the sequence ``v`` that ``gather`` reads in each step."""
        rows = self._body.tensors[v.inner]
        first, stride = self._index(gather.inputs[1])
        _require(len(rows.shape) == 2 and (gather.options.get("axis") or 0) == 0 and bool(first))
        _require(first == list(range(first[0], first[0] + len(first))))
        ends = [first[0], first[-1], first[0] + (steps - 1) * stride, first[-1] + (steps - 1) * stride]
        _require(min(ends) >= 0 and max(ends) < rows.shape[0])
        readers = self._readers.get(gather.outputs[0], [])
        _require([op.name for op in readers] == ["RESHAPE"] and not gather.options.get("batch_dims"))
        reshape = readers[0]
        part = self._body.tensors[reshape.outputs[0]]
        _require(part.dtype == rows.dtype and part.elements == len(first) * rows.shape[1])
        self._arithmetic |= {gather.index, reshape.index}
        # The rows are a RESHAPE of the sequence.
        outside = self._producer.get(v.before)
        source = outside.inputs[0] if outside is not None and outside.name == "RESHAPE" else v.before
        _require(_same(self._graph.tensors[source], rows))
        row = rows.shape[1] * rows.itemsize
        return LoopPart(reshape.outputs[0], self._input(source), first[0] * row, stride * row)

    def _sequence(self, v: _Variable, writer: Op, steps: int) -> tuple[LoopPart, Op | None]:
        """Return the part of the results ``v`` that ``writer`` writes in each step, and the RESHAPE of the main
        subgraph that is no longer needed (None if there is none)."""
        results = self._body.tensors[v.inner]
        first, stride = self._index(writer.inputs[2])
        reshape = self._body_producer.get(writer.inputs[1])
        _require(len(first) == 1 and len(results.shape) == 1)
        _require(reshape is not None and reshape.name == "RESHAPE")
        assert reshape is not None
        part = self._body.tensors[reshape.inputs[0]]
        _require(part.dtype == results.dtype)
        size = part.elements
        starts = sorted((first[0], first[0] + (steps - 1) * stride))
        _require(starts[0] == 0 and abs(stride) == size and starts[1] + size == results.elements)
        self._arithmetic |= {writer.index, reshape.index}
        readers = [op for op in self._graph.ops if v.after in op.inputs]
        shaped = readers[0] if len(readers) == 1 and self._count.get(v.after) == 1 else None
        if shaped is not None and shaped.name != "RESHAPE":
            shaped = None
        _require(shaped is None or _same(self._graph.tensors[shaped.outputs[0]], results))
        output = self._output(v.after if shaped is None else shaped.outputs[0])
        start, distance = first[0] * results.itemsize, stride * results.itemsize
        return LoopPart(reshape.inputs[0], output, start, distance), shaped


def _same(a: Tensor, b: Tensor) -> bool:
    """Return whether the bytes of ``a`` can be copied to ``b``."""
    return a.dtype == b.dtype and a.nbytes == b.nbytes > 0


def _is_plain(op: Op) -> bool:
    """Return whether ``op`` has no fused activation."""
    return not op.options.get("fused_activation_function")


def _values(t: Tensor) -> list[int]:
    """Return the values of an int32 constant. Raises ``_OtherForm`` for another tensor."""
    _require(t.data is not None and t.dtype == "int32")
    assert t.data is not None
    return [int(n) for n in t.data.reshape(-1)]


def _make_loop(
    body: Subgraph,
    removed: set[int],
    steps: int,
    initial: Sequence[LoopPart],
    slices: Sequence[LoopPart],
    sequences: Sequence[LoopPart],
    carried: Sequence[tuple[int, int]],
    finals: Sequence[LoopPart],
) -> Loop:
    """Return the LOOP whose body has the operators of ``body`` that are not in ``removed``. Raises ``_OtherForm`` if
    one of them reads a tensor that is neither computed in the LOOP nor constant."""
    ops = [op for op in body.ops if op.index not in removed]
    inputs = [part.inner for part in (*initial, *slices)]
    results = [part.inner for part in (*sequences, *finals)]
    known = {*inputs, *(i for op in ops for i in op.outputs)}
    _require(all(op.name not in NOT_REPEATED and not op.intermediates for op in ops))
    _require(not any(body.tensors[i].is_variable for op in ops for i in op.inputs if i >= 0))
    used = {i for op in ops for i in (*op.inputs, *op.outputs) if i >= 0} | {*inputs, *results}
    _require(all(i in known or body.tensors[i].data is not None for i in used))
    _require(all(a in known for a, _ in carried) and len(set(inputs)) == len(inputs))
    new = {old: k for k, old in enumerate(sorted(used))} | {-1: -1}

    def parts(rows: Sequence[LoopPart]) -> tuple[LoopPart, ...]:
        return tuple(part._replace(inner=new[part.inner]) for part in rows)

    changed = {b for _, b in carried}
    # A value that every step reads and that no step changes must stay in memory for all steps.
    outputs = dict.fromkeys(
        [*results, *(a for a, _ in carried), *(p.inner for p in initial if p.inner not in changed)]
    )
    graph = Subgraph(
        "body",
        tuple(replace(body.tensors[old], index=new[old]) for old in sorted(used)),
        tuple(
            replace(
                op,
                index=k,
                inputs=tuple(new[i] for i in op.inputs),
                outputs=tuple(new[i] for i in op.outputs),
            )
            for k, op in enumerate(ops)
        ),
        tuple(new[i] for i in inputs),
        tuple(new[i] for i in outputs),
    )
    pairs = tuple((new[a], new[b]) for a, b in carried)
    return Loop(graph, steps, parts(initial), parts(slices), parts(sequences), pairs, parts(finals))
