"""Check what must be true for every model that the reader returns, without the reader's own code."""

from __future__ import annotations

import math

from arenite.converters.graph.model import DTYPES, PACKED_BITS, Model, Op, Subgraph, Tensor

_RANGES = {
    "int2": (-2, 1), "int4": (-8, 7), "int8": (-128, 127), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1), "uint4": (0, 15), "uint8": (0, 255), "uint16": (0, 65535), "uint32": (0, 2**32 - 1),
}  # fmt: skip


def broken_invariants(model: Model) -> str:
    """Return a description of the first invariant that ``model`` breaks, or "" if it breaks none."""
    if not model.subgraphs or not model.signatures:
        return "no subgraph or no signature"
    for signature in model.signatures:
        if not 0 <= signature.subgraph < len(model.subgraphs):
            return "a signature refers to no subgraph"
        count = len(model.subgraphs[signature.subgraph].tensors)
        if any(not 0 <= i < count for _, i in (*signature.inputs, *signature.outputs)):
            return "a signature refers to no tensor"
    for graph in model.subgraphs:
        problem = next(filter(None, map(_tensor_problem, graph.tensors)), "") or _graph_problem(graph)
        if problem:
            return f"subgraph '{graph.name}': {problem}"
    return ""


def _tensor_problem(t: Tensor) -> str:
    """Return the invariant that the tensor breaks, or ""."""
    if t.dtype not in DTYPES or any(d < 0 for d in t.shape) or t.elements >= 2**31 or t.nbytes >= 2**31:
        return f"tensor {t.index}: unknown type, invalid shape or too many elements"
    if t.shape_signature is not None and -1 in t.shape_signature:
        return f"tensor {t.index}: dynamic shape"
    if t.data is not None:
        dtype = DTYPES[t.dtype]
        if t.data.flags.writeable or t.is_variable:
            return f"tensor {t.index}: a constant that can change"
        if dtype is not None and (t.data.dtype != dtype or t.data.shape != t.shape):
            return f"tensor {t.index}: value of another type or shape"
        if (
            dtype is None
            and t.dtype in PACKED_BITS
            and t.data.nbytes != (t.elements * PACKED_BITS[t.dtype] + 7) // 8
        ):
            return f"tensor {t.index}: value of another size"
    q = t.quant
    if q is None:
        return ""
    low, high = _RANGES[t.dtype]
    if len(q.scale) != len(q.zero_point) or not q.scale or any(not low <= z <= high for z in q.zero_point):
        return f"tensor {t.index}: zero points"
    if any(not math.isfinite(s) or s < 0 for s in q.scale) or q.scale == (0.0,):
        return f"tensor {t.index}: scales"
    if len(q.scale) > 1 and not (0 <= q.axis < len(t.shape) and t.shape[q.axis] == len(q.scale)):
        return f"tensor {t.index}: axis"
    return ""


def _graph_problem(graph: Subgraph) -> str:
    """Return the invariant that the subgraph breaks, or ""."""
    count = len(graph.tensors)
    if [t.index for t in graph.tensors] != list(range(count)):
        return "indices of tensors"
    if [o.index for o in graph.ops] != list(range(len(graph.ops))):
        return "indices of operators"
    available = {t.index for t in graph.tensors if t.is_constant or t.is_variable}
    if len(set(graph.inputs)) != len(graph.inputs) or available & set(graph.inputs):
        return "inputs"
    available |= set(graph.inputs)
    for op in graph.ops:
        problem = _op_problem(op, available, count)
        if problem:
            return f"operator {op.index} ({op.name}): {problem}"
        available |= set(op.outputs)
    return "" if set(graph.outputs) <= available else "an output that no operator computes"


def _op_problem(op: Op, available: set[int], count: int) -> str:
    """Return the invariant that the operator breaks, or "". ``available`` has the tensors that already have a value."""
    if any(not -1 <= i < count for i in op.inputs) or any(not 0 <= i < count for i in op.outputs):
        return "tensor indices"
    if not {i for i in op.inputs if i >= 0} <= available:
        return "reads a tensor before it is computed"
    if set(op.outputs) & available or len(set(op.outputs)) != len(op.outputs):
        return "writes a tensor that already has a value"
    for value in op.options.values():
        if not isinstance(value, (bool, int, float, str, bytes, tuple, type(None))):
            return f"an option of type {type(value).__name__}"
        if isinstance(value, float) and not math.isfinite(value):
            return "an option that is not finite"
    return ""
