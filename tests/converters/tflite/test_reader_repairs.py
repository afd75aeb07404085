"""The reader repairs files that LiteRT rejects or that older converters wrote, and lists every repair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import parse
from arenite.errors import ModelError
from arenite.host.bench.reference import Reference
from tests.converters import small_models
from tests.converters.tflite.corrupted_files import Change, change_quantization, change_tensor, corrupted

# In conv_net tensor 0 is the input, 1 the first weights, 2 their bias; operator 0 is the CONV_2D.


def _swap_operators(root: Any) -> None:
    ops = root.subgraphs[0].operators
    ops[0], ops[3] = ops[3], ops[0]


def _repair(model: Model, change: Change) -> Model:
    """Return the repaired model.

    Check that LiteRT runs it, that its outputs equal those of ``model``, and that the written file needs no repair.
    """
    repaired = parse(corrupted(model, change))
    data = to_flatbuffer(repaired)
    assert parse(data).repairs == ()
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, model.main.tensors[0].shape).astype(np.int8)
    expected = Reference(to_flatbuffer(model)).run([x])
    for a, b in zip(expected, Reference(data).run([x]), strict=True):
        np.testing.assert_array_equal(a, b)
    return repaired


def test_old_operator_codes_are_completed() -> None:
    def change(root: Any) -> None:
        for code in root.operatorCodes:
            code.builtinCode = 0

    repaired = _repair(small_models.conv_net(), change)
    assert repaired.repairs == (
        "7 operator codes (first: CONV_2D) was only in deprecated_builtin_code; builtin_code is set as well.",
    )
    assert repaired.main.ops[0].name == "CONV_2D"


def test_a_missing_signature_is_added() -> None:
    repaired = _repair(small_models.conv_net(), lambda root: setattr(root, "signatureDefs", None))
    assert repaired.repairs == (
        "The model had no signature; 'serving_default' names its inputs and outputs.",
    )
    (signature,) = repaired.signatures
    assert (signature.key, signature.inputs) == ("serving_default", (("t0", 0),))


def test_a_bias_axis_outside_its_rank_is_set_to_0() -> None:
    def change(root: Any) -> None:
        for op in root.subgraphs[0].operators[:2]:
            root.subgraphs[0].tensors[op.inputs[2]].quantization.quantizedDimension = 3

    with pytest.raises(ModelError, match="LiteRT does not load the model"):
        Reference(corrupted(small_models.conv_net(), change))
    repaired = _repair(small_models.conv_net(), change)
    assert repaired.repairs == (
        "The quantized_dimension 3 of 2 tensors (first: Subgraph 0, tensor 2 't2') is outside the shape; "
        "it is set to 0.",
    )
    bias = repaired.main.tensors[2].quant
    assert bias is not None and bias.axis == 0 and len(bias.scale) == 4


def test_missing_zero_points_are_set_to_0() -> None:
    repaired = _repair(small_models.conv_net(), change_quantization(1, zeroPoint=None))
    assert repaired.repairs == (
        "The missing zero_point of 1 tensor (first: Subgraph 0, tensor 1 't1') is set to 0.",
    )
    quant = repaired.main.tensors[1].quant
    assert quant is not None and quant.zero_point == (0, 0, 0, 0)


def test_a_single_zero_point_is_repeated_for_each_channel() -> None:
    repaired = _repair(small_models.conv_net(), change_quantization(1, zeroPoint=[0]))
    assert "is repeated for each channel" in repaired.repairs[0]


def test_operators_in_a_wrong_order_are_sorted() -> None:
    repaired = _repair(small_models.conv_net(), _swap_operators)
    assert repaired.repairs == ("The operators of subgraph 0 were not in execution order; they are sorted.",)
    assert [o.index for o in repaired.main.ops] == list(range(8))
    assert [o.name for o in repaired.main.ops] == [o.name for o in small_models.conv_net().main.ops]


def test_operators_on_state_in_a_wrong_order_are_an_error() -> None:
    """READ_VARIABLE is after the ASSIGN_VARIABLE that depends on it. Sorting would change the value that is read."""

    def change(root: Any) -> None:
        ops = root.subgraphs[0].operators
        ops.append(ops.pop(2))

    with pytest.raises(ModelError, match=r"\(READ_VARIABLE\), field inputs: .* must not be moved before it"):
        parse(corrupted(small_models.with_state(), change))


def test_a_dynamic_batch_is_fixed_at_1() -> None:
    repaired = _repair(small_models.conv_net(), change_tensor(0, shapeSignature=[-1, 8, 8, 3]))
    assert repaired.repairs == (
        "The dynamic batch dimension of 1 tensor (first: Subgraph 0, tensor 0 't0') is fixed at 1.",
    )
    assert repaired.main.tensors[0].shape_signature is None


def test_missing_options_get_their_defaults() -> None:
    def change(root: Any) -> None:
        op = root.subgraphs[0].operators[2]
        op.builtinOptionsType, op.builtinOptions = 0, None

    repaired = _repair(small_models.conv_net(), change)
    assert dict(repaired.main.ops[2].options) == {"fused_activation_function": 0, "pot_scale_int16": True}


def test_repeated_metadata_is_left_out() -> None:
    def change(root: Any) -> None:
        root.metadata = []
        for value in (b"first", b"second"):
            entry: Any = schema.MetadataT()
            buffer: Any = schema.BufferT()
            buffer.data = np.frombuffer(value, np.uint8)
            entry.name, entry.buffer = "note", len(root.buffers)
            root.buffers.append(buffer)
            root.metadata.append(entry)

    repaired = parse(corrupted(small_models.conv_net(), change))
    assert repaired.metadata == {"note": b"first"}
    assert repaired.repairs == ("1 metadata entry with a name used before (first: 'note') is left out.",)
