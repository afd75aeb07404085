"""QUANTIZE, DEQUANTIZE and CAST give LiteRT's bytes, also for floats that are difficult to round."""

from __future__ import annotations

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.elementwise.quantize import TARGETS
from tests.firmware.engine.litert_exact import Case, assert_exact, single
from tests.fuzz.comparison import lower
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import Q_RANGE, f32


def test_random_graphs_are_exact() -> None:
    assert_bit_exact("QUANTIZE", "DEQUANTIZE", "CAST", graphs=25)


def q(scale: float, zero_point: int = 0) -> Quantization:
    return Quantization((f32(scale),), (zero_point,))


def difficult_floats() -> np.ndarray:
    """Return floats halfway between integers and their neighbors, powers of two, denormals, infinities, NaN of both
    signs, and floats with random bits."""
    halves = np.arange(-300, 300, dtype=np.float32) + np.float32(0.5)
    near = [np.nextafter(halves, np.float32(s * np.inf)) for s in (-1, 1)]
    powers = np.float32(2.0) ** np.arange(-149, 128).astype(np.float32)
    bits = np.random.default_rng(9).integers(0, 2**32, 4000, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.49999997, 2147483520, 2147483648, -2147483648],
        np.float32,
    )
    return np.concatenate([halves, *near, powers, -powers, special, bits.view(np.float32)])


@pytest.mark.parametrize("scale", [1.0, 0.0078125, 0.0372, 3.1, 1e-9, 1e12])
def test_quantize_rounds_every_float_as_litert(scale: float) -> None:
    values = difficult_floats()
    cases: list[Case] = []
    for dtype, zeros in (("int8", (-128, 0, 127)), ("uint8", (0, 128, 255)), ("int16", (0,))):
        for zero in zeros:
            model = single(
                "QUANTIZE", [(values.shape, "float32", None)], (values.shape, dtype, q(scale, zero))
            )
            cases.append((model, [values]))
    assert_exact(cases)


def all_values(dtype: str) -> np.ndarray:
    """Return all values of a type with up to 16 bits, or some values of int32, including the extremes."""
    if dtype == "int32":
        return np.array([-(2**31), -70000, -1, 0, 1, 12345, 70000, 2**24 + 1, 2**31 - 1], np.int32)
    low, high = Q_RANGE[dtype]
    return np.arange(low, high + 1).astype(dtype)


@pytest.mark.parametrize("source", [s for s in TARGETS if s != "float32"])
def test_requantizing_every_value_is_exact(source: str) -> None:
    values = all_values(source)
    low = Q_RANGE[source][0]
    cases: list[Case] = []
    for target in TARGETS[source]:
        for in_scale, out_scale, in_zero, out_zero in (
            (0.1, 0.1, 0, 0),
            (0.1, 0.1, low, Q_RANGE[target][0]),
            (0.1, 0.037, 5, 9),
            (0.01, 0.9, -3, 3),
            (0.9, 0.002, 7, 0),
        ):
            zeros = [0 if d in ("int16", "int32") else z for d, z in ((source, in_zero), (target, out_zero))]
            zeros = [max(z, Q_RANGE[d][0]) for z, d in zip(zeros, (source, target), strict=True)]
            model = single(
                "QUANTIZE",
                [(values.shape, source, q(in_scale, zeros[0]))],
                (values.shape, target, q(out_scale, zeros[1])),
            )
            cases.append((model, [values]))
    assert_exact(cases)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_dequantizing_every_value_is_exact(dtype: str) -> None:
    values = all_values(dtype)
    cases: list[Case] = []
    for scale, zero in ((0.1, 0), (0.0039215689, 17), (1e-30, 0), (1e30, 100)):
        zero = 0 if dtype == "int16" else zero
        model = single("DEQUANTIZE", [(values.shape, dtype, q(scale, zero))], (values.shape, "float32", None))
        cases.append((model, [values]))
    assert_exact(cases)


def test_casts_between_every_pair_of_types_are_exact() -> None:
    integers = np.array(
        [0, 1, -1, 127, 128, 255, 256, -129, 70000, -70000, 2**24 + 1, 2**31 - 1, -(2**31), 2**32, -(2**40)]
    )
    types = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32")
    cases: list[Case] = []
    for source in types:
        values = difficult_floats() if source == "float32" else integers.astype(source)
        for target in types:
            if {source, target} != {"int64", "float32"}:
                model = single("CAST", [(values.shape, source, None)], (values.shape, target, None))
                cases.append((model, [values]))
    assert_exact(cases)


def kernels(model: Model) -> list[str]:
    """Return the kernels that the model runs."""
    generated: Generated = lower(model)
    return [layer.call.kernel for layer in generated.layers if layer.call is not None]


def test_the_cheapest_kernel_is_chosen() -> None:
    def requantize(source: str, inp: Quantization, target: str, out: Quantization) -> list[str]:
        return kernels(single("QUANTIZE", [((4,), source, inp)], ((4,), target, out)))

    assert requantize("uint8", q(0.1, 128), "int8", q(0.1, 0)) == ["ar_flip_8"]
    assert requantize("int8", q(0.1, -128), "uint8", q(0.1, 0)) == ["ar_flip_8"]
    assert requantize("int8", q(0.1, -128), "uint8", q(0.1, 1)) == ["ar_map_8"]
    assert requantize("int8", q(0.1, 3), "int8", q(0.2, 3)) == ["ar_map_8"]
    assert requantize("int16", q(0.1), "int8", q(0.2, 3)) == ["ar_requantize"]
    assert requantize("int8", q(0.1, 3), "int8", q(0.1, 3)) in ([], ["ar_copy"])


FLOAT = ((4,), "float32", None)
INT8 = ((4,), "int8", q(0.1))
PER_AXIS = ((4,), "int8", Quantization((0.1, 0.2, 0.3, 0.4), (0,) * 4, 0))
#: (name of the case, model, a part of the error message).
REFUSED: list[tuple[str, Model, str]] = [
    ("to int32", single("QUANTIZE", [FLOAT], ((4,), "int32", q(0.1))), "has type int32"),
    ("from bool", single("QUANTIZE", [((4,), "bool", None)], INT8), "has type bool"),
    ("per axis", single("QUANTIZE", [FLOAT], PER_AXIS), "must be quantized"),
    ("from per axis", single("DEQUANTIZE", [PER_AXIS], FLOAT), "must be quantized"),
    ("from int32", single("DEQUANTIZE", [((4,), "int32", q(0.1))], FLOAT), "has type int32"),
    ("shape", single("QUANTIZE", [FLOAT], ((2, 2), "int8", q(0.1))), "has shape"),
    ("tiny", single("DEQUANTIZE", [((4,), "int8", q(1e-38))], FLOAT), "too small"),
    ("float to int64", single("CAST", [FLOAT], ((4,), "int64", None)), "not supported"),
    ("float64", single("CAST", [((4,), "float64", None)], FLOAT), "has type float64"),
]


@pytest.mark.parametrize(("model", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_the_error_of_an_unsupported_operator_gives_the_reason(model: Model, message: str) -> None:
    op = model.main.ops[0]
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        LOWERINGS[op.name].check(model.main, op)
    assert op.name in caught.value.problem
    assert caught.value.hint
