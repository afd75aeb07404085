"""Small model files for tests of the runtimes, and their outputs from the unmodified TFLite interpreter."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.graph.model import Model, Signature
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.camera.runtimes.base import TensorSlot
from tests.converters.small_models import Net


def saved(model: Model, folder: Path, name: str = "model.tflite") -> Path:
    """Write the model to a file in ``folder`` and return its path."""
    path = folder / name
    path.write_bytes(to_flatbuffer(model))
    return path


def picture_net(channels: int = 8) -> Model:
    """Return a model with one convolution, float32 [1, 16, 16, 3] to [1, 16, 16, channels]. Its input can be resized
    to any height and width."""
    net = Net(7)
    x = net.input((1, 16, 16, 3), "float32")
    w = net.tensor((channels, 3, 3, 3), "float32", data=net.rng.standard_normal((channels, 3, 3, 3)))
    b = net.tensor((channels,), "float32", data=np.linspace(-1, 1, channels))
    y = net.op(
        "CONV_2D", [x, w, b], (1, 16, 16, channels), "float32", options="Conv2DOptions", stride_w=1, stride_h=1
    )  # fmt: skip
    return net.model([y])


def heavy_net(width: int) -> Model:
    """Return a model with one fully connected layer, which has 768 × ``width`` float32 weights."""
    net = Net(8)
    x = net.input((1, 768), "float32")
    w = net.tensor((width, 768), "float32", data=net.rng.standard_normal((width, 768)))
    b = net.tensor((width,), "float32", data=np.zeros(width))
    return net.model(
        [net.op("FULLY_CONNECTED", [x, w, b], (1, width), "float32", options="FullyConnectedOptions")]
    )


def fixed_net() -> Model:
    """Return a model with a reshape and a fully connected layer. Its input cannot be resized to another size."""
    net = Net(9)
    x = net.input((1, 4, 4, 3), "float32")
    flat = net.op(
        "RESHAPE", [x, net.ints([1, 48])], (1, 48), "float32", options="ReshapeOptions", new_shape=(1, 48)
    )
    w = net.tensor((5, 48), "float32", data=net.rng.standard_normal((5, 48)))
    b = net.tensor((5,), "float32", data=np.zeros(5))
    return net.model(
        [net.op("FULLY_CONNECTED", [flat, w, b], (1, 5), "float32", options="FullyConnectedOptions")]
    )


def reversed_signature_net() -> Model:
    """Return a model whose signature lists its two inputs and outputs in the opposite order."""
    net = Net(10)
    x, y = net.input((1, 4), "float32"), net.input((1, 6), "float32")
    model = net.model([net.op("ABS", [x], (1, 4), "float32"), net.op("NEG", [y], (1, 6), "float32")])
    (signature,) = model.signatures
    reversed_signature = Signature(signature.key, 0, signature.inputs[::-1], signature.outputs[::-1])
    return replace(model, signatures=(reversed_signature,))


def custom_operator() -> Model:
    """Return a model with an operator that no runtime knows."""
    net = Net(11)
    x = net.input((1, 4), "float32")
    model = net.model([net.op("CUSTOM", [x], (1, 4), "float32")])
    (graph,) = model.subgraphs
    op = replace(graph.ops[0], custom_code="Frobnicate")
    return replace(model, subgraphs=(replace(graph, ops=(op,)),))


def interpreter_outputs(path: Path, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    """Return the outputs that the unmodified TFLite interpreter computes for ``inputs``, with set_tensor and
    get_tensor."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=threads)
    for details, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.resize_tensor_input(details["index"], value.shape)
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def feed(slot: TensorSlot, seed: int) -> list[np.ndarray]:
    """Write random inputs into the slot and return them."""
    rng = np.random.default_rng(seed)
    values = []
    for memory in slot.inputs:
        if np.dtype(memory.dtype).kind == "f":
            value = rng.standard_normal(memory.shape).astype(memory.dtype)
        else:
            limits = np.iinfo(memory.dtype)
            value = rng.integers(limits.min, limits.max, memory.shape, memory.dtype, endpoint=True)
        memory.array()[...] = value
        values.append(value)
    return values


def outputs(slot: TensorSlot) -> list[np.ndarray]:
    """Return copies of the slot's outputs."""
    return [memory.array().copy() for memory in slot.outputs]


# ONNX files are protobufs, which consist of field numbers, wire types, lengths and values. A model with two operators
# can be written without a library.


def _varint(value: int) -> bytes:
    """Return a number in the variable-length encoding of protobuf."""
    encoded = bytearray()
    while True:
        encoded.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(encoded)


def _varint_field(field: int, value: int) -> bytes:
    """Return a protobuf field with an integer."""
    return _varint(field << 3) + _varint(value)


def _bytes_field(field: int, value: bytes | str) -> bytes:
    """Return a protobuf field with bytes: a text, an array or another message."""
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _value_info(name: str, shape: tuple[int | str, ...]) -> bytes:
    """Return ONNX's description of an input or output. A size that is a text is free."""
    sizes = b"".join(
        _bytes_field(1, _varint_field(1, size) if isinstance(size, int) else _bytes_field(2, size))
        for size in shape
    )
    return _bytes_field(1, name) + _bytes_field(
        2, _bytes_field(1, _varint_field(1, 1) + _bytes_field(2, sizes))
    )  # elem_type 1: float


def onnx_model(weights: np.ndarray, batch: int | str = 1) -> bytes:
    """Return an ONNX model, float32: y [batch, n] = relu(x [batch, m] · weights [m, n])."""
    m, n = weights.shape
    tensor = _varint_field(1, m) + _varint_field(1, n) + _varint_field(2, 1) + _bytes_field(8, "w")
    tensor += _bytes_field(9, struct.pack(f"<{m * n}f", *weights.ravel().tolist()))
    nodes = _bytes_field(
        1, _bytes_field(1, "x") + _bytes_field(1, "w") + _bytes_field(2, "h") + _bytes_field(4, "MatMul")
    )
    nodes += _bytes_field(1, _bytes_field(1, "h") + _bytes_field(2, "y") + _bytes_field(4, "Relu"))
    graph = (
        nodes
        + _bytes_field(2, "g")
        + _bytes_field(5, tensor)
        + _bytes_field(11, _value_info("x", (batch, m)))
    )
    graph += _bytes_field(12, _value_info("y", (batch, n)))
    return (
        _varint_field(1, 8)
        + _bytes_field(7, graph)
        + _bytes_field(8, _bytes_field(1, "") + _varint_field(2, 17))
    )


def onnx_mean(height: int | str = "h", width: int | str = "w") -> bytes:
    """Return an ONNX model, float32: y [1, 3] is the mean of each channel of x [1, 3, height, width]."""
    nodes = _bytes_field(
        1, _bytes_field(1, "x") + _bytes_field(2, "a") + _bytes_field(4, "GlobalAveragePool")
    )
    nodes += _bytes_field(1, _bytes_field(1, "a") + _bytes_field(2, "y") + _bytes_field(4, "Flatten"))
    graph = nodes + _bytes_field(2, "g") + _bytes_field(11, _value_info("x", (1, 3, height, width)))
    graph += _bytes_field(12, _value_info("y", (1, 3)))
    return (
        _varint_field(1, 8)
        + _bytes_field(7, graph)
        + _bytes_field(8, _bytes_field(1, "") + _varint_field(2, 13))
    )
