"""Give a repeated body its first copy back.

Converters fold the first step of a recurrent layer: its state is zero, so products with the state disappear. The first
copy then differs from the others and would need code and tables of its own. This module writes it like the others, with
zeros as its state. Only the float model may change in this way: the rounding of an integer model could change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.model import DTYPES, Model, Op, Subgraph, Tensor
from arenite.converters.passes.loops.contiguous_view import View, views_of
from arenite.converters.passes.loops.operator_order import sort_operators
from arenite.converters.passes.loops.repeated_body import BodyInput, RepeatedBody, find_repeated_bodies
from arenite.converters.passes.producers import producers, with_ops
from arenite.converters.passes.prune import live_ops
from arenite.converters.tflite.litert.interpreter import run_tensor_values
from arenite.converters.tflite.writer import to_flatbuffer

#: The number of random inputs on which the new first step must give the values of the old one.
_SAMPLES = 4
#: The largest difference of a value, as a share of the largest value of the tensor, which counts as at least
#: ``_MIN_LARGEST_VALUE``.
_TOLERANCE, _MIN_LARGEST_VALUE = 1e-4, 1e-3


def restore_first_steps(model: Model) -> tuple[Model, tuple[str, ...]]:
    """Return the float model with the first copy of each repeated body written like the others, and a sentence for each
    change. If there is nothing to change, the model itself is returned."""
    notes = []
    position = 0
    while position < len(bodies := find_repeated_bodies(model.main)):
        body = bodies[position]
        restored = _restore(model, body)
        if restored is None:
            position += 1
            continue
        model = restored
        notes.append(
            f"The first of {body.steps + 1} steps was written like the others, with zeros as its state."
        )
    return model, tuple(notes)


def _restore(model: Model, body: RepeatedBody) -> Model | None:
    """Return the model with one more copy of ``body`` in front. Return None if that would not give the same values."""
    graph = model.main
    # A dictionary keeps the order of the body, so that two conversions give the same bytes.
    carried = dict.fromkeys(row for rows in body.inputs for row in rows if row.kind == "carried")
    states = [graph.tensors[row.tensor] for row in carried]
    if any(t.data is not None or DTYPES[t.dtype] is None or t.index in graph.outputs for t in states):
        return None
    before = _parts_before(graph, body)
    if before is None:
        return None
    new = _add_copy(model, body, before)
    result_of = {row: new.outputs[row.lane, row.output] for row in carried}
    if not _agree(model, new.model, [(row.tensor, result) for row, result in result_of.items()]):
        return None
    main = new.model.main
    # Two states can begin with one tensor, as a sum of all outputs does. Each gets its own result of the new copy.
    renamed: dict[int, int] = {}
    for row, result in result_of.items():
        renamed.setdefault(row.tensor, result)
    rows_of = {lane[0]: rows for lane, rows in zip(body.lanes, body.inputs, strict=True)}
    ops = []
    for op in main.ops:
        inputs = op.inputs if op.index in new.added else tuple(renamed.get(i, i) for i in op.inputs)
        if op.index in rows_of:
            inputs = tuple(result_of.get(row, i) for row, i in zip(rows_of[op.index], inputs, strict=True))
        ops.append(replace(op, inputs=inputs))
    try:
        main = replace(main, ops=tuple(sort_operators(ops)))
    except ValueError:  # the new first step reads what is computed from the old one
        return None
    return with_ops(new.model.with_main(main), live_ops(main))


def _parts_before(graph: Subgraph, body: RepeatedBody) -> dict[BodyInput, int] | None:
    """Return, for each sequence that ``body`` reads part by part, the tensor with the part before the first one: the
    part that the folded first step reads. Return None if the graph lacks such a tensor."""
    wanted: dict[tuple[View, int], list[BodyInput]] = {}
    for lane, rows in zip(body.lanes, body.inputs, strict=True):
        for row, i in zip(rows, graph.ops[lane[1]].inputs, strict=True):
            if row.kind == "slice":
                part = View(row.tensor, row.start - row.stride), graph.tensors[i].nbytes
                wanted.setdefault(part, []).append(row)
    if any(view.start < 0 for view, _ in wanted):
        return None
    producer = producers(graph)
    tensors: dict[BodyInput, int] = {}
    for op in graph.ops:
        for i in op.outputs:
            for view in views_of(graph, producer, i) if i >= 0 else ():
                for row in wanted.get((view, graph.tensors[i].nbytes), ()):
                    tensors.setdefault(row, i)
    return tensors if all(row in tensors for rows in wanted.values() for row in rows) else None


class _Copy:
    """A model with one more copy of a body. ``added`` has the indices of the new operators. ``outputs[k, n]`` is the
    tensor that is output ``n`` of the copy of the body's operator ``k``."""

    def __init__(self, model: Model, added: frozenset[int], outputs: dict[tuple[int, int], int]) -> None:
        self.model, self.added, self.outputs = model, added, outputs


def _add_copy(model: Model, body: RepeatedBody, before: dict[BodyInput, int]) -> _Copy:
    """Return ``model`` with a copy of ``body`` that reads the tensors ``before`` as its parts of the sequences, and
    zeros as its state."""
    graph = model.main
    tensors = list(graph.tensors)
    zeros: dict[tuple[str, tuple[int, ...]], int] = {}

    def add(t: Tensor) -> int:
        tensors.append(replace(t, index=len(tensors)))
        return len(tensors) - 1

    def zero(like: Tensor) -> int:
        key = like.dtype, like.shape
        if key not in zeros:
            data = np.zeros(like.shape, DTYPES[like.dtype])
            data.flags.writeable = False
            zeros[key] = add(Tensor(0, "zero_state", like.shape, like.dtype, data=data))
        return zeros[key]

    outputs: dict[tuple[int, int], int] = {}
    copies: list[Op] = []
    for k, lane in enumerate(body.lanes):
        op = graph.ops[lane[1]]
        inputs = []
        for row, i in zip(body.inputs[k], op.inputs, strict=True):
            if row.kind == "lane":
                inputs.append(outputs[row.lane, row.output])
            elif row.kind == "carried":
                inputs.append(zero(graph.tensors[i]))
            elif row.kind == "slice":
                inputs.append(before[row])
            else:
                inputs.append(row.tensor)
        for n, i in enumerate(op.outputs):
            t = graph.tensors[i]
            outputs[k, n] = add(replace(t, name=f"{t.name}/first_step"))
        index = len(graph.ops) + k
        copies.append(
            replace(
                op,
                index=index,
                inputs=tuple(inputs),
                outputs=tuple(outputs[k, n] for n in range(len(op.outputs))),
            )
        )
    # A part of a sequence may have another shape than the tensor that the operator reads.
    reshaped: list[Op] = []
    for k, op in enumerate(copies):
        for p, i in enumerate(op.inputs):
            wanted = graph.tensors[graph.ops[body.lanes[k][1]].inputs[p]] if i >= 0 else None
            if wanted is not None and tensors[i].shape != wanted.shape:
                shape = np.asarray(wanted.shape, np.int32)
                shape.flags.writeable = False
                row_shape = add(Tensor(0, "first_step_shape", shape.shape, "int32", data=shape))
                out = add(replace(wanted, name=f"{wanted.name}/first_step"))
                index = len(graph.ops) + len(copies) + len(reshaped)
                options = {"new_shape": None}
                reshaped.append(Op(index, "RESHAPE", (i, row_shape), (out,), options, "ReshapeOptions"))
                op = copies[k] = replace(op, inputs=(*op.inputs[:p], out, *op.inputs[p + 1 :]))
    ops = (*graph.ops, *reshaped, *copies)
    main = replace(graph, tensors=tuple(tensors), ops=tuple(sort_operators(ops)))
    added = frozenset(op.index for op in copies)
    return _Copy(model.with_main(main), added, outputs)


def _agree(old: Model, new: Model, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether the two tensors of each pair have the same values in ``new``, on random inputs of ``old``."""
    rng = np.random.default_rng(0)
    limits = index_limits(old.main)
    samples = []
    for _ in range(_SAMPLES):
        samples.append([_random(old.main.tensors[i], limits.get(i), rng) for i in old.main.inputs])
    values = run_tensor_values(to_flatbuffer(new), samples, sorted({i for pair in pairs for i in pair}))
    for sample_values in values:
        for one, other in pairs:
            a, b = sample_values[one], sample_values[other]
            if a.size != b.size or not np.allclose(
                a.reshape(-1),
                b.reshape(-1),
                rtol=0,
                atol=_TOLERANCE * max(float(np.abs(a).max()), _MIN_LARGEST_VALUE),
            ):
                return False
    return True


def _random(t: Tensor, limit: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return random values of the shape and type of ``t``. Integers are at least 0 and less than ``limit`` (None:
    2)."""
    if t.dtype == "float32":
        return (rng.standard_normal(t.shape) * 2).astype(np.float32)
    return rng.integers(0, limit or 2, t.shape).astype(t.dtype)
