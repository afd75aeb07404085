"""Compute a layer once that a float graph computes twice.

The converters of TensorFlow and PyTorch fuse activations into the layer before them, and fold negations into its
weights. If an activation such as CELU or PReLU reads its input several times, the graph then holds the layer several
times: with a RELU, without one, and with negated weights. This doubles the weights and hides the activation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1
from arenite.converters.quantize.graph.graph_draft import GraphDraft
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.quantize.pointwise.builtins import builtin_operator, prelu_slopes
from arenite.converters.quantize.pointwise.functions import PointwiseFunction, pointwise_functions
from arenite.converters.tflite.verifier import defaults_of

_ACTIVATIONS = {RELU: "RELU", RELU6: "RELU6", RELU_N1_TO_1: "RELU_N1_TO_1"}

_LAYERS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"})

_ACTIVATION = "fused_activation_function"


def merge_first_repeated_layer(model: Model, notes: list[str]) -> Model | None:
    """Compute the first layer that occurs several times only once, add a sentence about it to ``notes`` and return the
    new model. Return None if no layer occurs several times.

    The repetitions differ in the fused activation, or have negated weights. They become operators that read the result
    of the first one. This happens only if these operators are part of one activation. Otherwise, as in a concatenation
    of relu(x) and relu(-x), each repetition has the better scale for its own values.
    """
    graph = model.main
    layers = [op for op in graph.ops if op.name in _LAYERS and _has_float_constants(graph, op)]
    for k, first in enumerate(layers):
        signs = {
            op.index: sign
            for op in layers[k + 1 :]
            if (sign := _sign_of_repetition(graph, first, op)) is not None
        }
        if not signs:
            continue
        signs = {first.index: 1, **signs}
        candidates = [_merge(model, first, signs, base) for base in (1, -1) if base in signs.values()]
        # PReLU of x is another function of -x, for which there is no operator.
        merged = next(
            (c for c in candidates if c and _becomes_one_operator(c.main, first.index)), candidates[0]
        )
        if merged is not None:
            names = ", ".join(str(index) for index in signs if index != first.index)
            notes.append(
                f"Operator {first.index} {first.name} also computes what {first.name} {names} repeated."
            )
            return merged
    return None


def _has_float_constants(graph: Subgraph, op: Op) -> bool:
    constants = [graph.tensors[i] for i in op.inputs[1:] if i >= 0]
    return bool(constants) and all(t.data is not None and t.dtype == "float32" for t in constants)


def _sign_of_repetition(graph: Subgraph, first: Op, other: Op) -> int | None:
    """Return 1 if ``other`` computes the same as ``first`` before its activation, -1 if it computes the negative, and
    None if neither."""
    if first.name != other.name or first.inputs[0] != other.inputs[0]:
        return None
    if {**first.options, _ACTIVATION: 0} != {**other.options, _ACTIVATION: 0}:
        return None
    if any(op.options.get(_ACTIVATION, NONE) not in (NONE, *_ACTIVATIONS) for op in (first, other)):
        return None
    shapes = [graph.tensors[op.outputs[0]].shape for op in (first, other)]
    if shapes[0] != shapes[1]:
        return None
    rule = WEIGHTS[first.name]
    for sign in (1, -1):
        if all(
            _equals(graph, first.input(position), other.input(position), sign)
            for position in (rule.weights, rule.bias)
        ):
            return sign
    return None


def _equals(graph: Subgraph, a: int, b: int, sign: int) -> bool:
    """Return whether the constant ``b`` is ``sign`` times the constant ``a``. A missing bias is zero."""
    if a == b:
        return sign == 1 or a < 0
    values = [graph.tensors[i].data if i >= 0 else np.zeros((), np.float32) for i in (a, b)]
    before, after = values
    if before is None or after is None or (a >= 0 and b >= 0 and before.shape != after.shape):
        return False
    return bool(np.all(sign * before == after))


def _merge(model: Model, first: Op, signs: dict[int, int], base: int) -> Model | None:
    """Return the model in which one layer in the place of ``first`` replaces all layers in ``signs``. Operators in the
    place of the layers read its result. Return None if these operators are not part of one activation.

    ``signs`` has 1 by the index of each operator that computes the same as ``first``, and -1 if it computes the
    negative. ``base`` is the sign of the weights that remain.
    """
    draft = GraphDraft(model)
    graph, out = draft.graph, draft.graph.tensors[first.outputs[0]]
    shared = draft.computed(out, f"{out.name}/before_activation")
    remaining = graph.ops[next(index for index, sign in signs.items() if sign == base)]
    layer = replace(remaining, outputs=(shared,), options={**first.options, _ACTIVATION: NONE})
    minus_one = draft.constant(f"{out.name}/minus_one", np.full((1,), -1, np.float32))
    for index, relation in signs.items():
        sign = relation * base
        op = graph.ops[index]
        activation = _ACTIVATIONS.get(op.options.get(_ACTIVATION, NONE))
        ops: list[Op] = [layer] if index == first.index else []
        source = shared
        if sign < 0:
            negative = draft.computed(out, f"{graph.tensors[op.outputs[0]].name}/negative")
            source = op.outputs[0] if activation is None else negative
            ops.append(Op(0, "MUL", (shared, minus_one), (source,), defaults_of("MulOptions"), "MulOptions"))
        if activation is not None:
            ops.append(Op(0, activation, (source,), op.outputs))
        elif sign > 0:
            if op.outputs[0] in graph.outputs:
                return None
            draft.renamed[op.outputs[0]] = shared
        draft.ops[index] = ops
    merged = draft.finish()
    return merged if _function_of(merged.main, first.index) is not None else None


def _function_of(graph: Subgraph, layer: int) -> PointwiseFunction | None:
    """Return the function that contains all operators that read the result of operator ``layer``, or None if there
    is no such function."""
    shared = graph.ops[layer].outputs[0]
    readers = {op.index for op in graph.ops if shared in op.inputs}
    functions = pointwise_functions(graph, per_channel=True)
    return next((f for f in functions if f.source == shared and readers <= {op.index for op in f.ops}), None)


def _becomes_one_operator(graph: Subgraph, layer: int) -> bool:
    """Return whether the function that reads the result of operator ``layer`` is one operator of TFLite."""
    function = _function_of(graph, layer)
    assert function is not None
    if prelu_slopes(function) is not None:
        return True
    scalar = [f for f in pointwise_functions(graph) if f.ops == function.ops]
    return bool(scalar) and builtin_operator(scalar[0]) is not None
