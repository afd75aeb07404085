"""The reader: what it mends, what it refuses, and the words it uses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.reader import load, parse
from arenite.errors import ModelError, UnsupportedModelError
from arenite.host.bench.reference import Reference
from tests.converters import small_models
from tests.converters.tflite.corrupted_files import damaged

# In conv_net tensor 0 is the input, 1 the first weights, 2 their bias; operator 0 is the CONV_2D.


def _tensor(index: int, **values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.subgraphs[0].tensors[index], name, value)

    return change


def _quant(index: int, **values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.subgraphs[0].tensors[index].quantization, name, value)

    return change


def _op(index: int, **values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.subgraphs[0].operators[index], name, value)

    return change


def _options(index: int, **values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.subgraphs[0].operators[index].builtinOptions, name, value)

    return change


def _graph(**values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.subgraphs[0], name, value)

    return change


def _root(**values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root, name, value)

    return change


def _signature(**values: Any) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        for name, value in values.items():
            setattr(root.signatureDefs[0], name, value)

    return change


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


def _swap(root: Any) -> None:
    ops = root.subgraphs[0].operators
    ops[0], ops[3] = ops[3], ops[0]


def _cycle(root: Any) -> None:
    # ADD (operator 2) reads the output of the MAX_POOL_2D (operator 3), which reads the ADD.
    ops = root.subgraphs[0].operators
    ops[2].inputs = [ops[2].inputs[0], ops[3].outputs[0]]


def _twice(root: Any) -> None:
    ops = root.subgraphs[0].operators
    ops[1].outputs = ops[0].outputs


def _unmade(root: Any) -> None:
    root.subgraphs[0].operators.pop(0)


def _sparse(root: Any) -> None:
    root.subgraphs[0].tensors[1].sparsity = schema.SparsityParametersT()


def _blockwise(root: Any) -> None:
    q = root.subgraphs[0].tensors[1].quantization
    q.detailsType, q.details = 2, schema.BlockwiseQuantizationT()


def _placeholder(root: Any) -> None:
    root.operatorCodes[0].builtinCode = 127


WRONG: list[tuple[str, Callable[[Any], None], str]] = [
    ("version", _root(version=2), "Model, field version: is 2, expected 3."),
    ("no graph", _root(subgraphs=[]), "Model, field subgraphs: is empty"),
    (
        "negative",
        _tensor(0, shape=[1, -8, 8, 3]),
        "Subgraph 0, tensor 0 't0', field shape: [1, -8, 8, 3] has a negative",
    ),
    (
        "huge",
        _tensor(0, shape=[65536, 65536, 8, 3]),
        "tensor 0 't0', field shape: [65536, 65536, 8, 3] has too many",
    ),
    (
        "zero hides",
        _tensor(0, shape=[0, 2**30, 2**30, 3]),
        "field shape: [0, 1073741824, 1073741824, 3] has too many",
    ),
    ("rank", _tensor(0, shape=[1] * 9), "field shape: has 9 dimensions"),
    (
        "constant size",
        _tensor(1, shape=[4, 3, 3, 2]),
        "tensor 1 't1', field buffer: holds 108 bytes, but int8 [4, 3, 3, 2] takes 72.",
    ),
    ("buffer", _tensor(1, buffer=99), "tensor 1 't1', field buffer: is 99, but the model has"),
    ("signature rank", _tensor(0, shapeSignature=[1, 8]), "field shape_signature: [1, 8] has another rank"),
    (
        "signature dims",
        _tensor(0, shapeSignature=[1, 9, 8, 3]),
        "field shape_signature: [1, 9, 8, 3] contradicts",
    ),
    (
        "resource",
        _tensor(1, type=13),
        "tensor 1 't1', field buffer: a resource tensor cannot have a constant value",
    ),
    ("string", _tensor(1, type=5), "tensor 1 't1', field buffer: holds"),
    (
        "scales",
        _quant(1, scale=np.array([1, 2, 3], np.float32), zeroPoint=[0, 0, 0]),
        "tensor 1 't1', field quantization.scale: has 3 values, expected 1 or 4",
    ),
    (
        "zero scale",
        _quant(0, scale=np.array([0], np.float32)),
        "tensor 0 't0', field quantization.scale: has the value 0.0",
    ),
    (
        "nan scale",
        _quant(0, scale=np.array([np.nan], np.float32)),
        "field quantization.scale: has the value nan",
    ),
    (
        "inf scale",
        _quant(1, scale=np.array([1, np.inf, 1, 1], np.float32)),
        "field quantization.scale: has the value inf",
    ),
    (
        "negative scale",
        _quant(1, scale=np.array([1, -1, 1, 1], np.float32)),
        "field quantization.scale: has the value -1.0",
    ),
    (
        "zero points",
        _quant(1, zeroPoint=[0, 0]),
        "field quantization.zero_point: has 2 values, expected 4 as in scale",
    ),
    (
        "zero point",
        _quant(0, zeroPoint=[200]),
        "tensor 0 't0', field quantization.zero_point: has the value 200, outside int8 (-128 to 127)",
    ),
    (
        "axis",
        _quant(1, quantizedDimension=1),
        "tensor 1 't1', field quantization.scale: has 4 values, expected 1 or 3 (quantized_dimension 1",
    ),
    (
        "opcode",
        _op(0, opcodeIndex=50),
        "Subgraph 0, operator 0, field opcode_index: is 50, but the model has",
    ),
    (
        "input",
        _op(0, inputs=[0, 1, 77]),
        "Subgraph 0, operator 0 (CONV_2D), field inputs[2]: is tensor 77, but the subgraph has",
    ),
    ("absent input", _op(0, inputs=[0, -1, 2]), "operator 0 (CONV_2D), field inputs[1]: is absent (-1)"),
    ("output", _op(0, outputs=[-1]), "operator 0 (CONV_2D), field outputs[0]: is tensor -1"),
    ("few inputs", _op(0, inputs=[0]), "operator 0 (CONV_2D), field inputs: has 1 tensor, expected 2 to 3."),
    (
        "many outputs",
        _op(0, outputs=[3, 4]),
        "operator 0 (CONV_2D), field outputs: has 2 tensors, expected 1.",
    ),
    (
        "intermediate",
        _op(0, intermediates=[500]),
        "operator 0 (CONV_2D), field intermediates[0]: is tensor 500",
    ),
    (
        "stride",
        _options(0, strideW=0),
        "operator 0 (CONV_2D), field builtin_options.stride_w: is 0, must be at least 1",
    ),
    ("beta", _options(7, beta=float("nan")), "operator 7 (SOFTMAX), field builtin_options.beta: is nan"),
    (
        "activation",
        _options(0, fusedActivationFunction=9),
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
    ("graph input", _graph(inputs=[400]), "Subgraph 0, field inputs[0]: is tensor 400"),
    ("graph input twice", _graph(inputs=[0, 0]), "tensor 0 't0', field inputs[1]: is listed twice"),
    ("constant input", _graph(inputs=[0, 1]), "Subgraph 0, field inputs[1]: tensor 1 't1' is a constant"),
    ("graph output", _graph(outputs=[-1]), "Subgraph 0, field outputs[0]: is tensor -1"),
    (
        "cycle",
        _cycle,
        "Subgraph 0, operator 2 (ADD), field inputs[1]: tensor 8 't8' depends on this operator's own output",
    ),
    (
        "made twice",
        _twice,
        "operator 1 (DEPTHWISE_CONV_2D), field outputs[0]: tensor 3 't3' is already produced by operator 0 (CONV_2D)",
    ),
    (
        "made by nobody",
        _unmade,
        "operator 0 (DEPTHWISE_CONV_2D), field inputs[0]: reads tensor 3 't3', which no operator produces",
    ),
    (
        "writes a constant",
        _op(0, outputs=[4]),
        "operator 0 (CONV_2D), field outputs[0]: tensor 4 't4' is a constant",
    ),
    (
        "writes an input",
        _op(1, outputs=[0]),
        "operator 1 (DEPTHWISE_CONV_2D), field outputs[0]: tensor 0 't0' is an input",
    ),
    (
        "signature subgraph",
        _signature(subgraphIndex=7),
        "Signature 0 'serving_default', field subgraph_index: is 7, but the model has 1 subgraph",
    ),
    ("signature key", _signature(signatureKey=None), "Signature 0, field signature_key: is missing"),
    ("metadata", _bad_metadata, "Metadata entry 0 'note', field buffer: is 999"),
    ("placeholder", _placeholder, "Operator code 0, field builtin_code: 127 is not a known operator"),
]


@pytest.mark.parametrize(("change", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_malformed_models_are_refused_in_words(change: Callable[[Any], None], message: str) -> None:
    data = damaged(small_models.conv_net(), change)
    with pytest.raises(ModelError, match=re.escape(message)) as caught:
        parse(data)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "no specific check" not in caught.value.problem


UNSUPPORTED: list[tuple[str, Callable[[Any], None], str]] = [
    (
        "dynamic",
        _tensor(0, shape=[1, -1, 8, 3]),
        "tensor 0 't0', field shape: [1, -1, 8, 3] has a dynamic dimension",
    ),
    (
        "signature",
        _tensor(0, shapeSignature=[1, -1, 8, 3]),
        "field shape_signature: [1, -1, 8, 3] has a dynamic",
    ),
    ("sparse", _sparse, "tensor 1 't1', field sparsity: sparse weights"),
    ("blockwise", _blockwise, "tensor 1 't1', field quantization.details: block-wise"),
    (
        "external",
        _tensor(1, externalBuffer=1),
        "tensor 1 't1', field external_buffer: weights in another file",
    ),
    (
        "variable",
        _tensor(1, isVariable=True),
        "tensor 1 't1', field is_variable: a variable with an initial value",
    ),
    (
        "large scale",
        _quant(1, scale=np.array([1, 2e9, 1, 1], np.float32)),
        "tensor 1 't1', field quantization.scale: has the value 2000000000.0, outside 8.7e-19 to 1.1e+09",
    ),
    (
        "small scale",
        _quant(0, scale=np.array([2.0**-80], np.float32)),
        "tensor 0 't0', field quantization.scale: has the value 8.2",
    ),
    (
        "large",
        _tensor(0, shape=[1, 2**20, 64, 3]),
        "tensor 0 't0', field shape: [1, 1048576, 64, 3] of int8 takes 201,326,592 bytes",
    ),
]


@pytest.mark.parametrize(("change", "message"), [u[1:] for u in UNSUPPORTED], ids=[u[0] for u in UNSUPPORTED])
def test_unsupported_models_are_refused_in_words(change: Callable[[Any], None], message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=re.escape(message)):
        parse(damaged(small_models.conv_net(), change))


def _call(target: int) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        root.subgraphs[0].operators[0].builtinOptions.initSubgraphIndex = target

    return change


def test_called_subgraph_is_checked() -> None:
    with pytest.raises(
        ModelError, match=r"\(CALL_ONCE\), field builtin_options.init_subgraph_index: is 2, but"
    ):
        parse(damaged(small_models.with_state(), _call(2)))
    with pytest.raises(
        ModelError, match="Subgraph 0, field operators: the subgraph is called from within itself"
    ):
        parse(damaged(small_models.with_state(), _call(0)))


@pytest.mark.parametrize("name", small_models.ALL)
def test_good_models_come_back_unchanged(name: str) -> None:
    model = small_models.ALL[name]()
    again = parse(to_flatbuffer(model))
    assert again.repairs == ()
    assert to_flatbuffer(again) == to_flatbuffer(model)
    assert again.signatures == model.signatures
    for ours, theirs in zip(again.subgraphs, model.subgraphs, strict=True):
        assert (ours.name, ours.inputs, ours.outputs, ours.ops) == (
            theirs.name,
            theirs.inputs,
            theirs.outputs,
            theirs.ops,
        )
        for a, b in zip(ours.tensors, theirs.tensors, strict=True):
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


# --- repairs -----------------------------------------------------------------------------------------------


def _mended(model: Model, change: Callable[[Any], None]) -> Model:
    """The repaired model, after checking that LiteRT runs it, that it computes what ``model`` does, and that
    writing it leaves nothing to repair."""
    mended = parse(damaged(model, change))
    data = to_flatbuffer(mended)
    assert parse(data).repairs == ()
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, model.main.tensors[0].shape).astype(np.int8)
    want = Reference(to_flatbuffer(model)).run([x])
    for a, b in zip(want, Reference(data).run([x]), strict=True):
        np.testing.assert_array_equal(a, b)
    return mended


def test_old_operator_codes() -> None:
    def change(root: Any) -> None:
        for code in root.operatorCodes:
            code.builtinCode = 0

    mended = _mended(small_models.conv_net(), change)
    assert mended.repairs == (
        "7 operator codes (first: CONV_2D) was only in deprecated_builtin_code; builtin_code is set as well.",
    )
    assert mended.main.ops[0].name == "CONV_2D"


def test_missing_signature() -> None:
    mended = _mended(small_models.conv_net(), lambda root: setattr(root, "signatureDefs", None))
    assert mended.repairs == ("The model had no signature; 'serving_default' names its inputs and outputs.",)
    (signature,) = mended.signatures
    assert (signature.key, signature.inputs) == ("serving_default", (("t0", 0),))


def test_bias_axis_outside_its_rank() -> None:
    def change(root: Any) -> None:
        for op in root.subgraphs[0].operators[:2]:
            root.subgraphs[0].tensors[op.inputs[2]].quantization.quantizedDimension = 3

    with pytest.raises(ModelError, match="LiteRT does not load the model"):
        Reference(damaged(small_models.conv_net(), change))
    mended = _mended(small_models.conv_net(), change)
    assert mended.repairs == (
        "The quantized_dimension 3 of 2 tensors (first: Subgraph 0, tensor 2 't2') is outside the shape; "
        "it is set to 0.",
    )
    bias = mended.main.tensors[2].quant
    assert bias is not None and bias.axis == 0 and len(bias.scale) == 4


def test_missing_zero_points() -> None:
    mended = _mended(small_models.conv_net(), _quant(1, zeroPoint=None))
    assert mended.repairs == (
        "The missing zero_point of 1 tensor (first: Subgraph 0, tensor 1 't1') is set to 0.",
    )
    quant = mended.main.tensors[1].quant
    assert quant is not None and quant.zero_point == (0, 0, 0, 0)


def test_one_zero_point_for_all_channels() -> None:
    mended = _mended(small_models.conv_net(), _quant(1, zeroPoint=[0]))
    assert "is repeated for each channel" in mended.repairs[0]


def test_operators_out_of_order() -> None:
    mended = _mended(small_models.conv_net(), _swap)
    assert mended.repairs == ("The operators of subgraph 0 were not in execution order; they are sorted.",)
    assert [o.index for o in mended.main.ops] == list(range(8))
    assert [o.name for o in mended.main.ops] == [o.name for o in small_models.conv_net().main.ops]


def test_order_of_state_is_not_changed() -> None:
    """READ_VARIABLE moved to the end, after the ASSIGN_VARIABLE that depends on it: no order keeps the meaning."""

    def change(root: Any) -> None:
        ops = root.subgraphs[0].operators
        ops.append(ops.pop(2))

    with pytest.raises(ModelError, match=r"\(READ_VARIABLE\), field inputs: .* must not be moved before it"):
        parse(damaged(small_models.with_state(), change))


def test_dynamic_batch_is_fixed() -> None:
    mended = _mended(small_models.conv_net(), _tensor(0, shapeSignature=[-1, 8, 8, 3]))
    assert mended.repairs == (
        "The dynamic batch dimension of 1 tensor (first: Subgraph 0, tensor 0 't0') is fixed at 1.",
    )
    assert mended.main.tensors[0].shape_signature is None


def test_options_that_are_left_out_get_the_defaults() -> None:
    def change(root: Any) -> None:
        op = root.subgraphs[0].operators[2]
        op.builtinOptionsType, op.builtinOptions = 0, None

    mended = _mended(small_models.conv_net(), change)
    assert dict(mended.main.ops[2].options) == {"fused_activation_function": 0, "pot_scale_int16": True}


def test_repeated_metadata() -> None:
    def change(root: Any) -> None:
        root.metadata = []
        for value in (b"first", b"second"):
            entry: Any = schema.MetadataT()
            buffer: Any = schema.BufferT()
            buffer.data = np.frombuffer(value, np.uint8)
            entry.name, entry.buffer = "note", len(root.buffers)
            root.buffers.append(buffer)
            root.metadata.append(entry)

    mended = parse(damaged(small_models.conv_net(), change))
    assert mended.metadata == {"note": b"first"}
    assert mended.repairs == ("1 metadata entry with a name used before (first: 'note') is left out.",)


# --- unusual but valid -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "count"), [(17, 100), (19, 50), (20, 100), (18, 400), (21, 200), (22, 200)])
def test_types_without_numpy_are_kept_as_bytes(code: int, count: int) -> None:
    raw = np.arange(count, dtype=np.uint8)

    def change(root: Any) -> None:
        t = root.subgraphs[0].tensors[1]
        t.type, t.shape, t.quantization = code, [200], None
        root.buffers[t.buffer].data = raw

    weights = parse(damaged(small_models.conv_net(), change)).main.tensors[1]
    assert weights.is_constant and weights.itemsize == 0
    np.testing.assert_array_equal(weights.data, raw)
    packed = to_flatbuffer(parse(damaged(small_models.conv_net(), change)))
    root: Any = schema.ModelT.InitFromPackedBuf(packed, 0)
    np.testing.assert_array_equal(root.buffers[root.subgraphs[0].tensors[1].buffer].data, raw)


def test_strings() -> None:
    text = np.frombuffer(np.array([2, 16, 18, 21], np.int32).tobytes() + b"abcde", np.uint8)

    def change(root: Any) -> None:
        t = root.subgraphs[0].tensors[1]
        t.type, t.shape, t.quantization = 5, [2], None
        root.buffers[t.buffer].data = text

    np.testing.assert_array_equal(parse(damaged(small_models.conv_net(), change)).main.tensors[1].data, text)
    text = text.copy()
    text[8] = 200
    with pytest.raises(ModelError, match="the offsets of its strings are not in order"):
        parse(damaged(small_models.conv_net(), change))


def test_constant_without_elements() -> None:
    """TFLite stores it as an empty buffer; that nobody makes it shows that it is a constant."""

    def change(root: Any) -> None:
        g = root.subgraphs[0]
        shape = g.tensors[g.operators[5].inputs[1]]
        shape.shape, shape.buffer = [0], 0

    model = parse(damaged(small_models.conv_net(), change))
    tensor = model.main.tensors[model.main.ops[5].inputs[1]]
    assert tensor.data is not None and tensor.data.shape == (0,) and tensor.data.dtype == np.int32
    assert not tensor.data.flags.writeable
    assert parse(to_flatbuffer(model)).main.tensors[tensor.index].is_constant


def _behind(model: Model, *, offset: int = 0) -> bytes:
    """``model`` with its first weights behind the flatbuffer, as converters write models above 2 GiB."""
    raw = np.asarray(model.main.tensors[1].data).tobytes()
    size, data = 0, b""
    for _ in range(2):  # the offset is a fixed-size field: the second pass knows the file's size

        def change(root: Any, at: int = size) -> None:
            buffer = root.buffers[root.subgraphs[0].tensors[1].buffer]
            buffer.data, buffer.offset, buffer.size = None, (at or 2) + offset, len(raw)

        data = damaged(model, change)
        size = len(data)
    return data + raw


def test_weights_behind_the_flatbuffer() -> None:
    model = small_models.conv_net()
    np.testing.assert_array_equal(parse(_behind(model)).main.tensors[1].data, model.main.tensors[1].data)
    with pytest.raises(
        ModelError, match=r"^Buffer \d+, field data offset and size: its 108 bytes at .* run past"
    ):
        parse(_behind(model, offset=1))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"Cannot read .*nothing\.tflite: No such file"):
        load(tmp_path / "nothing.tflite")


def test_error_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"bad\.tflite: The file identifier is b'a mo'"):
        load(tmp_path / "bad.tflite")
