"""Write ONNX files of one graph as protocol buffers, without the onnx library. The field numbers are those of
onnx.proto."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: The numbers of the element types by NumPy's names.
ELEMENT_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9}


@dataclass(frozen=True)
class Doubles:
    """The value of an attribute that is a tensor of float64 numbers."""

    values: np.ndarray


def varint(value: int) -> bytes:
    """Return a number as a varint of protocol buffers."""
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number(field: int, value: int) -> bytes:
    """Return the field number ``field`` with an integer value."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes | str) -> bytes:
    """Return the field number ``field`` with a text, bytes or a nested message."""
    data = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: object) -> bytes:
    """Return an AttributeProto of a number, a text, a list of one of them, or a tensor of float64 numbers."""
    parts = [message(1, name)]
    if isinstance(value, float):
        parts += [varint(2 << 3 | 5) + struct.pack("<f", value), number(20, 1)]
    elif isinstance(value, int):
        parts += [number(3, value), number(20, 2)]
    elif isinstance(value, str):
        parts += [message(4, value), number(20, 3)]
    elif isinstance(value, Doubles):
        data = np.ascontiguousarray(value.values, "<f8")
        parts += [message(5, number(1, len(data)), number(2, 11), message(9, data.tobytes())), number(20, 4)]
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        parts += [varint(7 << 3 | 5) + struct.pack("<f", float(v)) for v in value] + [number(20, 6)]
    elif isinstance(value, np.ndarray):
        parts += [number(8, int(v)) for v in value] + [number(20, 7)]
    else:
        assert isinstance(value, list)
        parts += [message(9, v) for v in value] + [number(20, 8)]
    return message(5, *parts)


def node(
    kind: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, object],
    domain: str = "ai.onnx.ml",
) -> bytes:
    """Return the field of a graph with a node whose operator is ``kind``."""
    return message(
        1,
        *(message(1, i) for i in inputs),
        *(message(2, o) for o in outputs),
        message(3, f"{kind}_{outputs[0]}" if outputs else kind),
        message(4, kind),
        *(attribute(name, value) for name, value in attributes.items()),
        message(7, domain),
    )


def tensor(name: str, array: np.ndarray) -> bytes:
    """Return the field of a graph with a constant."""
    return message(
        5,
        *(number(1, d) for d in array.shape),
        number(2, ELEMENT_TYPES[array.dtype.name]),
        message(8, name),
        message(9, array.tobytes()),
    )


def value_info(field: int, name: str, shape: Sequence[int], kind: int = 1) -> bytes:
    """Return the field of a graph with an input (11) or output (12). ``kind`` is its element type, 1 for float."""
    dims = [message(1, number(1, d)) for d in shape]
    return message(field, message(1, name), message(2, message(1, number(1, kind), message(2, *dims))))


def file(parts: Sequence[bytes], opsets: Mapping[str, int]) -> bytes:
    """Return a file with a graph of ``parts``: its nodes, constants, inputs and outputs. ``opsets`` has the versions of
    the operators by domain."""
    versions = (message(8, message(1, domain), number(2, version)) for domain, version in opsets.items())
    return number(1, 8) + message(7, *parts, message(2, "g")) + b"".join(versions)


def model(
    nodes: Sequence[bytes], features: int, outputs: Sequence[bytes], constants: Sequence[bytes] = ()
) -> bytes:
    """Return a file with a graph whose input "X" has the shape [1, features]."""
    parts = [*nodes, *constants, value_info(11, "X", (1, features)), *outputs]
    return file(parts, {"": 17, "ai.onnx.ml": 3})
