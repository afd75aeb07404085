"""Compute operators that do not depend on the model's inputs at conversion time, and remove operators that no output
needs.

The pass replaces by constants the outputs of operators whose inputs are all constant, and of ``SHAPE``, ``RANK`` and
``ZEROS_LIKE``, which depend only on a shape. This removes the shape arithmetic of Keras exports (SHAPE, STRIDED_SLICE,
PACK, RESHAPE) and the dequantization of stored weights. LiteRT's own reference kernels compute the values, so no result
changes. A shape that still depends on the data afterwards is an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Subgraph, Tensor
from arenite.converters.graph.shapes import infer_shapes
from arenite.converters.passes.evaluate_constants import EvaluationError, evaluate
from arenite.converters.passes.prune import EFFECTS, compact, live_ops
from arenite.errors import UnsupportedModelError

#: Operators whose value depends only on the shape of their input.
SHAPE_ONLY = frozenset({"SHAPE", "RANK", "ZEROS_LIKE"})

#: Operators with state, randomness or handles. Their outputs are never known at conversion time.
NEVER_CONSTANT = EFFECTS | {
    "VAR_HANDLE",
    "READ_VARIABLE",
    "HASHTABLE",
    "HASHTABLE_FIND",
    "HASHTABLE_SIZE",
    "HASHTABLE_LOOKUP",
    "RANDOM_UNIFORM",
    "RANDOM_STANDARD_NORMAL",
    "MULTINOMIAL",
    "DELEGATE",
    "PLACEHOLDER_FOR_GREATER_OP_CODES",
}

#: The positions of the inputs whose values determine the shape of an output, by operator.
SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    "ARG_MAX": (1,),
    "ARG_MIN": (1,),
    "BATCH_TO_SPACE_ND": (1, 2),
    "BROADCAST_TO": (1,),
    "EXPAND_DIMS": (1,),
    "FILL": (0,),
    "MEAN": (1,),
    "MIRROR_PAD": (1,),
    "ONE_HOT": (1,),
    "PAD": (1,),
    "PADV2": (1,),
    "RANGE": (0, 1, 2),
    "REDUCE_ALL": (1,),
    "REDUCE_ANY": (1,),
    "REDUCE_MAX": (1,),
    "REDUCE_MIN": (1,),
    "REDUCE_PROD": (1,),
    "RESHAPE": (1,),
    "RESIZE_BILINEAR": (1,),
    "RESIZE_NEAREST_NEIGHBOR": (1,),
    "SLICE": (1, 2),
    "SPACE_TO_BATCH_ND": (1, 2),
    "SPLIT": (0,),
    "SPLIT_V": (1, 2),
    "STRIDED_SLICE": (1, 2, 3),
    "SUM": (1,),
    "TILE": (1,),
    "TOPK_V2": (1,),
    "TRANSPOSE": (1,),
    "TRANSPOSE_CONV": (0,),
}

#: A constant of more bytes would not fit any device, so its operator is not folded.
_MAX_CONSTANT_BYTES = 64 << 20


def fold_constants(model: Model, keep: Collection[int] = ()) -> tuple[Model, tuple[str, ...]]:
    """Replace every value that is known at conversion time by a constant. Return the model and one sentence per change.

    ``keep`` are operators of the main subgraph that stay, even if their inputs are constant: the first step of a
    repeated body, which would otherwise differ from the other steps. If nothing changes, the model itself is returned.

    Raises ``UnsupportedModelError``, which names the tensor, for a shape that depends on the data, and for constant
    operators that LiteRT cannot evaluate.
    """
    notes: list[str] = []
    for subgraph in range(len(model.subgraphs)):
        model = _prune(model, subgraph, notes, "is never used")
        if subgraph == 0:
            model = _correct_shapes(model, notes)
        model = _fold(model, subgraph, notes, keep if subgraph == 0 else ())
        if subgraph == 0:
            model = _correct_shapes(model, notes)  # again, because more shapes are known after folding
        _refuse_dynamic_shapes(model.subgraphs[subgraph])
        model = _prune(model, subgraph, notes, "is no longer needed")
        tensors = len(model.subgraphs[subgraph].tensors)
        model = compact(model, subgraph)
        removed = tensors - len(model.subgraphs[subgraph].tensors)
        if removed:
            notes.append(f"Removed {removed} unused tensor{'s' * (removed > 1)}.")
    return model, tuple(notes)


def _replace_subgraph(model: Model, subgraph: int, graph: Subgraph) -> Model:
    """Return ``model`` with ``graph`` in place of the subgraph with the index ``subgraph``."""
    return replace(model, subgraphs=(*model.subgraphs[:subgraph], graph, *model.subgraphs[subgraph + 1 :]))


def _prune(model: Model, subgraph: int, notes: list[str], reason: str) -> Model:
    """Return the model without operators that no output needs. Append a note with ``reason`` for each of them."""
    graph = model.subgraphs[subgraph]
    ops = live_ops(graph)
    if len(ops) == len(graph.ops):
        return model
    live = {op.index for op in ops}
    notes += [f"Operator {op.index} {op.name} {reason}: removed." for op in graph.ops if op.index not in live]
    return _replace_subgraph(model, subgraph, replace(graph, ops=ops))


def _correct_shapes(model: Model, notes: list[str]) -> Model:
    """Return the model with the shapes that LiteRT computes, if the file has a shape that may be wrong.

    A shape may be wrong if ``_has_placeholder_shape`` says so, or if no rule can check it. The second case only matters
    for models with an operator whose value depends on a shape. A note is appended for each shape that changes.
    """
    graph = model.main
    doubtful_op = next((op for op in graph.ops if _has_placeholder_shape(graph, op)), None)
    if doubtful_op is None and not (
        any(op.name in SHAPE_ONLY for op in graph.ops) and any(_is_unchecked(graph, op) for op in graph.ops)
    ):
        return model
    try:
        shapes = evaluate(model, values=False).shapes
    except EvaluationError as error:
        if doubtful_op is None:
            return model
        out = graph.tensors[doubtful_op.outputs[0]]
        raise UnsupportedModelError(
            f"operator {doubtful_op.index} {doubtful_op.name}, "
            f"tensor {out.index} '{out.name}': does not have the shape "
            f"{list(out.shape)} that the file states, and LiteRT does not run the model: {error}.",
            "Export the model with fixed shapes.",
        ) from error
    tensors = list(graph.tensors)
    for t in graph.tensors:
        shape = shapes.get(t.index, t.shape)
        if t.data is None and t.index not in graph.inputs and t.itemsize and shape != t.shape:
            tensors[t.index] = replace(t, shape=shape, shape_signature=None)
            notes.append(
                f"Tensor {t.index} '{t.name}' has the shape {list(shape)}, not {list(t.shape)} as the file says."
            )
    return _replace_subgraph(model, 0, replace(graph, tensors=tuple(tensors)))


def _has_placeholder_shape(graph: Subgraph, op: Op) -> bool:
    """Return whether the shape of an output of ``op`` in the file has a 1 where the operator computes another size.

    Converters write 1 for a dimension that they do not know, even if it is a product of known dimensions (batch x
    time).
    """
    try:
        shapes = infer_shapes(graph, op)
    except UnsupportedModelError:
        return False  # the operator or its input shape is wrong; a later check refuses it when all shapes are known
    for index, shape in zip(op.outputs, shapes or (), strict=False):
        stated = graph.tensors[index].shape
        if stated != shape and len(stated) == len(shape):
            return all(a in (b, 1) for a, b in zip(stated, shape, strict=True))
    return False


def _is_unchecked(graph: Subgraph, op: Op) -> bool:
    """Return whether no rule can compute the shapes of the outputs of ``op``."""
    try:
        return infer_shapes(graph, op) is None
    except UnsupportedModelError:
        return False


def _foldable(graph: Subgraph, keep: Collection[int] = ()) -> list[Op]:
    """Return the operators whose outputs are known at conversion time, in execution order. The operators in ``keep``,
    and operators that only copy a constant to a graph output, are left out."""
    constants = {t.index for t in graph.tensors if t.data is not None}
    foldable = []
    for op in graph.ops:
        outs = list(graph.out_tensors(op))
        if op.index in keep:
            continue
        if op.name in NEVER_CONSTANT or op.name.startswith("STABLEHLO_") or not op.inputs or op.intermediates:
            continue
        if any(DTYPES[t.dtype] is None or t.nbytes > _MAX_CONSTANT_BYTES for t in outs):
            continue
        if any(i >= 0 and graph.tensors[i].is_variable for i in op.inputs):
            continue
        if op.name in SHAPE_ONLY:
            if DTYPES[graph.tensors[op.inputs[0]].dtype] is None:
                continue
        elif not all(i < 0 or i in constants for i in op.inputs):
            continue
        if _copies_constant_to_output(graph, op):
            continue
        foldable.append(op)
        constants.update(op.outputs)
    return foldable


def _copies_constant_to_output(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` is a RESHAPE that copies a constant to a graph output. It must stay, because graph
    outputs are in RAM and constants in flash."""
    return (
        op.name == "RESHAPE"
        and graph.tensors[op.inputs[0]].data is not None
        and op.outputs[0] in graph.outputs
    )


def _fold(model: Model, subgraph: int, notes: list[str], keep: Collection[int]) -> Model:
    """Return the model with constants in place of the operators of ``_foldable``. A graph output that became constant
    is copied from the constant by a RESHAPE. A note is appended for each operator."""
    graph = model.subgraphs[subgraph]
    ops = _foldable(graph, keep)
    values = _evaluate_operators(graph, ops)
    constant_outputs = [i for i in graph.outputs if graph.tensors[i].data is not None]
    if not ops and not constant_outputs:
        return model
    tensors = list(graph.tensors)
    for index, value in values.items():
        t = tensors[index]
        tensors[index] = replace(t, shape=value.shape, data=value, shape_signature=None)
    for op in ops:
        names = ", ".join(f"'{tensors[i].name}'" for i in op.outputs if i >= 0)
        size = sum(tensors[i].nbytes for i in op.outputs if i >= 0)
        notes.append(f"Operator {op.index} {op.name} is constant: {names} folded into {size} bytes.")
    folded = {op.index for op in ops}
    remaining = [op for op in graph.ops if op.index not in folded]
    outputs = list(graph.outputs)
    for position, index in enumerate(graph.outputs):
        if tensors[index].data is not None:
            outputs[position] = outputs[graph.outputs.index(index)]  # a repeated output is copied only once
            if graph.outputs.index(index) == position:
                outputs[position] = len(tensors)
                _copy_to_output(tensors, remaining, index, len(graph.ops))
    renamed = {old: new for old, new in zip(graph.outputs, outputs, strict=True) if old != new}
    signatures = tuple(
        replace(s, outputs=tuple((n, renamed.get(i, i)) for n, i in s.outputs))
        if s.subgraph == subgraph
        else s
        for s in model.signatures
    )
    graph = replace(graph, tensors=tuple(tensors), ops=tuple(remaining), outputs=tuple(outputs))
    return replace(_replace_subgraph(model, subgraph, graph), signatures=signatures)


def _copy_to_output(tensors: list[Tensor], ops: list[Op], source: int, index: int) -> None:
    """Append a computed tensor to ``tensors``, and to ``ops`` a RESHAPE that copies the constant ``source`` to it.
    ``index`` is larger than the index of every operator of the original graph."""
    t = tensors[source]
    out = len(tensors)
    tensors.append(replace(t, index=out, data=None))
    tensors[source] = replace(t, name=f"{t.name}/constant")
    shape = np.asarray(t.shape, np.int32)
    tensors.append(Tensor(out + 1, f"{t.name}/shape", shape.shape, "int32", data=shape))
    # The new index is larger than the index of every other operator; ``compact`` numbers the operators again.
    ops.append(
        Op(index + len(ops), "RESHAPE", (source, out + 1), (out,), {"new_shape": None}, "ReshapeOptions")
    )


def _evaluate_operators(graph: Subgraph, ops: list[Op]) -> dict[int, np.ndarray]:
    """Return {tensor: value} for every output of ``ops``. One run of LiteRT computes all values."""
    if not ops:
        return {}
    computed = {i for op in ops for i in op.outputs if i >= 0}
    tensors = list(graph.tensors)
    for op in ops:
        if op.name in SHAPE_ONLY:
            t = tensors[op.inputs[0]]
            if t.index not in computed and t.data is None:
                tensors[t.index] = replace(t, data=np.zeros(t.shape, DTYPES[t.dtype]), is_variable=False)
    outputs = tuple(sorted(computed))
    part = compact(Model((Subgraph("constants", tuple(tensors), tuple(ops), (), outputs),)), 0)
    try:
        values = evaluate(part).values
    except EvaluationError as error:
        op_names = ", ".join(f"{op.index} {op.name}" for op in ops[:8])
        raise UnsupportedModelError(
            f"The constant operators {op_names}{' …' if len(ops) > 8 else ''} cannot be evaluated: {error}.",
            "Export the model with fixed shapes.",
        ) from error
    for value in values:
        value.flags.writeable = False
    return dict(zip(outputs, values, strict=True))


def _refuse_dynamic_shapes(graph: Subgraph) -> None:
    """Raise ``UnsupportedModelError`` if the shape of an output depends on values that are computed at run time."""
    for op in graph.ops:
        for position in SHAPE_INPUTS.get(op.name, ()):
            index = op.input(position)
            if index >= 0 and graph.tensors[index].data is None:
                raise UnsupportedModelError(
                    f"operator {op.index} {op.name}, tensor {index} '{graph.tensors[index].name}': the output's shape "
                    f"depends on values that are only known at run time.",
                    "Export the model with fixed shapes.",
                )
