"""SVDF, LSTM and resource variables keep their state across calls as in LiteRT; unsupported forms are refused."""

from __future__ import annotations

import ctypes
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Op, Quantization, Subgraph, Tensor
from arenite.converters.tflite.reader import load
from arenite.errors import AreniteError, UnsupportedModelError
from arenite.firmware.generator.operator_needs import check_supported
from arenite.firmware.generator.state import initial_values, resource_sizes
from arenite.firmware.sources import ENGINE
from arenite.models import zoo
from tests.fuzz.cases.lstm import lstm_cell, one_scale
from tests.fuzz.cases.svdf import svdf
from tests.fuzz.comparison import compare
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder, full_options


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["SVDF", "SVDF with int8 state", "UNIDIRECTIONAL_SEQUENCE_LSTM", "VAR_HANDLE"]
)
def test_random_graphs_are_exact(name: str) -> None:
    assert_bit_exact(name, graphs=30)


# -- LSTM ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_lstm_keeps_its_state_over_many_calls(normalized: bool, projection: bool, time_major: bool) -> None:
    models = []
    for variant in range(4):
        b = GraphBuilder(np.random.default_rng(variant))
        x = b.input((5, 1, 9) if time_major else (1, 5, 9), "int8", one_scale(0.02, 3))
        lstm_cell(
            b,
            x,
            10,
            6 if projection else 10,
            time_major=time_major,
            coupled=bool(variant & 1),
            peephole=bool(variant & 2),
            normalized=normalized,
            projection=projection,
        )
        models.append(b.build())
    assert compare(models, seed=2, runs=25) == []


def test_gate_functions_equal_those_of_gemmlowp(tmp_path: Path) -> None:
    """Compare the CRC-32 of all 65536 results with that of gemmlowp's logistic and tanh, and the results with the real
    functions."""
    library = tmp_path / "gate.so"
    subprocess.run(
        [
            "gcc",
            "-std=c99",
            "-O1",
            "-shared",
            "-fPIC",
            *ENGINE.include_flags,
            str(ENGINE.path("gate_s16.c")),
            "-o",
            library,
        ],
        check=True,
    )
    gate = ctypes.CDLL(str(library))
    gate.ar_sigmoid_s16.restype = gate.ar_tanh_s16.restype = ctypes.c_int16
    raw = range(-32768, 32768)
    real = np.arange(-32768, 32768)
    sigmoid = np.array([gate.ar_sigmoid_s16(x) for x in raw], np.int16)
    assert np.abs(sigmoid / 2**15 - 1 / (1 + np.exp(-real / 2**12))).max() < 1e-3
    assert zlib.crc32(sigmoid.tobytes()) == SIGMOID_CRC
    for bits, crc in enumerate(TANH_CRC):
        tanh = np.array([gate.ar_tanh_s16(x, bits) for x in raw], np.int16)
        assert np.abs(tanh / 2**15 - np.tanh(real / 2.0 ** (15 - bits))).max() < 1e-3
        assert zlib.crc32(tanh.tobytes()) == crc


#: The CRC-32 of gemmlowp's results: for the logistic function, and for tanh with 0 to 6 integer bits in the input.
SIGMOID_CRC = 0x89B3F38E
TANH_CRC = (0xA348DAF8, 0xC979DD1D, 0x742F59B7, 0x70B28DFE, 0x215077B2, 0x3A695108, 0x32E074AE)


# -- variables -----------------------------------------------------------------------------------------------


def streaming(frames: int = 3, initial: np.ndarray | None = None) -> Model:
    """Return a model as streaming converters write it.

    It appends the input frame to the frames in a resource variable, and stores the newest frames.
    """
    b = GraphBuilder(np.random.default_rng(0))
    quant = one_scale(0.05, -7)
    x = b.input((1, 1, 4), "int8", quant)
    init_graph(b, np.full((1, frames, 4), -7, np.int8) if initial is None else initial)
    handle = b.tensor((), "resource")
    b.op("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", shared_name="window")
    past = b.tensor((1, frames, 4), "int8", quant)
    b.op("READ_VARIABLE", [handle], [past], "ReadVariableOptions")
    window = b.tensor((1, frames + 1, 4), "int8", quant)
    b.op("CONCATENATION", [past, x], [window], "ConcatenationOptions", version=2, axis=1)
    newest = b.tensor((1, frames, 4), "int8", quant)
    begin, end, steps = ([0, 1, 0], [0, frames + 1, 0], [1, 1, 1])
    b.op(
        "STRIDED_SLICE",
        [window, *(b.const(v, "int32") for v in (begin, end, steps))],
        [newest],
        "StridedSliceOptions",
        version=2,
        begin_mask=5,
        end_mask=5,
    )
    b.op("ASSIGN_VARIABLE", [handle, newest], [], "AssignVariableOptions")
    mean = b.tensor((1, 4), "int8", quant)
    b.op("MEAN", [window, b.const([1], "int32")], [mean], "ReducerOptions", version=2)
    read_back = b.tensor((1, frames, 4), "int8", quant)
    b.op("READ_VARIABLE", [handle], [read_back], "ReadVariableOptions")
    return b.build()


def init_graph(b: GraphBuilder, value: np.ndarray) -> None:
    """Add a CALL_ONCE whose subgraph assigns ``value`` to the resource variable ``window``."""
    tensors = (
        Tensor(0, "handle", (), "resource"),
        Tensor(1, "initial", value.shape, value.dtype.name, None, value),
    )
    options = full_options("VarHandleOptions", {"container": "", "shared_name": "window"})
    ops = (
        Op(0, "VAR_HANDLE", (), (0,), options, "VarHandleOptions"),
        Op(1, "ASSIGN_VARIABLE", (0, 1), (), {}, "AssignVariableOptions"),
    )
    b.extra_subgraphs.append(Subgraph("init", tensors, ops, (), ()))
    b.op("CALL_ONCE", [], [], "CallOnceOptions", init_subgraph_index=1)


def test_a_streaming_window_is_exact() -> None:
    uneven = np.arange(12, dtype=np.int8).reshape(1, 3, 4)
    assert compare([streaming(), streaming(initial=uneven), streaming(frames=1)], seed=1, runs=12) == []


def test_a_value_that_was_read_is_kept_after_a_later_assignment() -> None:
    b = GraphBuilder()
    quant = one_scale(0.05, 0)
    x = b.input((8,), "int8", quant)
    init_graph(b, np.arange(8, dtype=np.int8))
    handle = b.tensor((), "resource")
    b.op("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", shared_name="window")
    value = b.tensor((8,), "int8", quant)
    b.op("READ_VARIABLE", [handle], [value], "ReadVariableOptions")
    b.op("ASSIGN_VARIABLE", [handle, x], [], "AssignVariableOptions")
    output = b.tensor((2, 4), "int8", quant)
    b.op("RESHAPE", [value, b.const([2, 4], "int32")], [output], "ReshapeOptions")
    assert compare([b.build()], seed=3, runs=5) == []


def test_variables_have_sizes_and_initial_values() -> None:
    model = streaming()
    assert resource_sizes(model) == {"/window": 12}
    assert initial_values(model) == {"/window": bytes([256 - 7]) * 12}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wake_alexa", "wake_okay_nabu", "wake_hey_jarvis", "wake_hey_mycroft"])
def test_wake_word_models_are_exact_over_fifty_frames(name: str) -> None:
    """Compare every frame's score and all inner windows of real streaming models while they keep their state."""
    try:
        model = load(zoo.fetch(name, progress=False))
    except AreniteError as error:
        pytest.skip(str(error))
    inner = [
        op.outputs[0]
        for op in model.main.ops
        if op.name in ("STRIDED_SLICE", "CONCATENATION", "FULLY_CONNECTED")
    ]
    outputs = tuple(dict.fromkeys([*model.main.outputs, *inner]))
    with_inner_outputs = replace(model.with_main(replace(model.main, outputs=outputs)), signatures=())
    assert compare([model, with_inner_outputs], seed=5, runs=50) == []


# -- refusals ------------------------------------------------------------------------------------------------


def changed(model: Model, op_index: int, edit: Callable[[Op], Op]) -> Model:
    """Return the model with one operator replaced by the result of ``edit``."""
    ops = tuple(edit(op) if op.index == op_index else op for op in model.main.ops)
    return model.with_main(replace(model.main, ops=ops))


def with_tensor(model: Model, index: int, **fields: object) -> Model:
    """Return the model with other values for ``fields`` of the tensor ``index``."""
    tensors = tuple(replace(t, **fields) if t.index == index else t for t in model.main.tensors)  # type: ignore[arg-type]
    return model.with_main(replace(model.main, tensors=tensors))


def refusal_message(model: Model) -> str:
    """Return the error with which the model is refused."""
    with pytest.raises(UnsupportedModelError) as caught:
        check_supported(model)
    return str(caught.value)


def test_unsupported_variables_are_refused() -> None:
    model = streaming()
    call, handle, read, assign = 0, 1, 2, 5
    assert [model.main.ops[k].name for k in (call, handle, read, assign)] == [
        "CALL_ONCE",
        "VAR_HANDLE",
        "READ_VARIABLE",
        "ASSIGN_VARIABLE",
    ]
    without = replace(model.main, ops=tuple(replace(op, index=op.index - 1) for op in model.main.ops[1:]))
    assert "read before a value is assigned" in refusal_message(replace(model, subgraphs=(without,)))
    late = (*model.main.ops[1:], model.main.ops[0])
    late = tuple(replace(op, index=k) for k, op in enumerate(late))
    late_model = replace(model, subgraphs=(replace(model.main, ops=late), model.subgraphs[1]))
    assert "read before" in refusal_message(late_model)
    missing = changed(model, call, lambda op: replace(op, options={"init_subgraph_index": 4}))
    assert "subgraph 4 does not exist" in refusal_message(missing)
    init = model.subgraphs[1]
    computed = replace(init, tensors=(init.tensors[0], replace(init.tensors[1], data=None)))
    assert "computes values" in refusal_message(replace(model, subgraphs=(model.main, computed)))
    no_handle = changed(model, read, lambda op: replace(op, inputs=(0,)))
    assert "not the output of a VAR_HANDLE" in refusal_message(no_handle)
    smaller = changed(model, assign, lambda op: replace(op, inputs=(op.inputs[0], 0)))
    assert "12 B of int8 in another operator and 4 B of int8 here" in refusal_message(smaller)


def svdf_model() -> Model:
    b = GraphBuilder(np.random.default_rng(4))
    svdf(b)
    return b.build()


def test_unsupported_svdfs_are_refused() -> None:
    model = svdf_model()
    _, feature, time, _, state = model.main.ops[0].inputs
    assert "must be a variable" in refusal_message(with_tensor(model, state, is_variable=False))
    # The state and the time weights must have the same type.
    assert "has type int8, supported: int16" in refusal_message(with_tensor(model, state, dtype="int8"))
    assert "has type int16, supported: int8" in refusal_message(with_tensor(model, time, dtype="int8"))
    assert "feature weights must be constant" in refusal_message(with_tensor(model, feature, data=None))
    assert "must be quantized" in refusal_message(with_tensor(model, time, quant=None))
    assert "the state [1, 9] is not" in refusal_message(with_tensor(model, state, shape=(1, 9)))
    relu6 = {**model.main.ops[0].options, "fused_activation_function": 3}
    assert "not RELU" in refusal_message(changed(model, 0, lambda op: replace(op, options=relu6)))


def lstm_model(**features: bool) -> Model:
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, 4, 3), "int8", one_scale(0.02))
    lstm_cell(b, x, 5, 5, **features)
    return b.build()


def test_unsupported_lstms_are_refused() -> None:
    model = lstm_model()
    op = model.main.ops[0]
    assert "float and hybrid" in refusal_message(changed(model, 0, lambda o: replace(o, intermediates=())))
    assert "inputs instead of 24" in refusal_message(
        changed(model, 0, lambda o: replace(o, inputs=o.inputs[:9]))
    )
    cell = op.inputs[19]
    assert "not a power of two" in refusal_message(with_tensor(model, cell, quant=one_scale(0.001)))
    assert "must be constant" in refusal_message(with_tensor(model, op.inputs[2], data=None))
    per_axis = Quantization((0.1,) * 5, (0,) * 5, 0)
    assert "one scale" in refusal_message(with_tensor(model, op.inputs[2], quant=per_axis))
    assert "input 2 [3, 5] is not [5, 3]" in refusal_message(with_tensor(model, op.inputs[2], shape=(3, 5)))
    assert "has no weights or no bias" in refusal_message(
        changed(model, 0, lambda o: replace(o, inputs=(*o.inputs[:12], -1, *o.inputs[13:])))
    )
    assert "expected 3" in refusal_message(with_tensor(model, op.inputs[0], shape=(4, 3)))
    assert "float32" in refusal_message(with_tensor(model, op.inputs[0], dtype="float32"))
    coupled = lstm_model(coupled=True)
    tiny = with_tensor(coupled, coupled.main.ops[0].inputs[19], quant=one_scale(2.0**-16))
    assert "cannot compute tanh" in refusal_message(tiny)


def test_lstm_without_cells_is_refused() -> None:
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, 4, 3), "int8", one_scale(0.02))
    with np.errstate(divide="ignore"):  # the projection's scale
        lstm_cell(b, x, 0, 4, normalized=True, projection=True)
    assert "has no elements" in refusal_message(b.build())
