"""A model of the same graph with other weights, as training it again gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Quantization


def retrained(model: Model, seed: int) -> Model:
    """Return a model of the same graph with other weights, biases, scales and zero points.

    The zero point of the output of a ReLU stays -128: a converter always gives it this one.
    """
    rng, graph = np.random.default_rng(seed), model.main
    tensors = list(graph.tensors)
    fixed = {graph.tensors[t].name for op in graph.ops if op.name == "SOFTMAX" for t in op.outputs}
    shared: dict[Quantization, Quantization] = {}  # RESHAPE and pooling need equal ones on both sides
    for k, tensor in enumerate(tensors):
        quant = tensor.quant
        if quant is None or tensor.name in fixed or tensor.dtype != "int8":
            continue
        if quant not in shared:
            scales = tuple(float(np.float32(s * rng.uniform(0.8, 1.25))) for s in quant.scale)
            zero_points = quant.zero_point
            if tensor.data is None:
                zero_points = tuple(
                    z if z == -128 else int(np.clip(z + rng.integers(-5, 6), -128, 127)) for z in zero_points
                )
            shared[quant] = replace(quant, scale=scales, zero_point=zero_points)
        data = tensor.data
        if data is not None:
            data = rng.integers(-127, 128, tensor.shape).astype(np.int8)
        tensors[k] = replace(tensor, quant=shared[quant], data=data)
    for op in graph.ops:
        if op.name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            x, weights, bias = (tensors[t] for t in op.inputs)
            assert x.quant is not None and weights.quant is not None and bias.quant is not None
            scales = tuple(float(np.float32(x.quant.scale[0] * s)) for s in weights.quant.scale)
            data = rng.integers(-2000, 2000, bias.shape).astype(np.int32)
            tensors[op.inputs[2]] = replace(bias, quant=replace(bias.quant, scale=scales), data=data)
    return model.with_main(replace(graph, tensors=tuple(tensors)))


def with_another_bias(model: Model) -> Model:
    """Return the model with another byte in the bias of class 0. Every output differs."""
    op = next(op for op in model.main.ops if op.name == "FULLY_CONNECTED")
    tensors = list(model.main.tensors)
    bias = tensors[op.inputs[2]]
    assert bias.data is not None
    data = bias.data.copy()
    data[0] ^= 1 << 17
    tensors[op.inputs[2]] = replace(bias, data=data)
    return model.with_main(replace(model.main, tensors=tuple(tensors)))


def without_activation(model: Model) -> Model:
    """Return the same model without the fused activation of its first operator. All shapes stay."""
    graph = model.main
    ops = list(graph.ops)
    k = next(k for k, op in enumerate(ops) if "fused_activation_function" in op.options)
    ops[k] = replace(ops[k], options={**ops[k].options, "fused_activation_function": 0})
    return model.with_main(replace(graph, ops=tuple(ops)))


def with_wrong_weight(payload: bytes, other: bytes) -> bytes:
    """Return the constants of a model with one wrong byte. ``other`` is the payload of ``with_another_bias``.

    The payloads also differ in the samples of the self-test and the hash of the model. The weights follow them.
    """
    at = max(k for k in range(len(payload)) if payload[k] != other[k])
    return payload[:at] + other[at : at + 1] + payload[at + 1 :]
