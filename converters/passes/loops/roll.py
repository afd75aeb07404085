"""Replace the copies of repeated bodies by LOOP operators. No byte of any output changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.loop import LOOP, Loop, LoopPart
from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.passes.loops.contiguous_view import offset_in_output
from arenite.converters.passes.loops.operator_order import sort_operators
from arenite.converters.passes.loops.repeated_body import BodyInput, RepeatedBody, find_repeated_bodies
from arenite.converters.passes.producers import readers, with_ops
from arenite.converters.passes.prune import live_ops
from arenite.converters.tflite.verifier import defaults_of


def roll_loops(model: Model) -> tuple[Model, tuple[str, ...]]:
    """Return the model with a LOOP in place of the copies of each repeated body, and a sentence for each LOOP. If the
    main subgraph has no repeated body, the model itself is returned."""
    bodies = find_repeated_bodies(model.main)
    if not bodies:
        return model, ()
    draft = _Draft(model.main)
    notes = []
    for body in bodies:
        draft.roll(body)
        first, last = min(body.ops), max(body.ops)
        notes.append(
            f"Operators {first} {model.main.ops[first].name} to {last} {model.main.ops[last].name} have "
            f"{body.steps} copies of {len(body.lanes)} operators: they became a loop."
        )
    main = replace(model.main, tensors=tuple(draft.tensors), ops=tuple(sort_operators(draft.ops())))
    ops = live_ops(main)
    return with_ops(model.with_main(main), ops), tuple(notes)


class _Draft:
    """A copy of the main subgraph in which bodies are replaced."""

    def __init__(self, graph: Subgraph) -> None:
        self._graph = graph
        self.tensors = list(graph.tensors)
        self._removed: set[int] = set()
        self._added: list[Op] = []
        self._readers = readers(graph)

    def ops(self) -> list[Op]:
        return [op for op in self._graph.ops if op.index not in self._removed] + self._added

    def roll(self, repeated: RepeatedBody) -> None:
        """Replace the copies of ``repeated`` by a LOOP, which has the index of the last operator of the copies."""
        index = max(repeated.ops)
        body = _BodyBuilder(self._graph, repeated)
        sequences: list[LoopPart] = []
        finals: list[LoopPart] = []
        outputs: list[int] = []

        def add(parts: list[LoopPart], inner: int, tensor: int, start: int = 0, stride: int = 0) -> None:
            """Let ``tensor`` be an output of LOOP that holds the body's tensor ``inner`` (see ``LoopPart``)."""
            parts.append(LoopPart(inner, len(outputs), start, stride))
            outputs.append(tensor)
            body.outputs.append(inner)

        for lane in range(len(repeated.lanes)):
            for output in range(len(self._graph.ops[repeated.lanes[lane][0]].outputs)):
                tensors = [self._graph.ops[k].outputs[output] for k in repeated.lanes[lane]]
                inner = body.output(lane, output)
                uses = [self._outside_readers(i, repeated) for i in tensors]
                joined = self._find_join(tensors, uses)
                if joined is not None:
                    op, start, stride = joined
                    self._removed.add(op.index)
                    add(sequences, inner, op.outputs[0], start, stride)
                    uses = [[k for k in row if k != op.index] for row in uses]
                if uses[-1]:
                    add(finals, inner, tensors[-1])
                if any(uses[:-1]):
                    size = self._graph.tensors[tensors[0]].nbytes
                    sequence = self._sequence(tensors, [bool(u) for u in uses[:-1]], index)
                    add(sequences, inner, sequence, 0, size)
        self._removed |= repeated.ops
        loop = Loop(
            body.subgraph(),
            repeated.steps,
            tuple(body.initial),
            tuple(body.slices),
            tuple(sequences),
            tuple(body.carried),
            tuple(finals),
        )
        self._added.append(Op(index, LOOP, tuple(body.inputs), tuple(outputs), {"loop": loop}))

    def _outside_readers(self, tensor: int, repeated: RepeatedBody) -> list[int]:
        """Return the operators outside of the body that read ``tensor``. If it is an output of the graph, add -1."""
        outside = [k for k in self._readers.get(tensor, ()) if k not in repeated.ops]
        return outside + [-1] * (tensor in self._graph.outputs)

    def _find_join(self, tensors: Sequence[int], uses: Sequence[Sequence[int]]) -> tuple[Op, int, int] | None:
        """Return the CONCATENATION or PACK that joins exactly ``tensors``, and where its output has
        the value of each step: the first byte of step 0, and the distance of two steps in bytes. Return None if
        there is none. ``uses`` has the readers of each tensor."""
        for k in set.intersection(*map(set, uses)) - {-1}:
            op = self._graph.ops[k]
            if sorted(op.inputs) != sorted(tensors) or k in self._removed:
                continue
            starts = [offset_in_output(self._graph, op, op.inputs.index(i)) for i in tensors]
            known = [s for s in starts if s is not None]
            if len(known) == len(starts) and len(set(np.diff(known))) == 1:
                return op, known[0], known[1] - known[0]
        return None

    def _sequence(self, tensors: Sequence[int], used: Sequence[bool], index: int) -> int:
        """Add a tensor with the values of all steps, and operators that take from it the tensors of the steps that are
        ``used``. Return the new tensor."""
        template = self._graph.tensors[tensors[0]]
        sequence = self._tensor(
            replace(template, name=f"{template.name}/steps", shape=(len(tensors), template.elements))
        )
        for step, is_used in enumerate(used):
            if is_used:
                row = self._tensor(
                    replace(template, name=f"{template.name}/step_{step}", shape=(1, template.elements))
                )
                begin, size = (self._shape(v) for v in ((step, 0), (1, template.elements)))
                self._added.append(Op(index, "SLICE", (sequence, begin, size), (row,), {}, "SliceOptions"))
                shape = self._shape(template.shape)
                options = defaults_of("ReshapeOptions")
                self._added.append(
                    Op(index, "RESHAPE", (row, shape), (tensors[step],), options, "ReshapeOptions")
                )
        return sequence

    def _shape(self, values: Sequence[int]) -> int:
        """Add a constant with ``values``, and return its index."""
        data = np.asarray(values, np.int32)
        data.flags.writeable = False
        return self._tensor(Tensor(0, "loop_shape", data.shape, "int32", data=data))

    def _tensor(self, t: Tensor) -> int:
        """Add a tensor like ``t``, and return its index."""
        self.tensors.append(replace(t, index=len(self.tensors)))
        return len(self.tensors) - 1


class _BodyBuilder:
    """Builds the subgraph of a body from its second copy. The first copy may have constants as its initial values."""

    def __init__(self, graph: Subgraph, repeated: RepeatedBody) -> None:
        self._graph, self._repeated = graph, repeated
        self._template = [graph.ops[lane[1]] for lane in repeated.lanes]
        self._tensors: list[Tensor] = []
        #: The tensors of the body, by ("lane", lane, output) or by (input of the body, shape).
        self._inner: dict[Hashable, int] = {}
        self.inputs: list[int] = []  # the tensors of ``graph`` that LOOP reads
        self.outputs: list[int] = []  # the tensors of the body that LOOP copies to its outputs
        self.initial: list[LoopPart] = []
        self.slices: list[LoopPart] = []
        self.carried: list[tuple[int, int]] = []
        self._ops: list[Op] = []
        for lane, op in enumerate(self._template):
            for output, i in enumerate(op.outputs):
                self._inner["lane", lane, output] = self._add(graph.tensors[i])
        for k, op in enumerate(self._template):
            rows = repeated.inputs[k]
            inputs = tuple(self._input(row, i) for row, i in zip(rows, op.inputs, strict=True))
            outputs = tuple(self._inner["lane", k, n] for n in range(len(op.outputs)))
            self._ops.append(replace(op, index=k, inputs=inputs, outputs=outputs))

    def output(self, lane: int, output: int) -> int:
        """Return the body's tensor for an output of operator ``lane``."""
        return self._inner["lane", lane, output]

    def subgraph(self) -> Subgraph:
        inputs = [part.inner for part in (*self.initial, *self.slices)]
        outputs = dict.fromkeys([*self.outputs, *(a for a, _ in self.carried)])
        # A value that every step reads and that no step changes must stay in memory for all steps.
        changed = {b for _, b in self.carried}
        outputs |= dict.fromkeys(p.inner for p in self.initial if p.inner not in changed)
        return Subgraph("body", tuple(self._tensors), tuple(self._ops), tuple(inputs), tuple(outputs))

    def _add(self, t: Tensor) -> int:
        self._tensors.append(replace(t, index=len(self._tensors)))
        return len(self._tensors) - 1

    def _input_position(self, tensor: int) -> int:
        """Return the position of ``tensor`` among the inputs of LOOP."""
        if tensor not in self.inputs:
            self.inputs.append(tensor)
        return self.inputs.index(tensor)

    def _input(self, source: BodyInput, tensor: int) -> int:
        """Return the body's tensor that an operator reads in place of ``tensor``."""
        if source.kind == "absent":
            return -1
        if source.kind == "lane":
            return self._inner["lane", source.lane, source.output]
        t = self._graph.tensors[tensor]
        key: Hashable = source, t.shape
        if key in self._inner:
            return self._inner[key]
        if source.kind == "same" and self._graph.tensors[source.tensor].data is not None:
            self._inner[key] = self._add(self._graph.tensors[source.tensor])
            return self._inner[key]
        inner = self._inner[key] = self._add(replace(t, data=None))
        outer = self._input_position(source.tensor)
        if source.kind == "slice":
            self.slices.append(LoopPart(inner, outer, source.start, source.stride))
            return inner
        self.initial.append(LoopPart(inner, outer))
        if source.kind == "carried":
            self.carried.append((self._inner["lane", source.lane, source.output], inner))
        return inner
