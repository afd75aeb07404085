"""Remove operators whose output has exactly the bytes of their input."""

from __future__ import annotations

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.passes.pass_report import PassReport
from arenite.converters.passes.producers import with_ops

#: Operators that can return input 0 unchanged.
_CANDIDATES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "QUANTIZE", "PAD", "CONCATENATION")


def drop_identities(model: Model) -> tuple[Model, PassReport | None]:
    """Return the model without the operators that ``_is_identity`` accepts, and a report. If there are none, return the
    model itself and None."""
    graph = model.main
    identities = {op.index: op for op in graph.ops if _is_identity(graph, op)}
    if not identities:
        return model, None
    renamed = {op.outputs[0]: op.inputs[0] for op in identities.values()}
    notes = tuple(
        f"Identity: layer {op.index} {op.name} returns its input unchanged and is removed."
        for op in identities.values()
    )
    remaining = (op for op in graph.ops if op.index not in identities)
    return with_ops(model, remaining, renamed), PassReport("identities", notes)


def _is_identity(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` returns its input unchanged (with the same shape, type and quantization) and can be
    removed.

    RESHAPE, SQUEEZE, EXPAND_DIMS, PAD and CONCATENATION copy bytes, so they change nothing if the shape is the same.
    QUANTIZE to the same scale multiplies by exactly one. An operator that computes an output of the graph stays.
    """
    if op.name not in _CANDIDATES or len(op.outputs) != 1 or op.outputs[0] in graph.outputs:
        return False
    inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if inp.data is not None or inp.is_variable or out.is_variable:
        return False
    if op.name == "QUANTIZE" and inp.dtype != "int8":
        return False
    if op.name == "CONCATENATION" and len(op.inputs) != 1:
        return False
    return (inp.shape, inp.dtype, inp.quant) == (out.shape, out.dtype, out.quant)
