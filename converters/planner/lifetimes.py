"""Compute the arena requirements of a graph, and the lifetimes of all bytes for an order of execution.

Time is counted in steps: step p runs the operator at position p of the order. A tensor lives from the step that writes
it up to and including the last step that reads it. All graph inputs live from step 0, graph outputs live to the end,
and variables live for the whole run. Constants, handles (tensors of type resource) and the outputs of folded operators
(operators that were replaced by constants) take no arena.

Two ways of sharing memory reduce the arena:

* *alias*: an output has the same bytes as an input (RESHAPE). Both tensors are one ``Value``, which lives as long as
  one of them is needed. An alias takes no memory. The output of READ_VARIABLE may be the variable itself if no
  operator changes the variable before the last read of the output.
* *in place*: an output overwrites an input that no later operator reads. Both keep their lifetime and size, but have
  the same address. A chain of values that overwrite each other is one ``Buffer``; its size can fall from step to step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from arenite.converters.graph.model import DTYPES, PACKED_BITS, Op, Subgraph, Tensor
from arenite.converters.planner.precedence import predecessors, variable_views
from arenite.converters.planner.requirements import OpRequirements
from arenite.errors import PlanError


@dataclass(frozen=True)
class Value:
    """Bytes that are computed once: a tensor and every tensor that has the same bytes with another shape."""

    tensors: tuple[int, ...]
    size: int  # rounded up to the alignment, > 0
    writer: int | None  # the operator that computes the value; None for a graph input or a variable
    readers: frozenset[int]  # the operators that read the value
    stays: bool  # whether the value lives to the end, because it is a graph output or a variable
    is_variable: bool  # whether the value is a variable, which shares its memory with no other value


@dataclass(frozen=True)
class ArenaRequirements:
    """The arena requirements of a graph, for any order of its operators. Operators are indices into ``Subgraph.ops``,
    values are indices into ``values``."""

    ops: tuple[int, ...]  # operators that run, in the graph's order
    values: tuple[Value, ...]
    value_of: Mapping[int, int]  # tensor index -> index into values
    outputs_of: Mapping[int, tuple[int, ...]]  # operator -> values that it computes
    inputs_of: Mapping[int, tuple[int, ...]]  # operator -> values that it reads, each listed once
    scratch: Mapping[int, int]  # operator -> scratch bytes, rounded up to the alignment, > 0
    #: operator -> (input position, output position, input value, output value) of every pair whose output may overwrite
    #: the input if the operator is the last that reads the input value
    in_place: Mapping[int, tuple[tuple[int, int, int, int], ...]]
    #: (operator, input position, output position) of every output that is an alias of an input.
    aliases: tuple[tuple[int, int, int], ...]
    before: Mapping[int, frozenset[int]]  # operator -> its direct predecessors, which must run earlier
    persistent: Mapping[str, int]  # resource variable -> bytes, rounded up to the alignment, > 0
    empty: tuple[int, ...]  # tensors of 0 bytes
    #: tensor that is read in place -> its resource variable. The tensor has no entry in ``values``.
    views: Mapping[int, str]


@dataclass(frozen=True)
class Buffer:
    """A block with one address: a chain of values, a scratch or a resource variable.

    ``pieces`` has the size of the block over time, as (first step, end step, bytes). The end step is the first step
    after the piece. Pieces are in order of time, without gaps.
    """

    pieces: tuple[tuple[int, int, int], ...]
    values: tuple[int, ...] = ()
    scratch: int | None = None  # the operator whose scratch this is
    variable: str | None = None  # the resource variable whose memory this is

    @property
    def start(self) -> int:
        return self.pieces[0][0]

    @property
    def end(self) -> int:
        return self.pieces[-1][1]

    @property
    def size(self) -> int:
        return max(size for _, _, size in self.pieces)


def arena_addresses(
    requirements: ArenaRequirements, buffers: Sequence[Buffer], addresses: Sequence[int]
) -> tuple[dict[int, int], dict[int, int], dict[str, int]]:
    """Return the addresses of tensors by index, of scratch by operator and of resource variables by name.

    ``addresses[i]`` is the address of ``buffers[i]``.
    """
    tensors = dict.fromkeys(requirements.empty, 0)
    scratch: dict[int, int] = {}
    variables: dict[str, int] = {}
    for buffer, offset in zip(buffers, addresses, strict=True):
        tensors.update((t, offset) for v in buffer.values for t in requirements.values[v].tensors)
        if buffer.scratch is not None:
            scratch[buffer.scratch] = offset
        if buffer.variable is not None:
            variables[buffer.variable] = offset
    tensors.update((t, variables[name]) for t, name in requirements.views.items())
    return dict(sorted(tensors.items())), scratch, variables


def takes_arena(tensor: Tensor) -> bool:
    """Return whether a tensor takes arena bytes. Raises ``PlanError`` for a computed tensor of a type that cannot be
    planned, such as string or int4."""
    if tensor.is_constant or tensor.dtype in ("resource", "variant"):
        return False
    if DTYPES[tensor.dtype] is None or tensor.dtype in PACKED_BITS:
        raise PlanError(
            f"Tensor {tensor.index} '{tensor.name}' of type {tensor.dtype} cannot be planned.",
            "Convert a model in which only constants have this type.",
        )
    return True


def arena_requirements(
    graph: Subgraph,
    needs: Sequence[OpRequirements],
    *,
    alignment: int,
    persistent: Mapping[str, int] | None = None,
    folded: Collection[int] = (),
    alias: bool = True,
) -> ArenaRequirements:
    """Return the arena requirements of ``graph``.

    ``needs`` has one entry per operator, and ``persistent`` the bytes of each resource variable. ``folded`` are the
    operators whose outputs have become constants. ``alias=False`` gives every tensor its own value. Raises
    ``PlanError`` if ``needs`` does not match the graph, if ``alignment`` (in bytes) is not a power of two, or if the
    graph cannot be planned.
    """
    if len(needs) != len(graph.ops):
        raise PlanError(
            f"There are {len(needs)} requirements for {len(graph.ops)} operators.",
            "Pass one OpRequirements for each operator.",
        )
    if alignment < 1 or alignment & (alignment - 1):
        raise PlanError(f"Alignment {alignment} is not a power of two.", "Use 16.")

    def rounded(size: int) -> int:
        return -(-size // alignment) * alignment

    if any(op.index != p for p, op in enumerate(graph.ops)):
        raise PlanError(
            "The operators are not numbered by position.",
            "Set Op.index to the position in Subgraph.ops after each change of the graph.",
        )
    ops = tuple(op.index for op in graph.ops if op.index not in folded)
    folded_outputs = {t for op in graph.ops if op.index in folded for t in op.outputs}
    writer = {t: k for k in ops for t in graph.ops[k].outputs if t >= 0}
    readers: dict[int, set[int]] = {}
    for k in ops:
        for t in graph.ops[k].inputs:
            readers.setdefault(t, set()).add(k)
    used = sorted({*graph.inputs, *graph.outputs, *writer, *readers} - folded_outputs - {-1})
    placed = [t for t in used if takes_arena(graph.tensors[t])]
    for t in used:
        quoted = f"Tensor {t} '{graph.tensors[t].name}'"
        if t in writer and min(readers.get(t, ()), default=len(graph.ops)) <= writer[t]:
            raise PlanError(f"{quoted} is read before it is written.", "Sort the operators.")
        has_value = t in writer or t in graph.inputs or graph.tensors[t].is_variable
        if t in placed and not has_value:
            raise PlanError(f"{quoted} is read but never written.", "Convert the model again.")

    sized = [t for t in placed if graph.tensors[t].nbytes > 0]
    root, aliases = _alias_roots(graph, needs, ops, set(sized)) if alias else ({}, ())
    members: dict[int, list[int]] = {}
    for t in sized:
        members.setdefault(root.get(t, t), []).append(t)
    before = predecessors(graph, ops, writer)
    views = variable_views(graph, needs, before, members, persistent or {}) if alias else {}
    members = {first: tensors for first, tensors in members.items() if first not in views}
    values: list[Value] = []
    value_of: dict[int, int] = {}
    for first, tensors in members.items():
        value_of.update(dict.fromkeys(tensors, len(values)))
        variable = graph.tensors[first].is_variable
        values.append(
            Value(
                tensors=tuple(tensors),
                size=rounded(graph.tensors[first].nbytes),
                writer=None if variable or first in graph.inputs else writer[first],
                readers=frozenset(k for t in tensors for k in readers.get(t, ())),
                stays=variable or any(t in graph.outputs for t in tensors),
                is_variable=variable,
            )
        )
    inputs_of = {
        k: tuple(dict.fromkeys(value_of[t] for t in graph.ops[k].inputs if t in value_of)) for k in ops
    }
    outputs_of = {
        k: tuple(
            dict.fromkeys(
                v for t in graph.ops[k].outputs if t in value_of and values[v := value_of[t]].writer == k
            )
        )
        for k in ops
    }
    return ArenaRequirements(
        ops=ops,
        values=tuple(values),
        value_of=value_of,
        outputs_of=outputs_of,
        inputs_of=inputs_of,
        scratch={k: rounded(needs[k].scratch) for k in ops if needs[k].scratch > 0},
        in_place={k: _find_in_place_pairs(graph, graph.ops[k], needs[k], values, value_of) for k in ops},
        aliases=aliases,
        before=before,
        persistent={name: rounded(size) for name, size in (persistent or {}).items() if size > 0},
        empty=tuple(t for t in placed if graph.tensors[t].nbytes == 0),
        views=views,
    )


def _tensors_of_pair(op: Op, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the tensors at a pair of (input position, output position) of ``op``."""
    if not 0 <= pair[1] < len(op.outputs) or pair[0] < 0:
        raise PlanError(
            f"The requirements of operator {op.index} {op.name} name input {pair[0]} and output {pair[1]}, which it"
            " does not have.",
            "Correct its OpRequirements.",
        )
    return op.input(pair[0]), op.outputs[pair[1]]


def _alias_roots(
    graph: Subgraph, needs: Sequence[OpRequirements], ops: Sequence[int], sized: set[int]
) -> tuple[dict[int, int], tuple[tuple[int, int, int], ...]]:
    """Return {tensor: first tensor with the same bytes} for every tensor that is an alias, and the (operator, input
    position, output position) of each alias. ``sized`` are the tensors that take arena bytes."""
    root: dict[int, int] = {}
    used = []
    for k in ops:
        for pair in needs[k].alias:
            a, b = _tensors_of_pair(graph.ops[k], pair)
            if not {a, b} <= sized or b in root or graph.tensors[a].nbytes != graph.tensors[b].nbytes:
                continue
            if graph.tensors[a].is_variable or graph.tensors[b].is_variable or b in graph.inputs:
                continue
            root[b] = root.get(a, a)
            used.append((k, *pair))
    return root, tuple(used)


def _find_in_place_pairs(
    graph: Subgraph, op: Op, needs: OpRequirements, values: Sequence[Value], value_of: Mapping[int, int]
) -> tuple[tuple[int, int, int, int], ...]:
    """Return (input position, output position, input value, output value) of every output of ``op`` that may
    overwrite an input if ``op`` is the last reader of the input.

    The operator must declare every position at which it reads the input's bytes as one that this output may overwrite.
    ADD declares both positions, so ADD(x, x) can work in place. A gather that reads one tensor as indices and as data
    cannot, because it does not declare both.
    """
    declared = set(needs.in_place)
    pairs = []
    for i, o in needs.in_place:
        a, b = _tensors_of_pair(op, (i, o))
        if a not in value_of or b not in value_of or value_of[a] == value_of[b]:
            continue
        source, target = values[value_of[a]], values[value_of[b]]
        reads = [p for p, t in enumerate(op.inputs) if value_of.get(t) == value_of[a]]
        if source.stays or target.is_variable or target.writer != op.index:
            continue
        if graph.tensors[b].nbytes > graph.tensors[a].nbytes or not all((p, o) in declared for p in reads):
            continue
        pairs.append((i, o, value_of[a], value_of[b]))
    return tuple(pairs)


def in_place_pairs(
    requirements: ArenaRequirements, op: int, dying: Collection[int], *, prefer_last: bool = False
) -> list[tuple[int, int, int, int]]:
    """Return the pairs of ``ArenaRequirements.in_place`` that ``op`` uses if it is the last reader of the values
    ``dying``.

    Each input is used for at most one output and each output for at most one input. The pairs are chosen so that the
    outputs that need no memory of their own have the most bytes (a matching by augmenting paths, with the largest
    output first). If several inputs are possible, the first declared input is preferred, or the last if ``prefer_last``
    is true.
    """
    candidates: dict[int, list[tuple[int, int, int, int]]] = {}
    for pair in requirements.in_place[op]:
        if pair[2] in dying:
            candidates.setdefault(pair[3], []).insert(0 if prefer_last else len(requirements.values), pair)
    used: dict[int, tuple[int, int, int, int]] = {}  # input value -> the pair that uses it

    def assign_input(output: int, tried: set[int]) -> bool:
        """Find an input for ``output``, if necessary by giving another output another input. Return whether it was
        possible. ``tried`` are the input values that were tried."""
        for pair in candidates[output]:
            if pair[2] not in tried:
                tried.add(pair[2])
                if pair[2] not in used or assign_input(used[pair[2]][3], tried):
                    used[pair[2]] = pair
                    return True
        return False

    for output in sorted(candidates, key=lambda v: -requirements.values[v].size):
        assign_input(output, set())
    return list(used.values())


def value_lifetimes(requirements: ArenaRequirements, order: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first step, end step) of every value. The end step is the first step in which the value no longer
    lives."""
    step = {k: p for p, k in enumerate(order)}
    spans = []
    for value in requirements.values:
        start = 0 if value.writer is None else step[value.writer]
        end = max((step[k] + 1 for k in value.readers), default=start + 1)
        spans.append((start, max(len(order), 1) if value.stays else end))
    return spans


def lifetimes(
    requirements: ArenaRequirements, order: Sequence[int], *, in_place: bool = True, prefer_last: bool = False
) -> tuple[list[Buffer], tuple[tuple[int, int, int], ...]]:
    """Return the buffers for the order ``order`` of operators, and the (operator, input position, output position) of
    each output that overwrites an input.

    With ``in_place=False``, no output overwrites an input. ``prefer_last`` has the same meaning as for
    ``in_place_pairs``.
    """
    step = {k: p for p, k in enumerate(order)}
    horizon = max(len(order), 1)
    spans = value_lifetimes(requirements, order)
    follows: dict[int, int] = {}  # value -> the value that takes its memory
    pairs = []
    if in_place:
        for p, k in enumerate(order):
            dying = {v for v in requirements.inputs_of[k] if spans[v][1] == p + 1}
            for i, o, a, b in in_place_pairs(requirements, k, dying, prefer_last=prefer_last):
                follows[a] = b
                pairs.append((k, i, o))
    buffers = []
    heads = set(range(len(requirements.values))) - set(follows.values())
    for head in sorted(heads):
        chain = [head]
        while chain[-1] in follows:
            chain.append(follows[chain[-1]])
        buffers.append(
            Buffer(_pieces([(*spans[v], requirements.values[v].size) for v in chain]), tuple(chain))
        )
    buffers += [
        Buffer(((step[k], step[k] + 1, size),), scratch=k) for k, size in requirements.scratch.items()
    ]
    buffers += [
        Buffer(((0, horizon, size),), variable=name) for name, size in requirements.persistent.items()
    ]
    return buffers, tuple(pairs)


def _pieces(spans: Sequence[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Return the bytes of a chain of values over time, as ``Buffer.pieces``. ``spans`` has (first step, end step,
    bytes) of each value. In the step in which two values overlap, the size of the earlier value counts, because it is
    not smaller."""
    pieces: list[tuple[int, int, int]] = []
    for start, end, size in spans:
        begin = max(start, pieces[-1][1]) if pieces else start
        if pieces and pieces[-1][2] == size and begin < end:
            pieces[-1] = (pieces[-1][0], end, size)
        elif begin < end:
            pieces.append((begin, end, size))
    return tuple(pieces)
