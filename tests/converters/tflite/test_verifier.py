"""The flatbuffer decoder reads valid files like LiteRT, and its errors for invalid files name the field."""

from __future__ import annotations

import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.schema_names import snake
from arenite.converters.tflite.verifier import decode
from arenite.errors import ModelError
from tests.converters import small_models


def _assert_equal(decoded: Any, expected: Any) -> None:
    """Check that the decoder's value equals that of LiteRT's object API."""
    if expected is None:
        assert decoded is None
    elif isinstance(decoded, dict):
        for attribute, value in vars(expected).items():
            _assert_equal(decoded[snake(attribute)], value)
    elif isinstance(decoded, list):
        assert len(decoded) == len(expected)
        for a, b in zip(decoded, expected, strict=True):
            _assert_equal(a, b)
    elif isinstance(decoded, str):
        assert decoded.encode() == expected
    elif isinstance(expected, (list, np.ndarray)):
        assert list(decoded) == list(expected)
    else:
        assert decoded == expected


@pytest.mark.parametrize("name", small_models.ALL)
def test_the_decoder_reads_the_same_as_litert(name: str) -> None:
    data = to_flatbuffer(small_models.ALL[name]())
    _assert_equal(decode(data), schema.ModelT.InitFromPackedBuf(data, 0))


def _good() -> bytes:
    """Return a valid file."""
    return to_flatbuffer(small_models.conv_net())


def _root_table(data: bytes) -> int:
    """Return the address of the root table."""
    return struct.unpack_from("<I", data, 0)[0]


def _field_at(data: bytes, table: int, slot: int) -> int:
    """Return the address of the field ``slot`` of the table at address ``table``."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return table + struct.unpack_from("<H", data, vtable + 4 + 2 * slot)[0]


def _follow(data: bytes, at: int) -> int:
    """Return the address to which the offset at ``at`` points."""
    return at + struct.unpack_from("<I", data, at)[0]


def _first_tensor(data: bytes) -> int:
    """Return the address of the table of the first tensor."""
    subgraphs = _follow(data, _field_at(data, _root_table(data), 2))
    tensors = _follow(data, _field_at(data, _follow(data, subgraphs + 4), 0))
    return _follow(data, tensors + 4)


def _patched(data: bytes, at: int, form: str, value: int) -> bytes:
    """Return ``data`` with ``value`` written at ``at`` in the struct format ``form``."""
    out = bytearray(data)
    struct.pack_into(form, out, at, value)
    return bytes(out)


def test_a_file_that_is_too_short_is_an_error() -> None:
    for size in range(8):
        with pytest.raises(ModelError, match="too short"):
            decode(_good()[:size])


def test_a_wrong_file_identifier_is_an_error() -> None:
    with pytest.raises(ModelError, match="identifier is b'TFL2', expected b'TFL3'"):
        decode(_good().replace(b"TFL3", b"TFL2", 1))


def test_every_truncated_file_is_an_error() -> None:
    data = _good()
    for size in range(len(data)):
        with pytest.raises(ModelError):
            decode(data[:size])


def test_the_error_names_the_table_and_the_field() -> None:
    data = _good()
    shape = _field_at(data, _first_tensor(data), 0)
    with pytest.raises(
        ModelError, match=r"^Subgraph 0, tensor 0, field shape: its position .* outside the file"
    ):
        decode(_patched(data, shape, "<I", 0x7FFFFFF0))


def test_a_vector_longer_than_the_file_is_an_error() -> None:
    data = _good()
    shape = _follow(data, _field_at(data, _first_tensor(data), 0))
    with pytest.raises(ModelError, match=r"field shape: its 1000000 elements run past the end"):
        decode(_patched(data, shape, "<I", 1_000_000))


def test_a_string_without_a_terminating_zero_is_an_error() -> None:
    data = _good()
    name = _follow(data, _field_at(data, _first_tensor(data), 3))
    length = struct.unpack_from("<I", data, name)[0]
    with pytest.raises(ModelError, match=r"field name: the string does not end in a zero byte"):
        decode(_patched(data, name + 4 + length, "<B", 65))


def test_an_unknown_enumeration_value_is_an_error() -> None:
    data = _good()
    at = _field_at(data, _first_tensor(data), 1)
    with pytest.raises(ModelError, match=r"field type: is 99, expected 0 to 22 \(TensorType\)"):
        decode(_patched(data, at, "<b", 99))


def test_a_misaligned_table_is_an_error() -> None:
    data = _good()
    with pytest.raises(ModelError, match="not aligned"):
        decode(_patched(data, 0, "<I", _root_table(data) + 2))


def test_a_vtable_outside_the_file_is_an_error() -> None:
    data = _good()
    root = _root_table(data)
    for value in (-(2**31), 2**31 - 1, root - 1, root + 4):
        with pytest.raises(ModelError, match="Root table: the vtable's"):
            decode(_patched(data, root, "<i", value))


def test_a_field_outside_its_table_is_an_error() -> None:
    data = _good()
    root = _root_table(data)
    vtable = root - struct.unpack_from("<i", data, root)[0]
    with pytest.raises(ModelError, match="Model, field version: is outside its table"):
        decode(_patched(data, vtable + 4, "<H", 0xFFF0))


def _file_with_shared_tables(width: int) -> bytes:
    """Return a small file with ``width`` subgraphs of ``width`` tensors. All subgraphs are the same table in the
    file, and so are all tensors."""
    size = 8 + 4 * (2 * width + 2) + 64
    out = bytearray(size)
    out[4:8] = b"TFL3"
    # A table must have a lower address than the tables it refers to, because offsets point forward.
    root, vt_root = 32, 8
    struct.pack_into("<HH3H", out, vt_root, 10, 8, 0, 0, 4)  # only slot 2, subgraphs
    vt_graph = 18
    struct.pack_into("<HHH", out, vt_graph, 6, 8, 4)  # only slot 0, tensors
    struct.pack_into("<HH", out, 24, 4, 4)  # a tensor without fields
    vector = root + 8
    graph = vector + 4 + 4 * width
    tensors = graph + 8
    tensor = tensors + 4 + 4 * width
    struct.pack_into("<iI", out, root, root - vt_root, vector - root - 4)
    struct.pack_into("<I", out, vector, width)
    struct.pack_into("<iI", out, graph, graph - vt_graph, tensors - graph - 4)
    struct.pack_into("<I", out, tensors, width)
    for i in range(width):
        at = vector + 4 + 4 * i
        struct.pack_into("<I", out, at, graph - at)
        at = tensors + 4 + 4 * i
        struct.pack_into("<I", out, at, tensor - at)
    struct.pack_into("<i", out, tensor, tensor - 24)
    struct.pack_into("<I", out, 0, root)
    return bytes(out)


def test_a_few_shared_tables_are_read() -> None:
    root = decode(_file_with_shared_tables(3))
    assert [len(g["tensors"]) for g in root["subgraphs"]] == [3, 3, 3]


def test_many_shared_tables_are_an_error() -> None:
    """20,000 subgraphs of 20,000 tensors in 160 KB give an error in limited processor time and memory."""
    data = _file_with_shared_tables(20_000)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ModelError, match="shared too often"):
        decode(data)
    assert time.process_time() - start < 5
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()
