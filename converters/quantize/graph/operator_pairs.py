"""Replace two operators that follow each other by others that compute the same and quantize better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1, VALID
from arenite.converters.passes.producers import producers, reader_counts
from arenite.converters.quantize.graph.graph_draft import GraphDraft, describe
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.tflite.verifier import defaults_of

#: The activations that can be fused, and the layers that can have a fused activation.
_ACTIVATIONS = {"RELU": RELU, "RELU6": RELU6, "RELU_N1_TO_1": RELU_N1_TO_1}
_CLAMPING = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "SUB", "MUL"})

#: A padding value of at most this number is never the largest value of a window.
_NEVER_LARGEST = -1e30

#: The mode of MIRROR_PAD that repeats the edge.
_SYMMETRIC = 1

#: Layers whose weights and bias can include a following affine layer.
_AFFINE = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"})


def _fuse(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Fuse an activation into the layer before it. Return a sentence about it, or None if it is not possible."""
    if op.name not in _ACTIVATIONS or before.name not in _CLAMPING:
        return None
    if before.options.get("fused_activation_function") != NONE:
        return None
    options = {**before.options, "fused_activation_function": _ACTIVATIONS[op.name]}
    draft.ops[before.index] = [replace(before, options=options, outputs=op.outputs)]
    draft.ops[op.index] = []
    return f"{describe(op)} is now the clamp of operator {before.index} {before.name}."


def _merge_affine(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Merge a MUL, ADD or SUB by a constant per channel into the weights and bias of the layer before."""
    if op.name not in ("MUL", "ADD", "SUB") or before.name not in _AFFINE:
        return None
    if before.options.get("fused_activation_function") != NONE:
        return None
    factor = _per_channel(draft.graph, op)
    rule = WEIGHTS[before.name]
    weights = draft.graph.tensors[before.inputs[rule.weights]]
    index = before.input(rule.bias)
    bias = draft.graph.tensors[index] if index >= 0 else None
    floats = [t for t in (weights, bias) if t is not None]
    if factor is None or any(t.data is None or t.dtype != "float32" for t in floats):
        return None
    assert weights.data is not None
    old = np.zeros(len(factor)) if bias is None or bias.data is None else bias.data.astype(np.float64)
    inputs = [*before.inputs, *([-1] * (rule.bias + 1 - len(before.inputs)))]
    if op.name == "MUL":
        shape = [-1 if k == rule.axis else 1 for k in range(weights.data.ndim)]
        scaled = weights.data * factor.reshape(shape)
        inputs[rule.weights] = draft.constant(weights.name, scaled.astype(np.float32))
        new = old * factor
    else:
        new = old + (factor if op.name == "ADD" else -factor)
    name = bias.name if bias is not None else f"{weights.name}/bias"
    inputs[rule.bias] = draft.constant(name, new.astype(np.float32))
    options = {**before.options, "fused_activation_function": op.options["fused_activation_function"]}
    draft.ops[before.index] = [replace(before, inputs=tuple(inputs), outputs=op.outputs, options=options)]
    draft.ops[op.index] = []
    return f"{describe(op)} is now part of the weights of operator {before.index} {before.name}."


def _move_bias(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Merge the constant in (a + b) + constant into the bias of the layer that computes a or b: the two products of a
    recurrent layer."""
    if (before.name, op.name) != ("ADD", "ADD") or before.options["fused_activation_function"] != NONE:
        return None
    graph = draft.graph
    values = _per_channel(graph, op)
    producer, count = producers(graph), reader_counts(graph)
    for i in before.inputs if values is not None else ():
        layer = producer.get(i)
        if layer is None or layer.name not in _AFFINE or count[i] != 1 or i in graph.outputs:
            continue
        same_shape = graph.tensors[i].shape == graph.tensors[op.outputs[0]].shape
        biased = _with_bias(draft, layer, values) if values is not None and same_shape else None
        if biased is not None:
            draft.ops[layer.index] = [biased]
            draft.ops[op.index] = []
            activation = op.options["fused_activation_function"]
            options = {**before.options, "fused_activation_function": activation}
            draft.ops[before.index] = [replace(before, outputs=op.outputs, options=options)]
            return f"{describe(op)} is now part of the bias of operator {layer.index} {layer.name}."
    return None


def _with_bias(draft: GraphDraft, layer: Op, values: np.ndarray) -> Op | None:
    """Return ``layer`` with ``values``, one per channel, added to its constant bias. Return None if it has an
    activation or a computed bias."""
    rule = WEIGHTS[layer.name]
    index = layer.input(rule.bias)
    old = draft.graph.tensors[index].data if index >= 0 else np.zeros(len(values), np.float32)
    weights = draft.graph.tensors[layer.inputs[rule.weights]]
    if layer.options.get("fused_activation_function") != NONE or old is None or old.dtype != np.float32:
        return None
    inputs = [*layer.inputs, *([-1] * (rule.bias + 1 - len(layer.inputs)))]
    name = draft.graph.tensors[index].name if index >= 0 else f"{weights.name}/bias"
    inputs[rule.bias] = draft.constant(name, (old.astype(np.float64) + values).astype(np.float32))
    return replace(layer, inputs=tuple(inputs))


def _reduce_before_transpose(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Replace the MEAN of a transposed tensor (global pooling of a channels-first model) by a MEAN over other axes of
    the tensor before the TRANSPOSE."""
    if (before.name, op.name) != ("TRANSPOSE", "MEAN") or op.options.get("keep_dims"):
        return None
    order, axes = (draft.graph.tensors[o.inputs[1]].data for o in (before, op))
    if order is None or axes is None:
        return None
    reduced = {int(a) % order.size for a in axes.reshape(-1)}
    remaining = [int(p) for k, p in enumerate(order) if k not in reduced]
    if remaining != sorted(remaining):
        return None
    name = f"{draft.graph.tensors[op.inputs[1]].name}/moved"
    new_axes = draft.constant(name, np.sort(order[sorted(reduced)]))
    draft.ops[before.index] = []
    draft.ops[op.index] = [replace(op, inputs=(before.inputs[0], new_axes))]
    return f"{describe(op)} reads its input from before operator {before.index} TRANSPOSE."


def _drop_negative_infinity_padding(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Replace padding with minus infinity before MAX_POOL_2D, as in PyTorch's padded pooling, by mirrored values.

    No scale can represent minus infinity. If a window extends over the edge by at most half of its size, it contains
    the values that are mirrored, so its largest value stays the same.
    """
    if (before.name, op.name) != ("PADV2", "MAX_POOL_2D") or op.options["padding"] != VALID:
        return None
    source, pads, fill = (draft.graph.tensors[i] for i in before.inputs)
    if pads.data is None or fill.data is None or fill.elements != 1 or fill.data.item() > _NEVER_LARGEST:
        return None
    window = (1, op.options["filter_height"], op.options["filter_width"], 1)
    limits = [min(size // 2, side) for size, side in zip(window, source.shape, strict=True)]
    if len(source.shape) != 4 or np.any(pads.data.min(axis=1) < 0) or np.any(pads.data.max(axis=1) > limits):
        return None
    options = {**defaults_of("MirrorPadOptions"), "mode": _SYMMETRIC}
    mirrored = Op(0, "MIRROR_PAD", before.inputs[:2], before.outputs, options, "MirrorPadOptions")
    draft.ops[before.index] = [mirrored]
    return f"{describe(before)} repeats the edge in place of {fill.data.item():g}, which changes no maximum."


def _per_channel(graph: Subgraph, op: Op) -> np.ndarray | None:
    """Return the constant second operand as one float64 per channel of the first operand, or None if that is not
    possible."""
    value, constant = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]]
    out = graph.tensors[op.outputs[0]]
    if constant.data is None or constant.dtype != "float32" or out.shape != value.shape or not value.shape:
        return None
    channels = value.shape[-1]
    if constant.elements == 1 or (constant.elements == channels and constant.shape[-1] == channels):
        return np.broadcast_to(constant.data.reshape(-1).astype(np.float64), (channels,)).copy()
    return None


#: The changes of a pair, in the order in which they are tried.
_CHANGES = (_fuse, _merge_affine, _move_bias, _reduce_before_transpose, _drop_negative_infinity_padding)


def change_pair(draft: GraphDraft, before: Op, op: Op) -> str | None:
    """Change ``op`` and the operator ``before`` it, whose output only ``op`` reads, in ``draft``. Return a sentence
    about the change, or None if none is possible."""
    return next((note for change in _CHANGES if (note := change(draft, before, op)) is not None), None)
