"""The reader's errors name the table, the field, the value and what was expected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.tflite.reader import load, parse
from arenite.errors import ModelError, UnsupportedModelError
from tests.converters import small_models
from tests.converters.tflite.corrupted_files import (
    Change,
    change_model,
    change_operator,
    change_options,
    change_quantization,
    change_signature,
    change_subgraph,
    change_tensor,
    corrupted,
)

# In conv_net tensor 0 is the input, 1 the first weights, 2 their bias; operator 0 is the CONV_2D.


def _bad_metadata(root: Any) -> None:
    entry = schema.MetadataT()
    entry.name, entry.buffer = "note", 999
    root.metadata = [entry]


def _wrong_union(root: Any) -> None:
    op = root.subgraphs[0].operators[0]
    op.builtinOptionsType, op.builtinOptions = schema.BuiltinOptions.Pool2DOptions, schema.Pool2DOptionsT()


def _no_options(root: Any) -> None:
    op = root.subgraphs[0].operators[0]
    op.builtinOptionsType, op.builtinOptions = 0, None


def _cycle(root: Any) -> None:
    # ADD (operator 2) reads the output of the MAX_POOL_2D (operator 3), which reads the ADD.
    ops = root.subgraphs[0].operators
    ops[2].inputs = [ops[2].inputs[0], ops[3].outputs[0]]


def _output_written_twice(root: Any) -> None:
    ops = root.subgraphs[0].operators
    ops[1].outputs = ops[0].outputs


def _missing_operator(root: Any) -> None:
    root.subgraphs[0].operators.pop(0)


def _sparse(root: Any) -> None:
    root.subgraphs[0].tensors[1].sparsity = schema.SparsityParametersT()


def _blockwise(root: Any) -> None:
    q = root.subgraphs[0].tensors[1].quantization
    q.detailsType, q.details = 2, schema.BlockwiseQuantizationT()


def _placeholder(root: Any) -> None:
    root.operatorCodes[0].builtinCode = 127


#: (name of the case, change of conv_net, message)
MALFORMED: list[tuple[str, Change, str]] = [
    ("version", change_model(version=2), "Model, field version: is 2, expected 3."),
    ("no graph", change_model(subgraphs=[]), "Model, field subgraphs: is empty"),
    (
        "negative",
        change_tensor(0, shape=[1, -8, 8, 3]),
        "Subgraph 0, tensor 0 't0', field shape: [1, -8, 8, 3] has a negative",
    ),
    (
        "huge",
        change_tensor(0, shape=[65536, 65536, 8, 3]),
        "tensor 0 't0', field shape: [65536, 65536, 8, 3] has too many",
    ),
    (
        "zero hides",
        change_tensor(0, shape=[0, 2**30, 2**30, 3]),
        "field shape: [0, 1073741824, 1073741824, 3] has too many",
    ),
    ("rank", change_tensor(0, shape=[1] * 9), "field shape: has 9 dimensions"),
    (
        "constant size",
        change_tensor(1, shape=[4, 3, 3, 2]),
        "tensor 1 't1', field buffer: holds 108 bytes, but int8 [4, 3, 3, 2] takes 72.",
    ),
    ("buffer", change_tensor(1, buffer=99), "tensor 1 't1', field buffer: is 99, but the model has"),
    (
        "signature rank",
        change_tensor(0, shapeSignature=[1, 8]),
        "field shape_signature: [1, 8] has another rank",
    ),
    (
        "signature dims",
        change_tensor(0, shapeSignature=[1, 9, 8, 3]),
        "field shape_signature: [1, 9, 8, 3] contradicts",
    ),
    (
        "resource",
        change_tensor(1, type=13),
        "tensor 1 't1', field buffer: a resource tensor cannot have a constant value",
    ),
    ("string", change_tensor(1, type=5), "tensor 1 't1', field buffer: holds"),
    (
        "scales",
        change_quantization(1, scale=np.array([1, 2, 3], np.float32), zeroPoint=[0, 0, 0]),
        "tensor 1 't1', field quantization.scale: has 3 values, expected 1 or 4",
    ),
    (
        "zero scale",
        change_quantization(0, scale=np.array([0], np.float32)),
        "tensor 0 't0', field quantization.scale: has the value 0.0",
    ),
    (
        "nan scale",
        change_quantization(0, scale=np.array([np.nan], np.float32)),
        "field quantization.scale: has the value nan",
    ),
    (
        "inf scale",
        change_quantization(1, scale=np.array([1, np.inf, 1, 1], np.float32)),
        "field quantization.scale: has the value inf",
    ),
    (
        "negative scale",
        change_quantization(1, scale=np.array([1, -1, 1, 1], np.float32)),
        "field quantization.scale: has the value -1.0",
    ),
    (
        "zero points",
        change_quantization(1, zeroPoint=[0, 0]),
        "field quantization.zero_point: has 2 values, expected 4 as in scale",
    ),
    (
        "zero point",
        change_quantization(0, zeroPoint=[200]),
        "tensor 0 't0', field quantization.zero_point: has the value 200, outside int8 (-128 to 127)",
    ),
    (
        "axis",
        change_quantization(1, quantizedDimension=1),
        "tensor 1 't1', field quantization.scale: has 4 values, expected 1 or 3 (quantized_dimension 1",
    ),
    (
        "opcode",
        change_operator(0, opcodeIndex=50),
        "Subgraph 0, operator 0, field opcode_index: is 50, but the model has",
    ),
    (
        "input",
        change_operator(0, inputs=[0, 1, 77]),
        "Subgraph 0, operator 0 (CONV_2D), field inputs[2]: is tensor 77, but the subgraph has",
    ),
    (
        "absent input",
        change_operator(0, inputs=[0, -1, 2]),
        "operator 0 (CONV_2D), field inputs[1]: is absent (-1)",
    ),
    ("output", change_operator(0, outputs=[-1]), "operator 0 (CONV_2D), field outputs[0]: is tensor -1"),
    (
        "few inputs",
        change_operator(0, inputs=[0]),
        "operator 0 (CONV_2D), field inputs: has 1 tensor, expected 2 to 3.",
    ),
    (
        "many outputs",
        change_operator(0, outputs=[3, 4]),
        "operator 0 (CONV_2D), field outputs: has 2 tensors, expected 1.",
    ),
    (
        "intermediate",
        change_operator(0, intermediates=[500]),
        "operator 0 (CONV_2D), field intermediates[0]: is tensor 500",
    ),
    (
        "stride",
        change_options(0, strideW=0),
        "operator 0 (CONV_2D), field builtin_options.stride_w: is 0, must be at least 1",
    ),
    (
        "beta",
        change_options(7, beta=float("nan")),
        "operator 7 (SOFTMAX), field builtin_options.beta: is nan",
    ),
    (
        "activation",
        change_options(0, fusedActivationFunction=9),
        "operator 0, field builtin_options.fused_activation_function: is 9, expected 0 to 5",
    ),
    (
        "union",
        _wrong_union,
        "operator 0 (CONV_2D), field builtin_options: holds Pool2DOptions, expected Conv2DOptions",
    ),
    (
        "no options",
        _no_options,
        "operator 0 (CONV_2D), field builtin_options.stride_w: is 0, must be at least 1",
    ),
    ("graph input", change_subgraph(inputs=[400]), "Subgraph 0, field inputs[0]: is tensor 400"),
    ("graph input twice", change_subgraph(inputs=[0, 0]), "tensor 0 't0', field inputs[1]: is listed twice"),
    (
        "constant input",
        change_subgraph(inputs=[0, 1]),
        "Subgraph 0, field inputs[1]: tensor 1 't1' is a constant",
    ),
    ("graph output", change_subgraph(outputs=[-1]), "Subgraph 0, field outputs[0]: is tensor -1"),
    (
        "cycle",
        _cycle,
        "Subgraph 0, operator 2 (ADD), field inputs[1]: tensor 8 't8' depends on this operator's own output",
    ),
    (
        "written twice",
        _output_written_twice,
        "operator 1 (DEPTHWISE_CONV_2D), field outputs[0]: tensor 3 't3' is already produced by operator 0 (CONV_2D)",
    ),
    (
        "missing operator",
        _missing_operator,
        "operator 0 (DEPTHWISE_CONV_2D), field inputs[0]: reads tensor 3 't3', which no operator produces",
    ),
    (
        "writes a constant",
        change_operator(0, outputs=[4]),
        "operator 0 (CONV_2D), field outputs[0]: tensor 4 't4' is a constant",
    ),
    (
        "writes an input",
        change_operator(1, outputs=[0]),
        "operator 1 (DEPTHWISE_CONV_2D), field outputs[0]: tensor 0 't0' is an input",
    ),
    (
        "signature subgraph",
        change_signature(subgraphIndex=7),
        "Signature 0 'serving_default', field subgraph_index: is 7, but the model has 1 subgraph",
    ),
    ("signature key", change_signature(signatureKey=None), "Signature 0, field signature_key: is missing"),
    ("metadata", _bad_metadata, "Metadata entry 0 'note', field buffer: is 999"),
    ("placeholder", _placeholder, "Operator code 0, field builtin_code: 127 is not a known operator"),
]


@pytest.mark.parametrize(
    ("change", "message"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_the_error_of_a_malformed_model_names_the_field(change: Change, message: str) -> None:
    data = corrupted(small_models.conv_net(), change)
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        parse(data)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "no specific check" not in caught.value.problem


#: (name of the case, change of conv_net, message)
UNSUPPORTED: list[tuple[str, Change, str]] = [
    (
        "dynamic",
        change_tensor(0, shape=[1, -1, 8, 3]),
        "tensor 0 't0', field shape: [1, -1, 8, 3] has a dynamic dimension",
    ),
    (
        "signature",
        change_tensor(0, shapeSignature=[1, -1, 8, 3]),
        "field shape_signature: [1, -1, 8, 3] has a dynamic",
    ),
    ("sparse", _sparse, "tensor 1 't1', field sparsity: sparse weights"),
    ("blockwise", _blockwise, "tensor 1 't1', field quantization.details: block-wise"),
    (
        "external",
        change_tensor(1, externalBuffer=1),
        "tensor 1 't1', field external_buffer: weights in another file",
    ),
    (
        "variable",
        change_tensor(1, isVariable=True),
        "tensor 1 't1', field is_variable: a variable with an initial value",
    ),
    (
        "large scale",
        change_quantization(1, scale=np.array([1, 2e9, 1, 1], np.float32)),
        "tensor 1 't1', field quantization.scale: has the value 2000000000.0, outside 8.7e-19 to 1.1e+09",
    ),
    (
        "small scale",
        change_quantization(0, scale=np.array([2.0**-80], np.float32)),
        "tensor 0 't0', field quantization.scale: has the value 8.2",
    ),
    (
        "large",
        change_tensor(0, shape=[1, 2**20, 64, 3]),
        "tensor 0 't0', field shape: [1, 1048576, 64, 3] of int8 takes 201,326,592 bytes",
    ),
]


@pytest.mark.parametrize(
    ("change", "message"), [case[1:] for case in UNSUPPORTED], ids=[case[0] for case in UNSUPPORTED]
)
def test_the_error_of_an_unsupported_model_names_the_field(change: Change, message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        parse(corrupted(small_models.conv_net(), change))


def _change_called_subgraph(target: int) -> Change:
    """Return a change of the subgraph that the first operator, CALL_ONCE, calls."""

    def change(root: Any) -> None:
        root.subgraphs[0].operators[0].builtinOptions.initSubgraphIndex = target

    return change


def test_a_wrong_called_subgraph_is_an_error() -> None:
    with pytest.raises(
        ModelError, match=r"\(CALL_ONCE\), field builtin_options.init_subgraph_index: is 2, but"
    ):
        parse(corrupted(small_models.with_state(), _change_called_subgraph(2)))
    with pytest.raises(
        ModelError, match="Subgraph 0, field operators: the subgraph is called from within itself"
    ):
        parse(corrupted(small_models.with_state(), _change_called_subgraph(0)))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"Cannot read .*nothing\.tflite: No such file"):
        load(tmp_path / "nothing.tflite")


def test_an_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"bad\.tflite: The file identifier is b'a mo'"):
        load(tmp_path / "bad.tflite")
