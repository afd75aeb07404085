"""Operators with one input give LiteRT's bytes for every int8 and int16 value; unsupported operators are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.converters.tflite.image import to_flatbuffer
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.elementwise.arithmetic import inverse_square_root
from arenite.firmware.generator.requant.lookup_tables import sigmoid_table
from arenite.firmware.generator.requant.reference_math import (
    high_mul,
    log2_if_power_of_two,
    round_float,
    round_shift,
)
from tests.firmware.engine.litert_exact import Case, assert_exact, run_natively, single
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import f32

GROUPS = [
    ("LOGISTIC", "TANH", "GELU", "HARD_SWISH"),
    ("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "LEAKY_RELU", "PRELU"),
    ("ABS", "NEG", "SQRT", "RSQRT", "EXP", "LOG"),
]


@pytest.mark.slow
@pytest.mark.parametrize("ops", GROUPS, ids=lambda ops: ops[0])
def test_random_graphs_are_exact(ops: tuple[str, ...]) -> None:
    assert_bit_exact(*ops, graphs=15)


def q(scale: float, zero_point: int = 0) -> Quantization:
    return Quantization((f32(scale),), (zero_point,))


BYTES = np.arange(-128, 128, dtype=np.int8)
WORDS = np.arange(-32768, 32768, dtype=np.int32).astype(np.int16)


def case_of(
    values: np.ndarray, name: str, inp: Quantization, out: Quantization, options: str = "", **more: object
) -> Case:
    """Return a model of the operator ``name``, whose input and output have the given quantizations, and its input."""
    dtype = values.dtype.name
    version = 2 if dtype == "int16" and name != "NEG" else 1
    model = single(name, [(values.shape, dtype, inp)], (values.shape, dtype, out), options, version, **more)
    return model, [values]


def test_every_int8_is_exact() -> None:
    quants = [(q(0.05, -3), q(0.01, 5)), (q(0.2, -128), q(0.15, -128)), (q(0.0007, 127), q(0.0009, 100))]
    quants += [(q(3.0, 0), q(2.0, 0)), (q(1e-6, 17), q(1e-6, 17))]
    cases: list[Case] = []
    for inp, out in quants:
        cases.append(case_of(BYTES, "LOGISTIC", inp, q(1 / 256, -128)))
        for name in ("TANH", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "ABS", "NEG", "EXP", "LOG"):
            cases.append(case_of(BYTES, name, inp, out))
        cases.append(case_of(BYTES, "HARD_SWISH", inp, out))
        for approximate in (False, True):
            cases.append(case_of(BYTES, "GELU", inp, out, "GeluOptions", approximate=approximate))
        for alpha in (0.0, 0.1, 2.0, -0.3):
            cases.append(case_of(BYTES, "LEAKY_RELU", inp, out, "LeakyReluOptions", alpha=alpha))
        not_negative = BYTES[inp.zero_point[0] + 128 :]
        cases += [case_of(not_negative, name, inp, out) for name in ("SQRT", "RSQRT")]
    assert_exact(cases)


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 2.0**-14, 1 / 3000, 0.00031, 0.0041, 1e-7, 1.7])
def test_every_int16_is_exact_with_the_sigmoid_table(scale: float) -> None:
    unit = q(1 / 32768)
    assert_exact([case_of(WORDS, name, q(scale), unit) for name in ("LOGISTIC", "TANH")])


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "out"), [(0.0003, 0.0004), (0.01, 0.02), (2e-5, 3e-5), (0.5, 0.7)])
def test_every_int16_is_exact(scale: float, out: float) -> None:
    cases = [case_of(WORDS, name, q(scale), q(out)) for name in ("RELU", "RELU6", "ABS", "NEG", "EXP", "LOG")]
    cases += [case_of(WORDS, name, q(scale), q(scale)) for name in ("RELU", "ABS")]
    for approximate in (False, True):
        cases.append(case_of(WORDS, "GELU", q(scale), q(out), "GeluOptions", approximate=approximate))
    for alpha in (0.0, 0.25, -1.5):
        cases.append(case_of(WORDS, "LEAKY_RELU", q(scale), q(out), "LeakyReluOptions", alpha=alpha))
    for root_scale in (math.sqrt(scale) / 180, 0.9 * math.sqrt(scale)):
        cases.append(case_of(WORDS[32768:], "SQRT", q(scale), q(root_scale)))
        cases.append(case_of(WORDS[32768:], "RSQRT", q(scale), q(root_scale)))
    assert_exact(cases)


def test_every_int8_alpha_is_exact() -> None:
    cases: list[Case] = []
    for inp, alpha, out in (
        (q(0.1, 20), q(0.01, -9), q(0.05, -100)),
        (q(0.02, 127), q(0.2, 127), q(0.4, 127)),
    ):
        model = single(
            "PRELU", [((256, 256), "int8", inp), ((256,), "int8", alpha)], ((256, 256), "int8", out)
        )
        cases.append((model, [np.repeat(BYTES, 256).reshape(256, 256), BYTES]))
    assert_exact(cases)


def test_signs_of_int32_are_exact() -> None:
    values = np.array([-(2**31) + 1, -5, 0, 5, 2**31 - 1], np.int32)
    spec = (values.shape, "int32", None)
    assert_exact([(single(name, [spec], spec), [values]) for name in ("NEG", "ABS")])


def test_negative_inputs_of_roots_have_a_defined_result() -> None:
    """LiteRT stops with an error. The device returns zero for SQRT and the largest output for RSQRT."""
    cases = [case_of(BYTES, name, q(0.1, 0), q(0.05, -100)) for name in ("SQRT", "RSQRT")]
    cases += [case_of(WORDS, name, q(0.1), q(0.05)) for name in ("SQRT",)]
    root, inverse, wide = (r[0] for r in run_natively(cases))
    assert set(root[:128].tolist()) == {-100}
    assert set(inverse[:129].tolist()) == {127}
    assert set(wide[:32769].tolist()) == {0}


def test_elu_equals_the_builtin_kernel_of_litert() -> None:
    """LiteRT's reference resolver has no ELU. Its only kernel is registered in the default resolver."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    cases = [
        case_of(BYTES, "ELU", inp, out)
        for inp, out in (
            (q(0.05, -3), q(0.01, 5)),
            (q(0.3, 60), q(0.25, -90)),
            (q(0.001, 127), q(0.001, 127)),
        )
    ]
    for (model, inputs), actual in zip(cases, run_natively(cases), strict=True):
        interpreter = Interpreter(
            model_content=to_flatbuffer(model),
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], inputs[0])
        interpreter.invoke()
        expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_array_equal(actual[0], expected)


def test_fixed_point_functions_round_as_in_tflite() -> None:
    assert high_mul(-(2**31), -(2**31)) == 2**31 - 1
    assert [high_mul(x, 1 << 30) for x in (3, -3, 1, -1)] == [2, -1, 1, 0]
    assert [round_shift(x, 1) for x in (3, -3, 1, -1)] == [2, -2, 1, -1]
    assert [float(round_float(np.float32(x))) for x in (0.5, -0.5, 2.5, 0.49999997)] == [1.0, -1.0, 3.0, 0.0]
    assert log2_if_power_of_two(2.0**-13) == -13
    assert log2_if_power_of_two(2.0**-13 * 1.01) is None
    for x in (1, 2, 3, 255, 4096, 2**30):
        multiplier, shift = inverse_square_root(x)
        assert multiplier * 2.0 ** (shift - 31) == pytest.approx(x**-0.5, rel=1e-5)


def test_the_error_of_interpolation_in_the_sigmoid_table_is_below_1_3() -> None:
    """The samples are sigmoid(i / 24) with 16 fractional bits. The unit of the error is 1/65536."""
    table = sigmoid_table().astype(float)
    x = np.linspace(0, 10, 4001)
    at = x * 24
    low = np.minimum(at.astype(int), 254)
    interpolated = table[low] + (table[low + 1] - table[low]) * (at - low)
    assert np.abs(interpolated - 65536 / (1 + np.exp(-x))).max() < 1.3


INT8 = ((4,), "int8", q(0.1))
INT16 = ((4,), "int16", q(0.001))
FLOAT = ((4,), "float32", None)
#: (name of the case, model, a part of the error message).
REFUSED: list[tuple[str, Model, str]] = [
    ("float", single("RELU", [FLOAT], FLOAT), "has type float32"),
    ("types", single("EXP", [INT8], INT16), "has type int16"),
    ("shape", single("ABS", [INT8], ((2, 2), "int8", q(0.1))), "has shape"),
    ("no scale", single("TANH", [((4,), "int8", None)], INT8), "must be quantized"),
    ("logistic scale", single("LOGISTIC", [INT8], ((4,), "int8", q(1 / 255))), "TFLite needs"),
    ("tanh scale", single("TANH", [INT16], ((4,), "int16", q(1 / 16384))), "1/32768"),
    ("tanh input", single("TANH", [((4,), "int16", q(50.0))], ((4,), "int16", q(1 / 32768))), "out of range"),
    ("relu1 int16", single("RELU_0_TO_1", [INT16], INT16), "has type int16"),
    ("elu int16", single("ELU", [INT16], INT16), "has type int16"),
    (
        "swish",
        single("HARD_SWISH", [((4,), "int8", q(9.0))], ((4,), "int8", q(0.01))),
        "too small or too large",
    ),
    ("alpha", single("PRELU", [INT16, INT16], INT16), "has type int16"),
    ("alpha shape", single("PRELU", [INT8, ((2, 4), "int8", q(0.1))], INT8), "do not broadcast"),
    ("sqrt", single("SQRT", [((4,), "int16", q(1e-35))], INT16), "out of range"),
    *[
        (n, single(n, [INT8], INT8), "float32 only")
        for n in ("ROUND", "FLOOR", "CEIL", "SIN", "COS", "SQUARE")
    ],
]


@pytest.mark.parametrize(("model", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_the_error_of_an_unsupported_operator_gives_the_reason(model: Model, message: str) -> None:
    op = model.main.ops[0]
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        LOWERINGS[op.name].check(model.main, op)
    assert op.name in caught.value.problem
    assert caught.value.hint
