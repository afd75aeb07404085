"""int4 constants are packed in files and unpacked in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.tflite.int4 import int8_weights, pack_int4_weights, unpack_int4_weights
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.fuzz.cases.conv_2d import constant_weights
from tests.fuzz.graph_builder import GraphBuilder, f32


@given(st.lists(st.integers(-8, 7), max_size=33))
def test_a_byte_stores_two_values_the_first_in_its_low_bits(values: list[int]) -> None:
    packed = pack_int4_weights(np.array(values, np.int64))
    assert len(packed) == (len(values) + 1) // 2
    assert unpack_int4_weights(packed, (len(values),)).tolist() == values
    if len(values) > 1:
        assert int(packed[0]) == (values[0] & 15) + 16 * (values[1] & 15)


@pytest.mark.parametrize("value", [-9, 8])
def test_values_outside_int4_are_an_error(value: int) -> None:
    with pytest.raises(ValueError, match="between -8 and 7"):
        pack_int4_weights(np.array([0, value]))


def dense(read_twice: bool = False) -> Model:
    """Return a FULLY_CONNECTED with 5 inputs and 3 units, so that the number of int4 weights, 15, is odd."""
    b = GraphBuilder()
    x = b.input((1, 5), "int8", b.quant("int8"))
    quant = Quantization((f32(0.02),), (0,))
    w = constant_weights(b, np.arange(-112, 128, 16).reshape(3, 5), quant, int4=True)
    y = b.tensor((1, 3), "int8", b.quant("int8"))
    b.op("FULLY_CONNECTED", [x, w], [y], "FullyConnectedOptions", version=4)
    if read_twice:
        b.op("DEQUANTIZE", [w], [b.tensor((3, 5), "float32")], "DequantizeOptions")
    return b.build()


def test_unpacked_weights_are_written_packed() -> None:
    packed = parse(to_flatbuffer(dense()))
    unpacked = int8_weights(packed)
    w = unpacked.main.tensors[1]
    assert (w.dtype, w.stored) == ("int8", "int4")
    assert w.data is not None and w.data.dtype == np.int8
    assert w.data.tolist() == np.arange(-7, 8).reshape(3, 5).tolist()
    assert to_flatbuffer(unpacked) == to_flatbuffer(packed)


def test_a_model_without_int4_weights_is_not_changed() -> None:
    model = int8_weights(parse(to_flatbuffer(dense())))
    assert int8_weights(model) is model


def test_weights_with_another_reader_stay_packed() -> None:
    model = parse(to_flatbuffer(dense(read_twice=True)))
    assert model.main.tensors[1].dtype == "int4"
    assert int8_weights(model) is model


def test_the_data_bytes_of_int4_weights_are_their_bytes_in_the_file() -> None:
    w = int8_weights(parse(to_flatbuffer(dense()))).main.tensors[1]
    assert (w.data_bytes, w.nbytes) == (8, 15)  # 15 weights: 8 bytes packed, 15 bytes unpacked
