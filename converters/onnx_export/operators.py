"""The ONNX form of each operator of quantized TFLite graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arenite.converters.graph.model import Op, Tensor
from arenite.converters.graph.quantized_arithmetic import (
    INTEGER_RANGE,
    NONE,
    RELU,
    RELU6,
    RELU_N1_TO_1,
    activation_range,
    conv_padding,
)
from arenite.converters.onnx_export.onnx_graph import NCHW, NHWC, OnnxGraph, refuse


def _activated(g: OnnxGraph, op: Op, name: str) -> str:
    """Return the real value ``name`` of the output of ``op`` after its fused activation."""
    output = g.tensor(op.outputs[0])
    activation = op.options.get("fused_activation_function", NONE)
    if output.quant is None and activation == NONE:
        return name
    if output.quant is None or activation not in (NONE, RELU, RELU6, RELU_N1_TO_1):
        raise refuse(op, "has an activation that is not written as ONNX")
    return _clipped(g, name, output, *activation_range(activation, output))


def _clipped(g: OnnxGraph, name: str, tensor: Tensor, low: int, high: int) -> str:
    """Return the real value ``name`` within the limits ``low`` and ``high``, stored values of ``tensor``."""
    if (low, high) == INTEGER_RANGE[tensor.dtype]:
        return name  # QuantizeLinear saturates
    bounds = [np.array((bound - tensor.zero_point) * tensor.scale, np.float32) for bound in (low, high)]
    return g.add("Clip", [name, *map(g.constant, bounds)])


def _window(op: Op, source: Tensor, output: Tensor, kernel: tuple[int, int]) -> dict[str, object]:
    """Return the attributes of a window that moves over an image."""
    begin, end, strides, dilations = [], [], [], []
    for axis, side in ((1, "h"), (2, "w")):
        stride, dilation = op.options[f"stride_{side}"], op.options.get(f"dilation_{side}_factor", 1)
        size, before = conv_padding(
            op.options["padding"], source.shape[axis], kernel[axis - 1], stride, dilation
        )
        covered = (size - 1) * stride + (kernel[axis - 1] - 1) * dilation + 1
        begin.append(before)
        end.append(max(covered - source.shape[axis] - before, 0))
        strides.append(stride)
        dilations.append(dilation)
    window: dict[str, object] = {"kernel_shape": np.array(kernel), "strides": np.array(strides)}
    window["pads"] = np.array([*begin, *end])
    if max(dilations) > 1:
        window["dilations"] = np.array(dilations)
    return window


def _weights_and_bias(g: OnnxGraph, op: Op, order: tuple[int, ...]) -> list[str]:
    """Return the real weights, with their dimensions in the order ``order``, and the real bias if there is one."""
    source, weights = g.tensor(op.inputs[0]), g.tensor(op.inputs[1])
    if (
        weights.data is None
        or weights.quant is None
        or weights.dtype != "int8"
        or any(weights.quant.zero_point)
    ):
        raise refuse(op, "needs constant int8 weights with the zero point 0")
    names = [g.real_constant(weights.data.transpose(order), weights.quant.scale)]
    if op.input(2) >= 0:
        bias = g.tensor(op.inputs[2])
        if bias.data is None or bias.dtype != "int32":
            raise refuse(op, "needs a constant int32 bias")
        scale = np.float32(source.scale) * np.array(weights.quant.scale, np.float32)
        names.append(g.real_constant(bias.data, [float(s) for s in scale]))
    return names


def _convolution(g: OnnxGraph, op: Op) -> None:
    source, weights, output = g.tensor(op.inputs[0]), g.tensor(op.inputs[1]), g.tensor(op.outputs[0])
    depthwise = op.name == "DEPTHWISE_CONV_2D"
    channels = source.shape[3]
    group = channels if depthwise else channels // weights.shape[3]
    values = _weights_and_bias(g, op, (3, 0, 1, 2) if depthwise else (0, 3, 1, 2))
    window = _window(op, source, output, (weights.shape[1], weights.shape[2]))
    result = g.add("Conv", [g.real(op.inputs[0], NCHW), *values], group=group, **window)
    g.set_real(op.outputs[0], _activated(g, op, result), NCHW)


def _fully_connected(g: OnnxGraph, op: Op) -> None:
    weights, output = g.tensor(op.inputs[1]), g.tensor(op.outputs[0])
    values = _weights_and_bias(g, op, (0, 1))
    rows = g.tensor(op.inputs[0]).elements // weights.shape[1]
    source = g.real(op.inputs[0])
    if g.tensor(op.inputs[0]).shape != (rows, weights.shape[1]):
        source = g.reshaped(source, (rows, weights.shape[1]))
    result = _activated(g, op, g.add("Gemm", [source, *values], transB=1))
    if output.shape != (rows, weights.shape[0]):
        result = g.reshaped(result, output.shape)
    g.set_real(op.outputs[0], result)


def _average_pool(g: OnnxGraph, op: Op) -> None:
    source, output = g.tensor(op.inputs[0]), g.tensor(op.outputs[0])
    kernel = op.options["filter_height"], op.options["filter_width"]
    value = g.real(op.inputs[0], NCHW)
    if kernel == source.shape[1:3] and output.shape[1:3] == (1, 1):
        result = g.add("GlobalAveragePool", [value])
    else:
        result = g.add("AveragePool", [value], **_window(op, source, output, kernel))
    g.set_real(op.outputs[0], _activated(g, op, result), NCHW)


def _max_pool(g: OnnxGraph, op: Op) -> None:
    source, output = g.tensor(op.inputs[0]), g.tensor(op.outputs[0])
    window = _window(op, source, output, (op.options["filter_height"], op.options["filter_width"]))
    result = g.add("MaxPool", [g.real(op.inputs[0], NCHW)], **window)
    g.set_real(op.outputs[0], _activated(g, op, result), NCHW)


def _mean(g: OnnxGraph, op: Op) -> None:
    source, output, axes = g.tensor(op.inputs[0]), g.tensor(op.outputs[0]), g.tensor(op.inputs[1]).data
    if axes is None or not axes.size:
        raise refuse(op, "needs constant axes")
    positive = sorted({int(axis) % len(source.shape) for axis in axes.flat})
    if len(source.shape) == 4 and positive == [1, 2]:
        result = g.add("GlobalAveragePool", [g.real(op.inputs[0], NCHW)])
    else:
        result = g.add("ReduceMean", [g.real(op.inputs[0])], axes=np.array(positive), keepdims=0)
    g.set_real(op.outputs[0], g.reshaped(result, output.shape))


def _elementwise(kind: str) -> Callable[[OnnxGraph, Op], None]:
    def convert(g: OnnxGraph, op: Op) -> None:
        shapes = {g.tensor(i).shape for i in op.inputs}
        order = NHWC if len(shapes) > 1 else g.order(op.inputs[0])
        result = g.add(kind, [g.real(i, order) for i in op.inputs])
        if len(op.inputs) > 1:
            result = _activated(g, op, result)
        g.set_real(op.outputs[0], result, order)

    return convert


def _relu(low: float, high: float | None) -> Callable[[OnnxGraph, Op], None]:
    def convert(g: OnnxGraph, op: Op) -> None:
        order = g.order(op.inputs[0])
        value = g.real(op.inputs[0], order)
        if high is None:
            result = g.add("Relu", [value])
        else:
            result = g.add("Clip", [value, *(g.constant(np.array(x, np.float32)) for x in (low, high))])
        g.set_real(op.outputs[0], result, order)

    return convert


def _softmax(g: OnnxGraph, op: Op) -> None:
    value = g.real(op.inputs[0])
    if op.options["beta"] != 1:
        value = g.add("Mul", [value, g.constant(np.array(op.options["beta"], np.float32))])
    g.set_real(op.outputs[0], g.add("Softmax", [value], axis=-1))


def _reshape(g: OnnxGraph, op: Op) -> None:
    g.set_value(op.outputs[0], g.reshaped(g.value(op.inputs[0]), g.tensor(op.outputs[0]).shape))


def _pad(g: OnnxGraph, op: Op) -> None:
    amounts = g.tensor(op.inputs[1]).data
    if amounts is None or op.input(2) >= 0:
        raise refuse(op, "needs constant amounts and pads with zeros only")
    order = g.order(op.inputs[0])
    rows = amounts.reshape(-1, 2).astype(np.int64)
    if order == NCHW:
        rows = rows[[0, 3, 1, 2]]
    columns = g.constant(np.ascontiguousarray(rows.T).reshape(-1))
    values = [g.value(op.inputs[0], order), columns, g.zero(op.inputs[0])]
    g.set_value(op.outputs[0], g.add("Pad", values), order)


def _concatenation(g: OnnxGraph, op: Op) -> None:
    rank = len(g.tensor(op.outputs[0]).shape)
    axis = op.options["axis"] % rank
    order = g.order(op.inputs[0])
    if order == NCHW:
        axis = (0, 2, 3, 1)[axis]
    result = g.add("Concat", [g.real(i, order) for i in op.inputs], axis=axis)
    g.set_real(op.outputs[0], _activated(g, op, result), order)


def _conversion(g: OnnxGraph, op: Op) -> None:
    order = g.order(op.inputs[0])
    g.set_real(op.outputs[0], g.real(op.inputs[0], order), order)


#: For each operator, the function that adds its ONNX form to a graph.
OPERATORS: dict[str, Callable[[OnnxGraph, Op], None]] = {
    "ADD": _elementwise("Add"),
    "AVERAGE_POOL_2D": _average_pool,
    "CONCATENATION": _concatenation,
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "DEQUANTIZE": _conversion,
    "FULLY_CONNECTED": _fully_connected,
    "HARD_SWISH": _elementwise("HardSwish"),
    "LOGISTIC": _elementwise("Sigmoid"),
    "MAX_POOL_2D": _max_pool,
    "MEAN": _mean,
    "MUL": _elementwise("Mul"),
    "PAD": _pad,
    "QUANTIZE": _conversion,
    "RELU": _relu(0, None),
    "RELU6": _relu(0, 6),
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
    "SUB": _elementwise("Sub"),
    "TANH": _elementwise("Tanh"),
}
