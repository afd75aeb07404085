"""Find bodies that a graph repeats: copies of the same operators on the same constants, where each copy continues with
the results of the one before it. An unrolled recurrent layer is such a body, with one copy per time step.

The search begins with a layer whose copies depend on each other, and adds operators as long as every copy has them. A
*lane* has the copies of one operator, one per step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.topological_order import topological_order
from arenite.converters.passes.loops.contiguous_view import View, views_of
from arenite.converters.passes.loops.operator_order import operators_before
from arenite.converters.passes.producers import producers
from arenite.converters.passes.prune import EFFECTS

#: A body that is repeated fewer times is not worth a loop.
MIN_STEPS = 4

#: The operators with weights with which the search begins, and the position of the weights among their inputs.
_ANCHORS = {"FULLY_CONNECTED": 1, "CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "BATCH_MATMUL": 1}

#: Operators that cannot be part of a body, because they use state or call other subgraphs, or because their effects
#: are unknown.
NOT_REPEATED = EFFECTS | {"VAR_HANDLE", "READ_VARIABLE", "LOOP"}


@dataclass(frozen=True)
class BodyInput:
    """The input of an operator of a body.

    Kinds:
        absent   an optional input that is absent
        lane     the output ``output`` of the operator ``lane`` of the body, in the same step
        carried  the same output in the step before; in the first step, the tensor ``tensor``
        same     the tensor ``tensor`` in every step: a constant or a tensor that is computed before the loop
        slice    the bytes of ``tensor`` from ``start + step * stride`` on
    """

    kind: str
    lane: int = -1
    output: int = 0
    tensor: int = -1
    start: int = 0
    stride: int = 0


@dataclass(frozen=True)
class RepeatedBody:
    """A body and its copies.

    ``lanes[k][t]`` is the operator of the graph that is operator ``k`` of the body in step ``t``. An operator of the
    body comes after the operators whose outputs it reads. ``inputs[k][p]`` is input ``p`` of operator ``k``.
    """

    lanes: tuple[tuple[int, ...], ...]
    inputs: tuple[tuple[BodyInput, ...], ...]

    @property
    def steps(self) -> int:
        """The number of copies."""
        return len(self.lanes[0])

    @cached_property
    def ops(self) -> frozenset[int]:
        """The operators of all copies."""
        return frozenset(k for lane in self.lanes for k in lane)


def find_repeated_bodies(graph: Subgraph) -> tuple[RepeatedBody, ...]:
    """Return the repeated bodies of ``graph``. No operator is in two of them. The result for the last graphs is
    stored, because the search takes seconds in a graph with thousands of steps, and many functions need it."""
    for known, bodies in _last_results:
        if known is graph:
            return bodies
    _last_results.append((graph, _search(graph)))
    return _last_results[-1][1]


#: The graphs that were searched last, and their bodies.
_last_results: deque[tuple[Subgraph, tuple[RepeatedBody, ...]]] = deque(maxlen=4)


def _search(graph: Subgraph) -> tuple[RepeatedBody, ...]:
    """Return the repeated bodies. Longer chains are tried first, and an operator is in one body only."""
    index = _GraphIndex(graph)
    bodies: list[RepeatedBody] = []
    used: set[int] = set()
    for chain in index.chains():
        if not used.isdisjoint(chain):
            continue
        body = _BodySearch(index, used).grow(chain)
        if body is not None and not _have_order(graph, [*bodies, body]):
            # The new body and an earlier body need results of each other. The operators that depend on earlier bodies
            # can stay outside of the new body, so search again without them.
            mask = sum(1 << k for k in used)
            readers = {k for k in body.ops if index.ancestors()[k] & mask}
            body = None if readers.intersection(chain) else _BodySearch(index, used | readers).grow(chain)
        if body is not None and _have_order(graph, [*bodies, body]):
            bodies.append(body)
            used |= body.ops
    return tuple(bodies)


def _have_order(graph: Subgraph, bodies: Sequence[RepeatedBody]) -> bool:
    """Return whether all steps of each body can run without an operator outside of the body in between: the bodies and
    the other operators can be sorted so that each comes after everything on which it depends."""
    node_of = {k: node for node, body in enumerate(bodies) for k in body.ops}
    for op in graph.ops:
        node_of.setdefault(op.index, len(bodies) + op.index)
    before: list[set[int]] = [set() for _ in range(len(bodies) + len(graph.ops))]
    for k, earlier in enumerate(operators_before(graph.ops)):
        before[node_of[k]].update({node_of[j] for j in earlier} - {node_of[k]})
    return len(topological_order(before, range(len(before)))) == len(before)


class _GraphIndex:
    """Answers the search's questions about a graph: producers, readers, ancestors, and which operators are alike."""

    def __init__(self, graph: Subgraph) -> None:
        self.graph = graph
        self.producer = producers(graph)
        self.readers: dict[int, list[tuple[int, int]]] = {}  # tensor -> (operator, input position)
        for op in graph.ops:
            for position, i in enumerate(op.inputs):
                self.readers.setdefault(i, []).append((op.index, position))
        self._contents: dict[int, tuple[Any, ...]] = {}
        self.kinds = [self._kind(op) for op in graph.ops]
        self._views: dict[int, list[View]] = {}
        self._ancestors: list[int] | None = None

    def _kind(self, op: Op) -> str | None:
        """Return a text that is equal for operators that differ only in their inputs' values. Return None for an
        operator that cannot be part of a body."""
        tensors = self.graph.tensors
        if (
            op.name in NOT_REPEATED
            or op.intermediates
            or any(i >= 0 and tensors[i].is_variable for i in op.inputs)
        ):
            return None
        shapes = [
            None if i < 0 else (tensors[i].shape, tensors[i].dtype, tensors[i].quant)
            for i in (*op.inputs, None, *op.outputs)
            if i is not None
        ]
        options = sorted((k, repr(v)) for k, v in op.options.items())
        return repr((op.name, op.custom_code, op.custom_options, options, len(op.inputs), shapes))

    def content(self, tensor: int) -> tuple[Any, ...]:
        """Return a value that is equal for constants with equal values, types and quantization."""
        if tensor not in self._contents:
            t = self.graph.tensors[tensor]
            assert t.data is not None
            self._contents[tensor] = t.shape, t.dtype, t.quant, t.stored, t.data.tobytes()
        return self._contents[tensor]

    def is_constant(self, tensor: int) -> bool:
        return tensor >= 0 and self.graph.tensors[tensor].data is not None

    def views(self, tensor: int) -> list[View]:
        if tensor not in self._views:
            self._views[tensor] = views_of(self.graph, self.producer, tensor)
        return self._views[tensor]

    def ancestors(self) -> list[int]:
        """Return the operators on which each operator depends, and itself, as a bit mask."""
        if self._ancestors is None:
            masks: list[int] = []
            for op in self.graph.ops:
                mask = 1 << op.index
                for i in op.inputs:
                    if i in self.producer:
                        mask |= masks[self.producer[i].index]
                masks.append(mask)
            self._ancestors = masks
        return self._ancestors

    def chains(self) -> list[tuple[int, ...]]:
        """Return the chains of operators with equal weights in which each operator depends on the one before it. Longer
        chains come first."""
        alike: dict[tuple[Any, ...], list[int]] = {}
        for op in self.graph.ops:
            weights = _ANCHORS.get(op.name)
            kind = self.kinds[op.index]
            if weights is None or kind is None or not self.is_constant(op.input(weights)):
                continue
            constants = tuple(self.content(i) if self.is_constant(i) else () for i in op.inputs[weights:])
            alike.setdefault((kind, constants), []).append(op.index)
        chains = []
        for members in alike.values():
            while len(members) >= MIN_STEPS:
                chain = self._chain(members)
                if len(chain) >= MIN_STEPS:
                    chains.append(tuple(chain))
                members = [k for k in members if k not in chain]
        return sorted(chains, key=lambda c: (-len(c), c))

    def _chain(self, members: Sequence[int]) -> list[int]:
        """Return a chain that begins with the first of ``members``."""
        chain = [members[0]]
        ancestors = self.ancestors()
        for k in members[1:]:
            if ancestors[k] >> chain[-1] & 1:
                chain.append(k)
        return chain

    def are_alike(self, one: int, other: int) -> bool:
        """Return whether two operators can be copies of each other: they have the same kind, and equal constants where
        both have constants."""
        if self.kinds[one] is None or self.kinds[one] != self.kinds[other]:
            return False
        pairs = zip(self.graph.ops[one].inputs, self.graph.ops[other].inputs, strict=True)
        return all(
            self.content(a) == self.content(b)
            for a, b in pairs
            if self.is_constant(a) and self.is_constant(b)
        )


class _BodySearch:
    """The search for one body. ``used`` are operators that belong to other bodies."""

    def __init__(self, index: _GraphIndex, used: Iterable[int]) -> None:
        self._index, self._graph = index, index.graph
        self._used = frozenset(used)
        self._lanes: list[tuple[int, ...]] = []
        self._lane_of: dict[int, tuple[int, int]] = {}  # operator -> (lane, step)

    def grow(self, chain: tuple[int, ...]) -> RepeatedBody | None:
        """Return the body whose copies have the operators of ``chain``, or None if there is none."""
        self._add(chain)
        inputs: dict[int, list[BodyInput]] = {}
        k = 0
        # Operators that read the body come first, so that carried values are known.
        while k < len(self._lanes):
            self._extend(k)
            k += 1
        unresolved = list(range(len(self._lanes)))
        while unresolved:
            lane = unresolved.pop(0)
            for position in range(len(self._op(lane, 0).inputs)):
                if self._input(lane, position) is None and self._add_producers(lane, position):
                    first_new = len(self._lanes) - 1
                    new = first_new
                    while new < len(self._lanes):
                        self._extend(new)
                        new += 1
                    unresolved += range(first_new, new)
        remaining = set(range(len(self._lanes)))
        # Leave out operators with an input that differs from step to step, and the operators that read their outputs.
        while True:
            inputs = {lane: self._inputs(lane, remaining) for lane in remaining}
            broken = {lane for lane in remaining if None in inputs[lane]}
            if not broken:
                break
            remaining -= broken
        if 0 not in remaining or not any(i.kind == "carried" for row in inputs.values() for i in row):
            return None
        return self._body(sorted(remaining), inputs)

    def _op(self, lane: int, step: int) -> Op:
        return self._graph.ops[self._lanes[lane][step]]

    def _add(self, lane: tuple[int, ...]) -> None:
        self._lane_of |= {k: (len(self._lanes), step) for step, k in enumerate(lane)}
        self._lanes.append(lane)

    def _is_free(self, lane: Sequence[int]) -> bool:
        """Return whether the operators of ``lane`` are copies of each other that no body has yet."""
        return (
            len(set(lane)) == len(lane)
            and self._used.isdisjoint(lane)
            and not any(k in self._lane_of for k in lane)
            and all(self._index.are_alike(lane[-1], k) for k in lane)
        )

    def _extend(self, lane: int) -> None:
        """Add the operators that read an output of ``lane`` in every step."""
        for output in range(len(self._op(lane, 0).outputs)):
            readers = [
                self._index.readers.get(self._graph.ops[k].outputs[output], []) for k in self._lanes[lane]
            ]
            for k, position in readers[1]:
                alike = [
                    [
                        o
                        for o, p in row
                        if p == position and o not in self._lane_of and self._index.are_alike(k, o)
                    ]
                    for row in readers
                ]
                # If a tensor has several alike readers, the lane has the reader with the same rank in every step.
                rank = alike[1].index(k) if k in alike[1] else len(self._graph.ops)
                if all(len(row) > rank for row in alike):
                    candidate = tuple(row[rank] for row in alike)
                    if self._is_free(candidate):
                        self._add(candidate)

    def _add_producers(self, lane: int, position: int) -> bool:
        """Add the operators that compute an input of ``lane``, if they are copies of each other. Return whether they
        are."""
        tensors = [self._graph.ops[k].inputs[position] for k in self._lanes[lane]]
        ops = [self._index.producer.get(i) for i in tensors]
        if any(op is None for op in ops):
            return False
        candidate = tuple(op.index for op in ops if op is not None)
        outputs = {op.outputs.index(i) for op, i in zip(ops, tensors, strict=True) if op is not None}
        if len(outputs) != 1 or not self._is_free(candidate):
            return False
        self._add(candidate)
        return True

    def _input(self, lane: int, position: int) -> BodyInput | None:
        """Return what input ``position`` of ``lane`` reads, or None if that differs from step to step."""
        tensors = [self._graph.ops[k].inputs[position] for k in self._lanes[lane]]
        index = self._index
        if set(tensors) == {-1}:
            return BodyInput("absent")
        if len(set(tensors)) == 1:
            return BodyInput("same", tensor=tensors[0])
        if all(map(index.is_constant, tensors)):
            equal = all(index.content(i) == index.content(tensors[0]) for i in tensors)
            return BodyInput("same", tensor=tensors[0]) if equal else None
        return (
            self._computed(tensors, "lane")
            or self._computed(tensors[1:], "carried", tensors[0])
            or self._slices(tensors)
        )

    def _computed(self, tensors: Sequence[int], kind: str, first: int = -1) -> BodyInput | None:
        """Return an input of ``kind`` if one lane computes ``tensors[0]`` in step 0, ``tensors[1]`` in step 1 and so
        on, otherwise None. ``first`` is the tensor that a carried value begins with."""
        places = set()
        for step, i in enumerate(tensors):
            op = self._index.producer.get(i)
            lane, at = self._lane_of.get(op.index, (-1, -1)) if op is not None else (-1, -1)
            if op is None or at != step:
                return None
            places.add((lane, op.outputs.index(i)))
        if len(places) != 1:
            return None
        lane, output = places.pop()
        return BodyInput(kind, lane, output, first)

    def _slices(self, tensors: Sequence[int]) -> BodyInput | None:
        """Return an input of the kind ``slice`` if ``tensors`` are parts of one tensor at equal distances, otherwise
        None."""
        chains = [self._index.views(i) for i in tensors]
        shared = set.intersection(*({v.source for v in chain} for chain in chains))
        for view in reversed(chains[0]):
            if view.source not in shared:
                continue
            starts = [next(v.start for v in chain if v.source == view.source) for chain in chains]
            stride = starts[1] - starts[0]
            if all(b - a == stride for a, b in pairwise(starts)):
                return BodyInput("slice", tensor=view.source, start=starts[0], stride=stride)
        return None

    def _inputs(self, lane: int, remaining: set[int]) -> list[Any]:
        """Return the inputs of ``lane``, with None for an input that no operator of ``remaining`` computes."""
        rows = [self._input(lane, p) for p in range(len(self._op(lane, 0).inputs))]
        return [
            None if i is not None and i.kind in ("lane", "carried") and i.lane not in remaining else i
            for i in rows
        ]

    def _body(self, remaining: list[int], inputs: dict[int, list[BodyInput]]) -> RepeatedBody | None:
        """Return the body of the lanes ``remaining``, or None if a value from outside depends on the body."""
        order = sorted(remaining, key=lambda lane: self._lanes[lane][1])
        number = {lane: k for k, lane in enumerate(order)}
        rows = tuple(
            tuple(
                replace(i, lane=number[i.lane]) if i.kind in ("lane", "carried") else i for i in inputs[lane]
            )
            for lane in order
        )
        body = RepeatedBody(tuple(self._lanes[lane] for lane in order), rows)
        mask = sum(1 << k for k in body.ops)
        outside = {i.tensor for row in rows for i in row if i.tensor in self._index.producer}
        if any(self._index.ancestors()[self._index.producer[i].index] & mask for i in outside):
            return None
        return body
