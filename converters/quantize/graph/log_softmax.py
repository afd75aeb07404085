"""Expand LOG_SOFTMAX inside a network into operators that keep its accuracy on int8.

The int8 kernel of LOG_SOFTMAX has a fixed output scale of 1/16 for values from -16 to 0. Log-probabilities of unlikely
classes are often smaller and would be clipped, and the layers that follow read all values. The expanded form
x - (max(x) + log(sum(exp(x - max(x))))) has calibrated scales, and kernels for int16. A LOG_SOFTMAX that computes an
output of the model stays: there the largest values matter, which its scale represents better.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Op
from arenite.converters.quantize.graph.graph_draft import GraphDraft
from arenite.converters.tflite.verifier import defaults_of


def expand_log_softmax(draft: GraphDraft, op: Op) -> str | None:
    """Replace ``op``, a LOG_SOFTMAX, in ``draft`` and return a sentence about it. Return None if it is an output of the
    model, or if its shape is not known."""
    source, result = draft.graph.tensors[op.inputs[0]], draft.graph.tensors[op.outputs[0]]
    if op.outputs[0] in draft.graph.outputs or not source.shape or not source.elements:
        return None
    one = replace(source, shape=(*source.shape[:-1], 1))
    axis = draft.constant(f"{result.name}/axis", np.array([len(source.shape) - 1], np.int32))
    log_terms = np.full((1,), np.log(source.shape[-1]), np.float32)
    offset = draft.constant(f"{result.name}/log_terms", log_terms)
    largest, raised = (draft.computed(one, f"{result.name}/{name}") for name in ("max", "max_plus_log_terms"))
    mean, log_mean = (draft.computed(one, f"{result.name}/{name}") for name in ("mean", "log_mean"))
    log_sum = draft.computed(one, f"{result.name}/log_sum")
    shifted, exponentials = (draft.computed(source, f"{result.name}/{name}") for name in ("shifted", "exp"))
    reducer = {**defaults_of("ReducerOptions"), "keep_dims": True}
    # The integer kernel of SUM takes no negative values, so MEAN is used, and the logarithm of the number of terms is
    # added to the maximum. If it were added to the output of LOG, both operators together would compute a function of
    # one tensor, which has no int16 kernel (see ``pointwise``).
    draft.ops[op.index] = [
        Op(0, "REDUCE_MAX", (op.inputs[0], axis), (largest,), reducer, "ReducerOptions"),
        _binary("SUB", op.inputs[0], largest, shifted),
        Op(0, "EXP", (shifted,), (exponentials,), {}, ""),
        Op(0, "MEAN", (exponentials, axis), (mean,), reducer, "ReducerOptions"),
        Op(0, "LOG", (mean,), (log_mean,), {}, ""),
        _binary("ADD", largest, offset, raised),
        _binary("ADD", raised, log_mean, log_sum),
        _binary("SUB", op.inputs[0], log_sum, op.outputs[0]),
    ]
    return (
        f"Operator {op.index} LOG_SOFTMAX became max, exponentials, mean and logarithm: its int8 kernel clips values"
        " below -16."
    )


def _binary(name: str, a: int, b: int, out: int) -> Op:
    options = f"{name.title()}Options"
    return Op(0, name, (a, b), (out,), defaults_of(options), options)
