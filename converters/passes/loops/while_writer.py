"""Write LOOP operators as the operator WHILE of TFLite, so that stock LiteRT runs them.

WHILE has two subgraphs. The first says whether there is a next step. The second is the body: it takes the parts of the
sequences that belong to its step, runs the operators of the LOOP, and writes the results into the sequences of results.
Its variables are the number of the step, the sequences, the values that are carried from step to step, the sequences of
results, and results of the last step. The size of the file does not depend on the number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from arenite.converters.graph.loop import Loop, LoopPart, loop_of
from arenite.converters.graph.model import DTYPES, Model, Op, Quantization, Subgraph, Tensor
from arenite.converters.passes.producers import with_ops
from arenite.converters.tflite.verifier import defaults_of


def has_loops(model: Model) -> bool:
    """Return whether the main subgraph has a LOOP."""
    return any(loop_of(op) is not None for op in model.main.ops)


def write_while(model: Model) -> Model:
    """Return the model with a WHILE and two subgraphs in place of each LOOP. Other subgraphs are left out.

    ``read_while`` makes the LOOP operators again.
    """
    tensors = list(model.main.tensors)
    main = _GraphWriter(tensors)
    subgraphs: list[Subgraph] = []
    for op in model.main.ops:
        loop = loop_of(op)
        if loop is None:
            main.ops.append(op)
        else:
            subgraphs += _LoopWriter(main, op, loop).write(1 + len(subgraphs))
    graph = replace(model.main, tensors=tuple(main.tensors), ops=())
    written = with_ops(replace(model, subgraphs=(graph,)), main.ops)
    return replace(written, subgraphs=(*written.subgraphs, *subgraphs))


class _GraphWriter:
    """The tensors and operators of a subgraph that is being written. A method that adds a tensor returns its index."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        self.ops: list[Op] = []

    def add(self, t: Tensor) -> int:
        self.tensors.append(replace(t, index=len(self.tensors)))
        return len(self.tensors) - 1

    def constant(self, name: str, data: np.ndarray, quant: Quantization | None = None) -> int:
        data.flags.writeable = False
        return self.add(Tensor(0, name, data.shape, str(data.dtype), quant, data))

    def ints(self, name: str, *values: int) -> int:
        return self.constant(name, np.asarray(values, np.int32))

    def computed(self, template: Tensor, name: str, shape: Sequence[int]) -> int:
        """Add a computed tensor with the type and quantization of ``template``."""
        return self.add(
            replace(
                template, name=name, shape=tuple(shape), shape_signature=None, data=None, is_variable=False
            )
        )

    def op(self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: str = "") -> None:
        values = defaults_of(options) if options else {}
        self.ops.append(Op(len(self.ops), name, tuple(inputs), tuple(outputs), values, options))

    def reshape(self, source: int, name: str, shape: Sequence[int]) -> int:
        out = self.computed(self.tensors[source], name, shape)
        self.reshape_to(source, out)
        return out

    def reshape_to(self, source: int, out: int) -> None:
        shape = self.ints("shape", *self.tensors[out].shape)
        self.op("RESHAPE", (source, shape), (out,), "ReshapeOptions")


class _LoopWriter:
    """Writes one LOOP. ``main`` is the subgraph that has it."""

    def __init__(self, main: _GraphWriter, op: Op, loop: Loop) -> None:
        self._main, self._op, self._loop = main, op, loop
        self._body = _GraphWriter(list(loop.body.tensors))
        self._step = self._body.add(_STEP)
        #: The variables: (tensor of ``main`` before the loop and after it, tensor of the body before a step and after).
        self._variables: list[tuple[int, int, int, int]] = []

    def write(self, first: int) -> tuple[Subgraph, Subgraph]:
        """Add the WHILE to the main subgraph, and return its subgraphs, which get the indices ``first`` and
        ``first + 1``."""
        loop, main, body = self._loop, self._main, self._body
        after = body.add(replace(_STEP, name="loop/next_step"))
        start = main.ints("loop/first_step", 0)
        self._variables.append((start, main.add(_STEP), self._step, after))
        slices = [self._slice(part) for part in loop.slices]
        for slice_ops in slices:
            body.ops += slice_ops
        body.ops += loop.body.ops
        results = [self._sequence(part) for part in loop.sequences]
        self._states()
        body.op("ADD", (self._step, body.ints("loop/one", 1)), (after,), "AddOptions")
        before, outputs, inner, inner_after = zip(*self._variables, strict=True)
        options = {"cond_subgraph_index": first, "body_subgraph_index": first + 1}
        main.ops.append(Op(self._op.index, "WHILE", before, outputs, options, "WhileOptions"))
        for flat, outer in results:
            main.reshape_to(flat, outer)
        ops = tuple(replace(op, index=k) for k, op in enumerate(body.ops))
        return self._condition(inner), Subgraph("body", tuple(body.tensors), ops, inner, inner_after)

    def _condition(self, variables: Sequence[int]) -> Subgraph:
        """Return the subgraph that says whether there is a next step."""
        graph = _GraphWriter([])
        inputs = [graph.add(self._body.tensors[i]) for i in variables]
        is_next = graph.add(Tensor(0, "loop/has_next_step", (1,), "bool"))
        graph.op("LESS", (inputs[0], graph.ints("loop/steps", self._loop.steps)), (is_next,), "LessOptions")
        return Subgraph("condition", tuple(graph.tensors), tuple(graph.ops), tuple(inputs), (is_next,))

    def _slice(self, part: LoopPart) -> list[Op]:
        """Return the operators that take ``part`` from its sequence, which becomes a variable that does not change."""
        body, t = self._body, self._body.tensors[part.inner]
        outer = self._main.tensors[self._op.inputs[part.outer]]
        start, stride = part.start // t.itemsize, part.stride // t.itemsize
        row = gcd(start, stride, t.elements, outer.elements)
        rows = self._main.reshape(outer.index, f"{outer.name}/rows", (outer.elements // row, row))
        sequence = body.computed(t, f"{t.name}/rows", (outer.elements // row, row))
        end = self._main.computed(outer, f"{outer.name}/rows_after", (outer.elements // row, row))
        self._variables.append((rows, end, sequence, sequence))
        ops, body.ops = body.ops, []
        index = self._index(np.arange(start, start + t.elements, row) // row, stride // row)
        picked = body.computed(t, f"{t.name}/picked", (t.elements // row, row))
        body.op("GATHER", (sequence, index), (picked,), "GatherOptions")
        body.reshape_to(picked, part.inner)
        added, body.ops = body.ops, ops
        return added

    def _index(self, first: np.ndarray, stride: int) -> int:
        """Add operators that compute ``first + step * stride``, and return the result: int32, in the shape of
        ``first``."""
        body = self._body
        moved = body.add(replace(_STEP, name="loop/distance"))
        index = body.add(Tensor(0, "loop/index", first.shape, "int32"))
        body.op("MUL", (self._step, body.ints("loop/stride", stride)), (moved,), "MulOptions")
        body.op("ADD", (body.ints("loop/start", *first.tolist()), moved), (index,), "AddOptions")
        return index

    def _sequence(self, part: LoopPart) -> tuple[int, int]:
        """Add operators that write ``part`` into its sequence of results. Return that sequence after the loop as a
        vector, and the tensor of the main subgraph that it becomes."""
        main, body, t = self._main, self._body, self._body.tensors[part.inner]
        outer = main.tensors[self._op.outputs[part.outer]]
        size = (outer.elements,)
        before = main.computed(outer, f"{outer.name}/before", size)
        dtype = DTYPES[t.dtype]
        assert dtype is not None
        zero = main.constant("loop/zero", np.zeros((), dtype), t.quant)
        main.op("FILL", (main.ints("shape", *size), zero), (before,))
        flat = main.computed(outer, f"{outer.name}/vector", size)
        results = body.computed(t, f"{t.name}/results", size)
        results_after = body.computed(t, f"{t.name}/results_after", size)
        vector = body.reshape(part.inner, f"{t.name}/vector", (t.elements,))
        index = self._index(np.asarray([part.start // t.itemsize]), part.stride // t.itemsize)
        body.op("DYNAMIC_UPDATE_SLICE", (results, vector, index), (results_after,))
        self._variables.append((before, flat, results, results_after))
        return flat, outer.index

    def _states(self) -> None:
        """Add a variable for each value that the steps carry or only read, and for each result of the last step."""
        main, body = self._main, self._body
        following = {inner: result for result, inner in self._loop.carried}
        finals = list(self._loop.finals)
        for part in self._loop.initial:
            before = self._op.inputs[part.outer]
            result = following.get(part.inner, part.inner)
            final = next((f for f in finals if f.inner == result), None)
            if final is None:
                after = main.computed(
                    main.tensors[before], f"{main.tensors[before].name}/after", main.tensors[before].shape
                )
            else:
                finals.remove(final)
                after = self._op.outputs[final.outer]
            self._variables.append((before, after, part.inner, result))
        for final in finals:
            t = body.tensors[final.inner]
            dtype = DTYPES[t.dtype]
            assert dtype is not None
            before = main.constant("loop/zeros", np.zeros(t.shape, dtype), t.quant)
            # WHILE needs a tensor before the step for every variable. No operator reads this one.
            unread = body.computed(t, f"{t.name}/before", t.shape)
            self._variables.append((before, self._op.outputs[final.outer], unread, final.inner))


#: The number of the step.
_STEP = Tensor(0, "loop/step", (1,), "int32")
