"""Operators with two or three inputs give LiteRT's bytes for all int8 pairs and int32 extremes; others are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Quantization
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.lower import LOWERINGS
from arenite.firmware.generator.lower.elementwise.broadcast import broadcast_shape, broadcast_steps
from arenite.firmware.generator.operator_needs import check_supported
from tests.firmware.engine.elementwise.quantized_tensors import q
from tests.firmware.engine.litert_exact import Case, assert_exact, run_natively, single
from tests.fuzz.fixed_graphs import assert_bit_exact
from tests.fuzz.graph_builder import GraphBuilder

COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
GROUPS = [
    ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"),
    COMPARISONS,
    ("MINIMUM", "MAXIMUM", "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT", "SELECT", "SELECT_V2"),
    ("DIV", "FLOOR_DIV", "FLOOR_MOD", "POW"),
]
OPTIONS = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


@pytest.mark.slow
@pytest.mark.parametrize("ops", GROUPS, ids=lambda ops: ops[0])
def test_random_graphs_are_exact(ops: tuple[str, ...]) -> None:
    assert_bit_exact(*ops, graphs=15)


ROWS, COLUMNS = (256, 1), (1, 256)
BYTES = np.arange(-128, 128, dtype=np.int8)


def all_pairs(name: str, a: Quantization, b: Quantization, out: Quantization, **options: object) -> Case:
    """Return a model of the operator ``name`` and inputs that broadcast to all pairs of int8 values."""
    dtype = "bool" if name in COMPARISONS else "int8"
    model = single(
        name,
        [(ROWS, "int8", a), (COLUMNS, "int8", b)],
        ((256, 256), dtype, None if dtype == "bool" else out),
        OPTIONS.get(name, ""),
        2,
        **options,
    )
    return model, [BYTES.reshape(ROWS), BYTES.reshape(COLUMNS)]


def test_every_pair_of_int8_is_exact() -> None:
    quants = [
        (q(0.05, -128), q(0.05, 127), q(0.1, 3)),
        (q(0.9, 5), q(0.001, -20), q(0.7, -128)),
        (q(0.0031, 127), q(0.0029, 126), q(0.003, -1)),
        (q(1 / 256, -128), q(1 / 256, -128), q(1 / 256, -128)),
    ]
    cases = []
    for a, b, out in quants:
        cases += [all_pairs(n, a, b, out, fused_activation_function=1) for n in ("ADD", "SUB")]
        product = q(a.scale[0] * b.scale[0] * 40, out.zero_point[0])
        cases.append(all_pairs("MUL", a, b, product))
        cases.append(all_pairs("MUL", a, b, q(a.scale[0] * b.scale[0] * 0.3, 0)))
        cases.append(all_pairs("SQUARED_DIFFERENCE", a, b, q(max(a.scale[0], b.scale[0]) ** 2 * 99, -128)))
        cases += [all_pairs(n, a, b, out) for n in COMPARISONS]
        cases += [all_pairs(n, a, a, a) for n in ("MINIMUM", "MAXIMUM")]
    assert_exact(cases)


def test_every_int8_quotient_is_exact() -> None:
    cases: list[Case] = []
    for zero, scale in ((-128, 2.0**-7), (0, 0.004), (127, 1e-5)):
        b = GraphBuilder()
        x = b.input(ROWS, "int8", q(0.02, 7))
        divisors = BYTES[zero != BYTES].reshape(1, 255)
        y = b.const(divisors, "int8", q(0.02, zero))
        b.op("DIV", [x, y], [b.tensor((256, 255), "int8", q(scale, -5))], "DivOptions", 2)
        for name in ("FLOOR_DIV", "FLOOR_MOD"):
            # In LiteRT, the smallest integer divided by -1 depends on the compiler and the length of the row.
            nonzero = BYTES[(BYTES != 0) & ((BYTES != -1) | (name == "FLOOR_MOD"))].reshape(1, -1)
            b.op(name, [x, b.const(nonzero, "int8")], [b.tensor((256, nonzero.size), "int8")])
        cases.append((b.build(), [BYTES.reshape(ROWS)]))
    assert_exact(cases)


INT32 = np.array(
    [-(2**31), -(2**31) + 1, -(2**16), -65535, -7, -1, 0, 1, 5, 6, 7, 46341, 65536, 2**30, 2**31 - 1],
    np.int32,
)


def test_int32_overflow_wraps_and_clamps_as_in_litert() -> None:
    a, b = INT32.reshape(-1, 1), INT32.reshape(1, -1)
    shape = (a.size, b.size)
    cases: list[Case] = []
    for name in ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "MINIMUM", "MAXIMUM", *COMPARISONS):
        dtype = "bool" if name in COMPARISONS else "int32"
        for activation in (0, 1, 2, 3) if name in ("MUL",) else (0,):
            options = {"fused_activation_function": activation} if name in OPTIONS else {}
            model = single(
                name,
                [(a.shape, "int32", None), (b.shape, "int32", None)],
                (shape, dtype, None),
                OPTIONS.get(name, ""),
                **options,
            )
            cases.append((model, [a, b]))
    assert_exact(cases)


def test_int32_division_rounds_as_in_litert() -> None:
    a = INT32[1:].reshape(-1, 1)  # the smallest integer divided by -1 stops the computer that runs LiteRT
    cases: list[Case] = []
    for name in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
        b = GraphBuilder()
        x = b.input(a.shape, "int32")
        y = b.const(INT32[INT32 != 0].reshape(1, -1), "int32")
        b.op(name, [x, y], [b.tensor((a.size, INT32.size - 1), "int32")], OPTIONS.get(name, ""))
        cases.append((b.build(), [a]))
    assert_exact(cases)


def undefined_divisions(name: str) -> Case:
    """Return a model of the operator ``name`` with dividends and divisors for which LiteRT stops."""
    model = single(name, [((3,), "int32", None)] * 2, ((3,), "int32", None), OPTIONS.get(name, ""))
    return model, [np.array([-(2**31), 5, -7], np.int32), np.array([-1, 0, 0], np.int32)]


def test_divisions_that_stop_litert_have_a_defined_result() -> None:
    """These are divisions by zero, and the smallest integer divided by -1."""
    names = ("DIV", "FLOOR_DIV", "FLOOR_MOD")
    results = [r[0].tolist() for r in run_natively([undefined_divisions(n) for n in names])]
    assert results == [[-(2**31), 0, 0], [-(2**31), 0, 0], [0, 0, 0]]


def test_powers_overflow_as_in_litert() -> None:
    bases = np.array([-46341, -46340, -3, -2, -1, 0, 1, 2, 3, 1290, 46340, 46341, 65536, 2**31 - 1], np.int32)
    exponents = np.array([0, 1, 2, 3, 4, 19, 30, 31, 32, 40], np.int32)
    cases: list[Case] = []
    shape = (bases.size, exponents.size)
    model = single(
        "POW",
        [((bases.size, 1), "int32", None), ((1, exponents.size), "int32", None)],
        (shape, "int32", None),
    )
    cases.append((model, [bases.reshape(-1, 1), exponents.reshape(1, -1)]))
    for exponent in exponents:
        model = single(
            "POW", [(bases.shape, "int32", None), ((), "int32", None)], (bases.shape, "int32", None)
        )
        cases.append((model, [bases, np.array(exponent)]))
    assert_exact(cases)


def test_int16_extremes_are_exact() -> None:
    a = np.array([-32768, -32767, -1, 0, 1, 12345, 32767], np.int16)
    cases: list[Case] = []
    for name, general in itertools.product(("ADD", "SUB", "MUL"), (True, False)):
        scales = (0.0011, 0.0007, 0.002) if general else (2.0**-12, 2.0**-15, 2.0**-12)
        broadcast = general or name != "ADD"
        b_shape = (1, a.size) if broadcast else (a.size, 1)
        model = single(
            name,
            [((a.size, 1), "int16", q(scales[0])), (b_shape, "int16", q(scales[1]))],
            ((a.size, b_shape[1]), "int16", q(scales[2])),
            OPTIONS[name],
            2,
            **({} if name == "MUL" else {"pot_scale_int16": not general}),
        )
        cases.append((model, [a.reshape(-1, 1), a.reshape(b_shape)]))
    assert_exact(cases)


def test_broadcast_steps_visit_the_elements_that_numpy_broadcasts() -> None:
    """Visit the elements of each input as the kernel does, with an inner loop, nested outer loops, and a step for each
    loop."""
    rng = np.random.default_rng(5)
    checked = 0
    for _ in range(600):
        out_dims = rng.integers(1, 4, int(rng.integers(0, 7)))
        shapes = []
        for _ in range(int(rng.integers(1, 4))):
            shape = tuple(int(d) if rng.random() < 0.6 else 1 for d in out_dims)
            shapes.append(shape[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.5 else shape)
        out = broadcast_shape(shapes)
        assert out is not None
        loops = broadcast_steps(shapes)
        visited: list[list[int]] = [[] for _ in shapes]
        at, counters = [0] * len(shapes), [0] * len(loops.outer)
        while True:
            for k, start in enumerate(at):
                visited[k] += [start + i * loops.inner_step[k] for i in range(loops.inner)]
            for d, (size, steps) in enumerate(loops.outer):
                counters[d] += 1
                if counters[d] < size:
                    at = [a + s for a, s in zip(at, steps, strict=True)]
                    break
                counters[d] = 0
            else:
                break
        for shape, indices in zip(shapes, visited, strict=True):
            elements = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
            np.testing.assert_array_equal(indices, np.broadcast_to(elements, out).reshape(-1))
            checked += 1
    assert checked > 600
    assert broadcast_steps([(2, 3, 4), (2, 3, 4)]).outer == ()
    assert broadcast_steps([(2, 3, 4), (4,)]) == broadcast_steps([(6, 4), (4,)])
    assert broadcast_steps([(2, 0), (1, 1)]).inner == 0


INT8 = ((2, 3), "int8", q(0.1))
INT16 = ((2, 3), "int16", q(0.1))
INT32_SPEC = ((2, 3), "int32", None)
BOOL = ((2, 3), "bool", None)
FLOAT = ((2, 3), "float32", None)

#: (name of the case, model, a part of the error message).
REFUSED: list[tuple[str, Model, str]] = [
    ("float", single("SQUARED_DIFFERENCE", [FLOAT, FLOAT], FLOAT), "has type float32"),
    ("mixed types", single("MUL", [INT8, INT16], INT8, "MulOptions"), "has type int16"),
    ("no scale", single("ADD", [INT8, ((2, 3), "int8", None)], INT8, "AddOptions"), "must be quantized"),
    (
        "int16 zero point",
        single("MUL", [INT16, ((2, 3), "int16", q(1, 4))], INT16, "MulOptions"),
        "int16 needs 0",
    ),
    (
        "shapes",
        single("SUB", [INT8, ((2, 2), "int8", q(0.1))], INT8, "SubOptions"),
        "do not broadcast to 2x3",
    ),
    (
        "tanh",
        single("ADD", [INT8, INT8], INT8, "AddOptions", fused_activation_function=4),
        "fused activation 4",
    ),
    ("coarse", single("ADD", [INT8, INT8], ((2, 3), "int8", q(1e-8)), "AddOptions"), "only below 1"),
    ("square", single("SQUARED_DIFFERENCE", [INT8, INT8], ((2, 3), "int8", q(1e-7))), "only below 1"),
    ("compare", single("LESS", [((2, 3), "int8", q(1.0)), INT8], BOOL), "scale of an input is 1"),
    (
        "power of two, two shifts",
        single(
            "ADD",
            [((2, 3), "int16", q(2.0**-9))] * 2,
            ((2, 3), "int16", q(2.0**-8)),
            "AddOptions",
            pot_scale_int16=True,
        ),
        "power-of-two",
    ),
    (
        "power of two, broadcast",
        single(
            "ADD",
            [((2, 3), "int16", q(2.0**-9)), ((3,), "int16", q(2.0**-9))],
            ((2, 3), "int16", q(2.0**-9)),
            "AddOptions",
            pot_scale_int16=True,
        ),
        "does not broadcast",
    ),
    ("int16 !=", single("NOT_EQUAL", [((2, 3), "int16", None)] * 2, BOOL), "without quantization"),
    ("logical", single("LOGICAL_AND", [INT8, INT8], BOOL), "has type int8"),
    ("condition", single("SELECT_V2", [INT8, INT8, INT8], INT8), "has type int8"),
    ("select rank", single("SELECT", [((3,), "bool", None), INT8, INT8], INT8), "do not broadcast"),
    ("select values", single("SELECT", [BOOL, INT8, ((3,), "int8", q(0.1))], INT8), "does not broadcast"),
    ("quotient", single("DIV", [INT8, INT8], INT8, "DivOptions"), "integer division"),
    ("power type", single("POW", [INT8, INT8], INT8), "has type int8"),
    (
        "dimensions",
        single(
            "MINIMUM",
            [((2, 1) * 4, "int32", None), ((1, 2) * 4, "int32", None)],
            ((2, 2) * 4, "int32", None),
        ),
        "more than 6 separate dimensions",
    ),
]


@pytest.mark.parametrize(("model", "message"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_the_error_of_an_unsupported_operator_gives_the_reason(model: Model, message: str) -> None:
    op = model.main.ops[0]
    with pytest.raises(UnsupportedModelError, match=message) as caught:
        LOWERINGS[op.name].check(model.main, op)
    assert op.name in caught.value.problem
    assert caught.value.hint


def test_constant_divisors_and_exponents_are_checked() -> None:
    for name, values, message in (
        ("FLOOR_DIV", [3, 0], "divides by zero"),
        ("POW", [1, -1], "negative exponent"),
    ):
        b = GraphBuilder()
        x, y = b.input((2,), "int32"), b.const(values, "int32")
        b.op(name, [x, y], [b.tensor((2,), "int32")])
        with pytest.raises(UnsupportedModelError, match=message):
            check_supported(b.build())
