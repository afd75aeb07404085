"""The reader returns valid models unchanged, also with unusual contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError
from tests.converters import small_models
from tests.converters.tflite.corrupted_files import corrupted

# In conv_net tensor 0 is the input, 1 the first weights, 2 their bias; operator 0 is the CONV_2D.


@pytest.mark.parametrize("name", small_models.ALL)
def test_a_written_model_is_read_back_unchanged(name: str) -> None:
    model = small_models.ALL[name]()
    loaded = parse(to_flatbuffer(model))
    assert loaded.repairs == ()
    assert to_flatbuffer(loaded) == to_flatbuffer(model)
    assert loaded.signatures == model.signatures
    for actual, expected in zip(loaded.subgraphs, model.subgraphs, strict=True):
        assert (actual.name, actual.inputs, actual.outputs, actual.ops) == (
            expected.name,
            expected.inputs,
            expected.outputs,
            expected.ops,
        )
        for a, b in zip(actual.tensors, expected.tensors, strict=True):
            assert (a.name, a.shape, a.dtype, a.quant, a.is_variable) == (
                b.name,
                b.shape,
                b.dtype,
                b.quant,
                b.is_variable,
            )
            assert (a.data is None) == (b.data is None)
            if a.data is not None and b.data is not None:
                np.testing.assert_array_equal(a.data, b.data)
                assert a.data.dtype == b.data.dtype and not a.data.flags.writeable and a.data.flags.aligned


# LiteRT's code of the type, and the bytes of 200 elements.
@pytest.mark.parametrize(("code", "count"), [(17, 100), (19, 50), (20, 100), (18, 400), (21, 200), (22, 200)])
def test_types_that_numpy_lacks_are_kept_as_bytes(code: int, count: int) -> None:
    raw = np.arange(count, dtype=np.uint8)

    def change(root: Any) -> None:
        t = root.subgraphs[0].tensors[1]
        t.type, t.shape, t.quantization = code, [200], None
        root.buffers[t.buffer].data = raw

    weights = parse(corrupted(small_models.conv_net(), change)).main.tensors[1]
    assert weights.is_constant and weights.itemsize == 0
    np.testing.assert_array_equal(weights.data, raw)
    packed = to_flatbuffer(parse(corrupted(small_models.conv_net(), change)))
    root: Any = schema.ModelT.InitFromPackedBuf(packed, 0)
    np.testing.assert_array_equal(root.buffers[root.subgraphs[0].tensors[1].buffer].data, raw)


def test_string_constants_are_checked_and_kept() -> None:
    # Two strings, from byte 16 to 18 and from 18 to 21.
    text = np.frombuffer(np.array([2, 16, 18, 21], np.int32).tobytes() + b"abcde", np.uint8)

    def change(root: Any) -> None:
        t = root.subgraphs[0].tensors[1]
        t.type, t.shape, t.quantization = 5, [2], None
        root.buffers[t.buffer].data = text

    np.testing.assert_array_equal(
        parse(corrupted(small_models.conv_net(), change)).main.tensors[1].data, text
    )
    text = text.copy()
    text[8] = 200
    with pytest.raises(ModelError, match="the offsets of its strings are not in order"):
        parse(corrupted(small_models.conv_net(), change))


def test_a_constant_without_elements_is_read() -> None:
    """TFLite stores such a constant as an empty buffer. It is a constant because no operator writes it."""

    def change(root: Any) -> None:
        g = root.subgraphs[0]
        shape = g.tensors[g.operators[5].inputs[1]]
        shape.shape, shape.buffer = [0], 0

    model = parse(corrupted(small_models.conv_net(), change))
    tensor = model.main.tensors[model.main.ops[5].inputs[1]]
    assert tensor.data is not None and tensor.data.shape == (0,) and tensor.data.dtype == np.int32
    assert not tensor.data.flags.writeable
    assert parse(to_flatbuffer(model)).main.tensors[tensor.index].is_constant


def _with_weights_after_the_flatbuffer(model: Model, *, offset: int = 0) -> bytes:
    """Return a file of ``model`` with its first weights after the flatbuffer, as in models above 2 GiB."""
    raw = np.asarray(model.main.tensors[1].data).tobytes()
    size, data = 0, b""
    for _ in range(2):  # the first pass only measures the file's size, which the offset does not change

        def change(root: Any, at: int = size) -> None:
            buffer = root.buffers[root.subgraphs[0].tensors[1].buffer]
            buffer.data, buffer.offset, buffer.size = None, (at or 2) + offset, len(raw)

        data = corrupted(model, change)
        size = len(data)
    return data + raw


def test_weights_after_the_flatbuffer_are_read() -> None:
    model = small_models.conv_net()
    np.testing.assert_array_equal(
        parse(_with_weights_after_the_flatbuffer(model)).main.tensors[1].data, model.main.tensors[1].data
    )
    with pytest.raises(
        ModelError, match=r"^Buffer \d+, field data offset and size: its 108 bytes at .* run past"
    ):
        parse(_with_weights_after_the_flatbuffer(model, offset=1))
