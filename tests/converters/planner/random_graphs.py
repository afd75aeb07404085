"""Random graphs for the planner: branches, residuals, views, in-place operators, scratch, variables and state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner import OpRequirements


@dataclass(frozen=True)
class Case:
    """Holds the graph and the other arguments of ``plan`` and ``check``. ``persistent`` has the bytes of each
    variable."""

    graph: Subgraph
    needs: tuple[OpRequirements, ...]
    persistent: dict[str, int]
    folded: frozenset[int] = frozenset()


class GraphBuilder:
    """Builds a subgraph operator by operator. Every tensor is int8, so it has as many elements as bytes."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.needs: list[OpRequirements] = []
        self.inputs: list[int] = []
        self.persistent: dict[str, int] = {}

    def tensor(
        self, size: int, *, dtype: str = "int8", variable: bool = False, constant: bool = False
    ) -> int:
        """Add a tensor of ``size`` bytes and return its index."""
        index = len(self.tensors)
        data = np.zeros(size, np.int8) if constant else None
        self.tensors.append(Tensor(index, f"t{index}", (size,), dtype, data=data, is_variable=variable))
        return index

    def input(self, size: int) -> int:
        """Add a graph input and return its index."""
        self.inputs.append(self.tensor(size))
        return self.inputs[-1]

    def op(
        self,
        inputs: tuple[int, ...] | list[int],
        sizes: tuple[int, ...] | list[int],
        *,
        name: str = "CONV_2D",
        needs: OpRequirements | None = None,
        options: Mapping[str, object] | None = None,
        dtype: str = "int8",
    ) -> tuple[int, ...]:
        """Add an operator and outputs of ``sizes`` bytes, and return the outputs."""
        outputs = tuple(self.tensor(size, dtype=dtype) for size in sizes)
        self.ops.append(Op(len(self.ops), name, tuple(inputs), outputs, options or {}))
        self.needs.append(needs or OpRequirements())
        return outputs

    def handle(self, name: str, size: int) -> int:
        """Add a variable of ``size`` bytes, and return the tensor of its handle."""
        self.persistent[f"/{name}"] = size
        options = {"container": "", "shared_name": name}
        return self.op((), (1,), name="VAR_HANDLE", options=options, dtype="resource")[0]

    def case(self, outputs: tuple[int, ...] | list[int], folded: frozenset[int] = frozenset()) -> Case:
        """Return the case with these graph outputs."""
        graph = Subgraph("main", tuple(self.tensors), tuple(self.ops), tuple(self.inputs), tuple(outputs))
        return Case(graph, tuple(self.needs), self.persistent, folded)


@st.composite
def cases(draw: st.DrawFn, max_ops: int = 10, plain: bool = False) -> Case:
    """Draw a random graph. A ``plain`` graph has no views, in-place operators, variables or state."""
    b = GraphBuilder()
    sizes = st.one_of(st.integers(1, 8).map(lambda k: 16 * k), st.integers(0, 200))
    live = [b.input(draw(sizes)) for _ in range(draw(st.integers(1, 3)))]
    live.append(b.tensor(40, constant=True))
    if not plain and draw(st.booleans()):
        live.append(b.tensor(draw(sizes), variable=True))
    handles = []
    if not plain and draw(st.booleans()):
        handles = [b.handle(f"v{n}", draw(sizes)) for n in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(1, max_ops))):
        kinds = (
            ["any", "any", "any"] if plain else ["any", "any", "view", "elementwise", "elementwise", "split"]
        )
        kind = draw(st.sampled_from(kinds + (["read", "assign"] if handles else [])))
        # Prefer recent tensors: this gives chains with branches instead of unrelated operators.
        recent = st.one_of(st.just(live[-1]), st.sampled_from(live[-3:]), st.sampled_from(live[::-1]))
        scratch = draw(st.sampled_from([0, 0, 0, 24, 100]))
        if kind == "view":
            source = draw(recent)
            live += b.op(
                [source], [b.tensors[source].nbytes], name="RESHAPE", needs=OpRequirements(alias=((0, 0),))
            )
        elif kind == "elementwise":
            sources = draw(st.lists(recent, min_size=1, max_size=2))
            size = b.tensors[sources[0]].nbytes
            size = draw(st.sampled_from([size, size, size // 2, size + 16]))
            allowed = draw(st.lists(st.sampled_from(range(len(sources))), unique=True))
            needs = OpRequirements(scratch, in_place=tuple((p, 0) for p in allowed))
            live += b.op(sources, [size], name="ADD", needs=needs)
        elif kind == "split":
            source = draw(recent)
            pairs = draw(st.sampled_from([(), ((0, 0),), ((0, 1),), ((0, 0), (0, 1))]))
            live += b.op(
                [source],
                draw(st.lists(sizes, min_size=2, max_size=3)),
                needs=OpRequirements(0, in_place=pairs),
            )
        elif kind == "read":
            handle = draw(st.sampled_from(handles))
            size = b.persistent[f"/v{handles.index(handle)}"]
            needs = OpRequirements(alias=draw(st.sampled_from([(), ((0, 0),)])))
            live += b.op([handle], [size], name="READ_VARIABLE", needs=needs)
        elif kind == "assign":
            b.op([draw(st.sampled_from(handles)), draw(recent)], [], name="ASSIGN_VARIABLE")
        else:
            sources = draw(st.lists(recent, min_size=1, max_size=3))
            live += b.op([*sources, -1], [draw(sizes)], needs=OpRequirements(scratch))
    produced = [t for op in b.ops for t in op.outputs if b.tensors[t].dtype != "resource"] or b.inputs
    outputs = {produced[-1], *draw(st.lists(st.sampled_from(produced), max_size=2))}
    if not plain and draw(st.integers(0, 5)) == 0:
        outputs.add(b.inputs[0])
    return b.case(sorted(outputs))
