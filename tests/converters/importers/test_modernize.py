"""Tests of ``modernize``, which rewrites an old flatbuffer as current tools expect it, and of ``to_float32``, which
converts float16 and int8 weights to float32."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.importers.litert_runs import random_inputs, run_litert
from arenite.converters.importers.modernize import (
    has_dynamic_range_weights,
    has_float16,
    has_quantized_operators,
    modernize,
    to_float32,
)
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer
from tests.converters.importers.float_network import float_net
from tests.converters.small_models import conv_net


def as_old_converters_wrote(model: Model) -> bytes:
    """Return a flatbuffer that has only ``deprecated_builtin_code``, without ``builtin_code``, and no signature."""
    table: Any = schema.ModelT.InitFromObj(schema.Model.GetRootAs(to_flatbuffer(model), 0))
    for code in table.operatorCodes:
        code.builtinCode = 0
    table.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(table.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_an_old_file_gets_codes_and_a_signature_and_keeps_its_values() -> None:
    old = as_old_converters_wrote(conv_net())
    new = modernize(old)
    table = schema.Model.GetRootAs(new, 0)
    codes: list[Any] = [table.OperatorCodes(i) for i in range(table.OperatorCodesLength())]
    assert all(c.BuiltinCode() == c.DeprecatedBuiltinCode() for c in codes)
    assert sum(c.BuiltinCode() != 0 for c in codes) == len(codes) - 1  # ADD is code 0
    assert table.SignatureDefsLength() == 1
    samples = random_inputs(parse(old))
    for a, b in zip(run_litert(old, samples), run_litert(new, samples), strict=True):
        np.testing.assert_array_equal(a, b)


def test_modernizing_a_second_time_changes_nothing() -> None:
    new = modernize(as_old_converters_wrote(conv_net()))
    assert modernize(new) == new


@pytest.mark.parametrize(
    ("stored", "expected"),
    [("float32", (False, False)), ("float16", (True, False)), ("int8", (False, True))],
)
def test_the_stored_type_of_weights_is_recognized(stored: str, expected: tuple[bool, bool]) -> None:
    model = float_net(stored)
    assert (has_float16(model), has_dynamic_range_weights(model)) == expected
    assert not has_quantized_operators(model)


def test_an_int8_model_is_quantized() -> None:
    assert has_quantized_operators(conv_net())
    assert not has_dynamic_range_weights(conv_net())


def test_float16_becomes_float32_with_the_same_values() -> None:
    model = float_net("float16")
    floats, notes = to_float32(model)
    assert [op.name for op in floats.main.ops] == ["FULLY_CONNECTED"]
    assert not has_float16(floats)
    assert notes == ("1 float16 constant became float32.",)
    samples = random_inputs(model)
    before, after = run_litert(to_flatbuffer(model), samples), run_litert(to_flatbuffer(floats), samples)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a[0], b[0])


def test_int8_weights_become_scale_times_value() -> None:
    floats, notes = to_float32(float_net("int8"))
    weights = floats.main.tensors[floats.main.ops[0].inputs[1]]
    assert weights.dtype == "float32" and weights.data is not None
    exact = float_net().main.tensors[1].data  # the same random weights as float32
    assert exact is not None
    # The error is at most half a quantization step. A step is the largest absolute weight of a row, divided by 127.
    # The limit is 0.501 steps instead of 0.5, to allow for rounding in float32.
    assert np.all(np.abs(weights.data - exact) <= np.abs(exact).max(1, keepdims=True) / 127 * 0.501)
    assert notes == ("1 stored int8 weight tensor became float32.",)
    parse(to_flatbuffer(floats))


def test_a_float_model_is_not_changed() -> None:
    model = float_net()
    converted, notes = to_float32(model)
    assert converted == model and not notes
