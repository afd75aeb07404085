"""Random graphs with resource variables: a variable is initialized once, read, assigned and read again."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import DTYPES, Op, Subgraph, Tensor
from tests.fuzz.cases import case
from tests.fuzz.graph_builder import GraphBuilder, full_options


def call_once(b: GraphBuilder, name: str, like: Tensor) -> None:
    """Add a CALL_ONCE whose subgraph assigns random constants, or one repeated constant, to the variable ``name``."""
    dtype = DTYPES[like.dtype]
    assert dtype is not None
    if b.rng.random() < 0.5:
        data = np.full(like.shape, b.rng.integers(0, 2) if dtype == np.bool_ else -3).astype(dtype)
    else:
        data = b.rng.integers(0, 2 if dtype == np.bool_ else 100, like.shape).astype(dtype)
    tensors = (
        Tensor(0, "handle", (), "resource"),
        Tensor(1, "initial", like.shape, like.dtype, like.quant, data),
    )
    handle = full_options("VarHandleOptions", {"container": "", "shared_name": name})
    ops = (
        Op(0, "VAR_HANDLE", (), (0,), handle, "VarHandleOptions"),
        Op(1, "ASSIGN_VARIABLE", (0, 1), (), {}, "AssignVariableOptions"),
    )
    b.extra_subgraphs.append(Subgraph(f"init {name}", tensors, ops, (), ()))
    b.op("CALL_ONCE", [], [], "CallOnceOptions", init_subgraph_index=len(b.extra_subgraphs))


def variable(b: GraphBuilder) -> None:
    """Append the operators of a resource variable, some of them only in some graphs."""
    rng = b.rng
    x = b.pick(("int8", "int8", "int16", "int32", "bool", "float32"), [1, 2, 3, 4])
    like = b[x]
    name = f"state{len(b.ops)}"
    initialized = rng.random() < 0.8
    if initialized:
        call_once(b, name, like)
    handle = b.tensor((), "resource")
    b.op("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", shared_name=name)

    def read() -> None:
        """Append a READ_VARIABLE."""
        value = b.tensor(like.shape, like.dtype, like.quant)
        b.op("READ_VARIABLE", [handle], [value], "ReadVariableOptions")

    if initialized and rng.random() < 0.8:
        read()
    if rng.random() < 0.9 or not initialized:
        source = x
        if rng.random() < 0.1:
            dtype = DTYPES[like.dtype]
            source = b.tensor(like.shape, like.dtype, like.quant, np.ones(like.shape, dtype))
        b.op("ASSIGN_VARIABLE", [handle, source], [], "AssignVariableOptions")
    if rng.random() < 0.5 or not initialized:
        read()


case("VAR_HANDLE")(variable)
