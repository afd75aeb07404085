"""Rewrite a flatbuffer as current tools expect it, and convert int8 and float16 weights of float models to float32.

Quantizers read only the field ``builtin_code`` and call a model by its signature. Files of old converters have neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.graph.trees import is_tree_ensemble
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.passes.prune import compact
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.counts import count_of

#: A computed tensor of one of these types shows that a model is quantized.
_QUANTIZED = frozenset({"int8", "uint8", "int16"})

#: LiteRT's kernels accept weights of these types together with float32 activations. The kernels
#: convert the weights to float32, or the activations to integers.
_STORED = frozenset({"int8", "uint8"})


def modernize(flatbuffer: bytes) -> bytes:
    """Return the model with ``builtin_code`` set, a signature, a batch of 1, and constants at file offsets that are
    multiples of 16.

    No value and no operator changes. Raises ``ModelError`` as ``tflite.reader.parse`` does.
    """
    return to_flatbuffer(parse(flatbuffer))


def has_quantized_operators(model: Model) -> bool:
    """Return whether some operator computes a quantized tensor, or is a tree ensemble, whose results are integers.

    Quantized weights alone do not count. A QUANTIZE operator does not count either: a float model that was trained with
    quantization uses it to state the range of a tensor.
    """
    return any(
        (g.tensors[i].dtype in _QUANTIZED and g.tensors[i].quant is not None) or is_tree_ensemble(op)
        for g in model.subgraphs
        for op in g.ops
        if op.name != "QUANTIZE"
        for i in op.outputs
    )


def has_float16(model: Model) -> bool:
    """Return whether constants are stored as float16."""
    return any(t.dtype == "float16" and t.is_constant for g in model.subgraphs for t in g.tensors)


def has_dynamic_range_weights(model: Model) -> bool:
    """Return whether operators with float32 outputs read quantized weights directly ("dynamic range" quantization)."""
    return any(_hybrid_inputs(g, op) for g in model.subgraphs for op in g.ops)


def to_float32(model: Model) -> tuple[Model, tuple[str, ...]]:
    """Return ``model``, a float model, with every weight as a float32 constant, and one sentence per kind of change.

    float16 constants that a DEQUANTIZE reads become float32, computed by LiteRT's reference kernel. int8 weights that
    an operator reads together with float32 activations become scale * (q - zero_point). Raises
    ``UnsupportedModelError`` for a shape that depends on the data.
    """
    halves = sum(t.dtype == "float16" and t.is_constant for g in model.subgraphs for t in g.tensors)
    model, weights = _convert_weights_to_float(model)
    model, folds = fold_constants(model)
    notes = []
    if halves:
        notes.append(f"{count_of(halves, 'float16 constant')} became float32.")
    if weights:
        notes.append(f"{count_of(weights, 'stored int8 weight tensor')} became float32.")
    return model, (*notes, *(() if halves else folds))


def _convert_weights_to_float(model: Model) -> tuple[Model, int]:
    """Return the model with the weights of ``_hybrid_inputs`` as float32, and the number of these weight tensors."""
    changed = 0
    for subgraph, g in enumerate(model.subgraphs):
        tensors = list(g.tensors)
        ops = []
        for op in g.ops:
            inputs = list(op.inputs)
            stored = _hybrid_inputs(g, op)
            for position in stored:
                dequantized = _dequantized(g.tensors[inputs[position]], len(tensors))
                tensors.append(dequantized)
                inputs[position] = dequantized.index
            changed += len(stored)
            ops.append(replace(op, inputs=tuple(inputs), options=_float_options(op)) if stored else op)
        if len(tensors) > len(g.tensors):
            new = Subgraph(g.name, tuple(tensors), tuple(ops), g.inputs, g.outputs)
            model = replace(
                model, subgraphs=(*model.subgraphs[:subgraph], new, *model.subgraphs[subgraph + 1 :])
            )
            model = compact(model, subgraph)
    return model, changed


def _hybrid_inputs(g: Subgraph, op: Op) -> list[int]:
    """Return the positions of quantized constants among the inputs of an operator whose output is float32."""
    if op.name == "DEQUANTIZE" or not any(g.tensors[i].dtype == "float32" for i in op.outputs):
        return []
    return [
        k
        for k, i in enumerate(op.inputs)
        if i >= 0
        and g.tensors[i].is_constant
        and g.tensors[i].dtype in _STORED
        and g.tensors[i].quant is not None
    ]


def _dequantized(t: Tensor, index: int) -> Tensor:
    """Return the quantized constant ``t`` as a float32 constant with the index ``index``."""
    assert t.quant is not None and t.data is not None
    shape = [1] * len(t.shape)
    if t.quant.per_axis:
        shape[t.quant.axis] = len(t.quant.scale)
    scale = np.array(t.quant.scale, np.float32).reshape(shape)
    zero = np.array(t.quant.zero_point, np.int32).reshape(shape)
    values = (t.data.astype(np.int32) - zero).astype(np.float32) * scale
    values.flags.writeable = False
    return Tensor(index, t.name, t.shape, "float32", data=values)


def _float_options(op: Op) -> dict[str, Any]:
    """Return the options of ``op`` for float32 weights: without ``asymmetric_quantize_inputs``, which only applies to
    quantized weights."""
    options = dict(op.options)
    if "asymmetric_quantize_inputs" in options:
        options["asymmetric_quantize_inputs"] = False
    return options
