"""Write small source models of each framework without the framework. They contain only what an outline reads: inputs,
outputs and layers. Field numbers are those of the protocol buffers of ONNX and TensorFlow."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: ONNX's code of float32.
FLOAT = 1


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field of a protocol buffer message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    """Return a number as a varint of protocol buffers."""
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def onnx_value(name: str, shape: Sequence[int | None] | None) -> bytes:
    """Return an input or output of a graph. A size of None is an open dimension."""
    dims = b"" if shape is None else b"".join(
        field(1, field(2, "n") if size is None else field(1, size)) for size in shape
    )  # fmt: skip
    tensor = field(1, FLOAT) + (b"" if shape is None else field(2, dims))
    return field(1, name) + field(2, field(1, tensor))


def onnx_constant(name: str, shape: Sequence[int], location: str = "") -> bytes:
    """Return a float constant, whose data are in the file ``location`` if it is given."""
    external = field(13, field(1, "location") + field(2, location)) + field(14, 1) if location else b""
    return b"".join(field(1, size) for size in shape) + field(2, FLOAT) + field(8, name) + external


def onnx_node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", **ints: Sequence[int]
) -> bytes:
    """Return a node whose operator is ``kind``. ``ints`` has attributes that are lists of integers."""
    attributes = b"".join(
        field(5, field(1, key) + b"".join(field(8, value) for value in values))
        for key, values in ints.items()
    )
    names = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    return names + field(3, name) + field(4, kind) + attributes


def onnx_file(
    path: Path,
    nodes: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    constants: Sequence[bytes] = (),
) -> Path:
    """Write an ONNX model and return its path."""
    graph = b"".join(
        field(number, part)
        for number, parts in ((1, nodes), (5, constants), (11, inputs), (12, outputs))
        for part in parts
    )
    path.write_bytes(field(1, 8) + field(7, graph))
    return path


def picture_onnx(
    path: Path,
    *,
    strides: Sequence[int] = (1, 1),
    shape: Sequence[int | None] = (1, 3, 16, 16),
    last: str = "Relu",
    location: str = "",
) -> Path:
    """Write a network with one convolution, whose weights are in the file ``location`` if it is given. ``last`` is the
    operator after the convolution."""
    return onnx_file(
        path,
        [
            onnx_node("Conv", ["image", "w"], ["a"], "/features/Conv", strides=strides),
            onnx_node(last, ["a"], ["b"], f"/features/{last}"),
            onnx_node("GlobalAveragePool", ["b"], ["c"]),
            onnx_node("Flatten", ["c"], ["scores"], "/flat"),
        ],
        [onnx_value("image", shape)],
        [onnx_value("scores", (1, 4))],
        [onnx_constant("w", (4, 3, 3, 3), location)],
    )


def keras_layer(
    kind: str, name: str, input_shape: Sequence[int | None] | None = None, **config: Any
) -> dict[str, Any]:
    """Return the description of a layer of the class ``kind``."""
    built = {} if input_shape is None else {"build_config": {"input_shape": list(input_shape)}}
    return {"class_name": kind, "config": {"name": name, **config}, **built}


def keras_description(layers: Sequence[Mapping[str, Any]], shape: Sequence[int | None]) -> dict[str, Any]:
    """Return the description of a sequential model with an input of ``shape``."""
    first = keras_layer("InputLayer", "image", batch_shape=list(shape))
    return {"class_name": "Sequential", "config": {"name": "net", "layers": [first, *layers]}}


def keras_file(
    path: Path, layers: Sequence[Mapping[str, Any]], shape: Sequence[int | None] = (None, 16, 16, 3)
) -> Path:
    """Write a Keras 3 archive with a sequential model, and return its path."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(keras_description(layers, shape)))
        archive.writestr("metadata.json", "{}")
    return path


def functional_keras(path: Path, *layers: Mapping[str, Any]) -> Path:
    """Write a Keras model of the class Functional with 8 inputs. Its output is its last layer."""
    ends = {"input_layers": [["image", 0, 0]], "output_layers": [[layers[-1]["config"]["name"], 0, 0]]}
    first = keras_layer("InputLayer", "image", batch_shape=[None, 8])
    config = {"name": "net", "layers": [first, *layers], **ends}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Functional", "config": config}))
        archive.writestr("metadata.json", "{}")
    return path


def picture_keras(path: Path, *, strides: Sequence[int] = (1, 1), units: int = 4) -> Path:
    """Write a small image classifier as a Keras 3 archive, and return its path."""
    return keras_file(
        path,
        [
            keras_layer(
                "Conv2D",
                "first_conv",
                (None, 16, 16, 3),
                filters=8,
                kernel_size=[3, 3],
                strides=list(strides),
            ),
            keras_layer("GlobalAveragePooling2D", "pool", (None, 14, 14, 8)),
            keras_layer("Dense", "scores", (None, 8), units=units),
            keras_layer("Activation", "softmax"),
        ],
    )


def torch_tensor(*sizes: int | None) -> dict[str, Any]:
    """Return the shape of a tensor as torch.export writes it. A size of None is an open dimension."""
    return {"sizes": [{"as_expr": {}} if size is None else {"as_int": size} for size in sizes]}


def picture_torch(
    path: Path,
    *,
    stride: Sequence[int] = (1, 1),
    operator: str = "aten.relu.default",
    weight: Sequence[int] = (4, 3, 3, 3),
) -> Path:
    """Write a program as torch.export.save does: a convolution, ``operator`` and a linear layer."""

    def node(
        target: str, name: str, module: str, ints: Mapping[str, Sequence[int]] | None = None
    ) -> dict[str, Any]:
        inputs = [{"name": key, "arg": {"as_ints": list(value)}} for key, value in (ints or {}).items()]
        trace = 'File "/home/me/net.py", line 12, in forward\n  File "/lib/site-packages/torch/conv.py", line 5, in f'
        metadata = {"stack_trace": trace, "nn_module_stack": f"L__self__,,net.Net;L__self__x,{module}"}
        return {"target": f"torch.ops.{target}", "name": name, "inputs": inputs, "metadata": metadata}

    graph = {
        "nodes": [
            node(
                "aten.conv2d.default", "conv2d", "features.0,torch.nn.modules.conv.Conv2d", {"stride": stride}
            ),
            node(operator, "op", "features.1,net.Part"),
            node("aten.linear.default", "linear", "head,torch.nn.modules.linear.Linear"),
        ],
        "tensor_values": {
            "x": torch_tensor(1, 3, 16, 16),
            "p_weight": torch_tensor(*weight),
            "linear": torch_tensor(1, 4),
        },
    }
    signature = {
        "input_specs": [
            {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "weight"}},
            {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        ],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}],
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/archive_format", "pt2")
        archive.writestr(
            "net/models/model.json", json.dumps({"graph_module": {"graph": graph, "signature": signature}})
        )
    return path


def tf_node(kind: str, name: str, inputs: Sequence[str] = (), **attributes: bytes) -> bytes:
    """Return a node of a TensorFlow graph whose operator is ``kind``."""
    parts = b"".join(field(3, i) for i in inputs)
    parts += b"".join(field(5, field(1, key) + field(2, value)) for key, value in attributes.items())
    return field(1, name) + field(2, kind) + parts


def tf_function(name: str) -> bytes:
    """Return the value of an attribute that names a function."""
    return field(10, field(1, name))


def tf_ints(*values: int) -> bytes:
    """Return the value of an attribute that is a list of integers, as TensorFlow packs it."""
    return field(1, field(3, b"".join(varint(value) for value in values)))


def tf_shape(shape: Sequence[int | None]) -> bytes:
    """Return a TensorShapeProto. A size of None is an open dimension."""
    return b"".join(field(2, field(1, -1 if size is None else size)) for size in shape)


def saved_model(
    folder: Path,
    nodes: Sequence[bytes],
    *,
    signatures: Sequence[str] = ("serving_default",),
    shape: Sequence[int | None] | None = (None, 16, 16, 3),
) -> Path:
    """Write a SavedModel whose signatures call the function "f" with the body ``nodes``. Its result is the node "y"."""
    result = field(4, field(1, "y") + field(2, "y:output:0"))
    function = field(1, field(1, "f")) + b"".join(field(3, node) for node in nodes) + result
    graph = field(1, tf_node("Placeholder", "image"))
    graph += field(1, tf_node("StatefulPartitionedCall", "call", ["image"], f=tf_function("f")))
    graph += field(2, field(1, function))
    info = field(1, "image:0") + field(3, field(3, 1) if shape is None else tf_shape(shape))
    result_info = field(1, "call:0") + field(3, tf_shape((None, 4)))
    signature = field(1, field(1, "image") + field(2, info)) + field(
        2, field(1, "scores") + field(2, result_info)
    )
    meta = field(2, graph) + b"".join(field(5, field(1, key) + field(2, signature)) for key in signatures)
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(field(1, 1) + field(2, meta))
    return folder
