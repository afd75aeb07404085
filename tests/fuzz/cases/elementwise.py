"""Random element-by-element operators with two or three inputs that broadcast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Quantization, Tensor
from arenite.firmware.generator.lower.elementwise.broadcast import MAX_OUTER, broadcast_shape, broadcast_steps
from tests.fuzz.cases import case
from tests.fuzz.comparison import random_input
from tests.fuzz.graph_builder import ACTIVATIONS, GraphBuilder, f32

#: The ranks of operands.
RANKS = (0, 1, 2, 3, 4, 5, 6)


def partner_shape(b: GraphBuilder, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a random shape that broadcasts with ``shape``: the same shape, all ones, only the last dimension, or
    random dimensions. The result of the broadcast has at most ``b.max_elements`` elements. Random dimensions are few
    enough for the engine's broadcast loop."""
    rng = b.rng
    kind = rng.random()
    if kind < 0.35:
        return shape
    if kind < 0.5:
        return tuple([1] * int(rng.integers(0, len(shape) + 1)))
    if kind < 0.65 and shape:
        return shape[-1:]
    while True:
        partner = [1 if rng.random() < 0.35 else d for d in shape]
        partner = [int(rng.integers(2, 5)) if d == 1 and rng.random() < 0.3 else d for d in partner]
        if rng.random() < 0.3:
            partner = partner[int(rng.integers(0, len(partner) + 1)) :]
        elif rng.random() < 0.15 and len(partner) < 6:
            partner = [int(rng.integers(1, 4)), *partner]
        out_shape = broadcast_shape([shape, tuple(partner)])
        if (
            out_shape is not None
            and np.prod(out_shape) <= b.max_elements
            and len(broadcast_steps([shape, tuple(partner)]).outer) <= MAX_OUTER
        ):
            return tuple(partner)


def operand(b: GraphBuilder, shape: tuple[int, ...], dtype: str, like: int) -> int:
    """Add a graph input or a constant with ``shape`` and ``dtype``, and return the index of its tensor. It is quantized
    if the tensor with the index ``like`` is, in some cases with the same scale."""
    quant = None if b[like].quant is None else b.quant(dtype)
    if quant is not None and b.rng.random() < 0.3:
        quant = b[like].quant
    if b.rng.random() < 0.5:
        return b.input(shape, dtype, quant)
    return b.const(random_input(Tensor(-1, "", shape, dtype), b.rng), dtype, quant)


def binary_operands(
    b: GraphBuilder, dtypes: tuple[str, ...], largest: float = 50.0
) -> tuple[int, int, tuple[int, ...]]:
    """Return the tensor indices of two operands in random order, and the shape of the result. One operand may be a
    constant; both may be the same tensor. ``largest`` is an exclusive limit of the scale of the first operand, if that
    is quantized."""
    x = b.pick(dtypes, RANKS)
    quant = b[x].quant
    if quant is not None and quant.scale[0] >= largest:
        x = b.input(b[x].shape, b[x].dtype, b.quant(b[x].dtype))
    if b.rng.random() < 0.08:
        return x, x, b[x].shape
    y = operand(b, partner_shape(b, b[x].shape), b[x].dtype, x)
    shape = broadcast_shape([b[x].shape, b[y].shape])
    assert shape is not None
    return (x, y, shape) if b.rng.random() < 0.6 else (y, x, shape)


def activation(b: GraphBuilder) -> int:
    """Return a random code of a fused activation: 0 (none) to 3 (RELU6)."""
    return int(b.rng.choice(ACTIVATIONS))


def spread(b: GraphBuilder, scale: float, low: float = -1.5, high: float = 1.5) -> float:
    """Return ``scale`` times a random factor from e^``low`` to e^``high``, rounded to float32."""
    return f32(scale * float(np.exp(b.rng.uniform(low, high))))


def add_or_sub(b: GraphBuilder, name: str, options_type: str) -> None:
    """Append an ADD or SUB with random inputs and a random output scale."""
    rng = b.rng
    if rng.random() < 0.15:
        add_power_of_two_scales(b, name, options_type)
        return
    x, y, shape = binary_operands(b, ("int8", "int16", "int32", "float32"))
    dtype = b[x].dtype
    quant = None
    if dtype not in ("int32", "float32"):
        largest = max(b[x].scale, b[y].scale)
        quant = b.quant(dtype, scale=spread(b, largest, -3 if rng.random() < 0.1 else -1, 2.5))
    out = b.tensor(shape, dtype, quant)
    b.op(
        name,
        [x, y],
        [out],
        options_type,
        version=2,
        fused_activation_function=activation(b),
        pot_scale_int16=False,
    )


def add_power_of_two_scales(b: GraphBuilder, name: str, options_type: str) -> None:
    """Append the int16 operator ``name`` (ADD or SUB) with scales that are powers of two, for which TFLite rescales one
    input with a shift instead of a multiplication."""
    exponent = int(b.rng.integers(-16, -8))
    shift = int(b.rng.integers(0, 9))
    shape = b.shape(int(b.rng.integers(1, 5)))
    pot = b.quant("int16", scale=2.0**exponent)
    x = b.input(shape, "int16", pot)
    y = operand(b, shape if name == "ADD" else partner_shape(b, shape), "int16", x)
    shifted = b.quant("int16", scale=2.0 ** (exponent - shift))
    b.tensors[y] = replace(b[y], quant=shifted)
    out_shape = broadcast_shape([shape, b[y].shape])
    assert out_shape is not None
    out = b.tensor(out_shape, "int16", pot)
    pair = [x, y] if b.rng.random() < 0.5 else [y, x]
    b.op(name, pair, [out], options_type, version=3, fused_activation_function=activation(b))


@case("ADD")
def add(b: GraphBuilder) -> None:
    add_or_sub(b, "ADD", "AddOptions")


@case("SUB")
def sub(b: GraphBuilder) -> None:
    add_or_sub(b, "SUB", "SubOptions")


@case("MUL")
def mul(b: GraphBuilder) -> None:
    x, y, shape = binary_operands(b, ("int8", "int16", "int32", "float32"))
    dtype = b[x].dtype
    quant = None
    if dtype not in ("int32", "float32"):
        # With this ratio of the scales, the products fill the range of the output.
        ratio = 40 if dtype == "int8" else 10000
        quant = b.quant(dtype, scale=spread(b, b[x].scale * b[y].scale * ratio))
    out = b.tensor(shape, dtype, quant)
    b.op("MUL", [x, y], [out], "MulOptions", version=2, fused_activation_function=activation(b))


@case("SQUARED_DIFFERENCE")
def squared_difference(b: GraphBuilder) -> None:
    x, y, shape = binary_operands(b, ("int8", "int32"))
    quant = None
    if b[x].dtype == "int8":
        # With this factor, the squares fill the range of the output.
        quant = b.quant("int8", scale=spread(b, max(b[x].scale, b[y].scale) ** 2 * 60))
    out = b.tensor(shape, b[x].dtype, quant)
    b.op("SQUARED_DIFFERENCE", [x, y], [out], "SquaredDifferenceOptions", version=2)


def minimum_maximum(b: GraphBuilder, name: str) -> None:
    """Append ``name`` (MINIMUM or MAXIMUM), whose output has the quantization of its first operand."""
    x, y, shape = binary_operands(b, ("int8", "uint8", "int16", "int32"))
    out = b.tensor(shape, b[x].dtype, b[x].quant)
    b.op(name, [x, y], [out], "MaximumMinimumOptions", version=2)


@case("MINIMUM")
def minimum(b: GraphBuilder) -> None:
    minimum_maximum(b, "MINIMUM")


@case("MAXIMUM")
def maximum(b: GraphBuilder) -> None:
    minimum_maximum(b, "MAXIMUM")


def comparison(b: GraphBuilder, name: str, options_type: str, dtypes: tuple[str, ...]) -> None:
    """Append the comparison ``name`` of two operands of one of ``dtypes``. Its output is bool."""
    x, y, shape = binary_operands(b, dtypes, largest=1.0)
    out = b.tensor(shape, "bool")
    b.op(name, [x, y], [out], options_type, version=2)


@case("EQUAL")
def equal(b: GraphBuilder) -> None:
    comparison(b, "EQUAL", "EqualOptions", ("int8", "int16", "int32", "bool"))


@case("NOT_EQUAL")
def not_equal(b: GraphBuilder) -> None:
    comparison(b, "NOT_EQUAL", "NotEqualOptions", ("int8", "int16", "int32", "bool"))


@case("LESS")
def less(b: GraphBuilder) -> None:
    comparison(b, "LESS", "LessOptions", ("int8", "int16", "int32"))


@case("LESS_EQUAL")
def less_equal(b: GraphBuilder) -> None:
    comparison(b, "LESS_EQUAL", "LessEqualOptions", ("int8", "int16", "int32"))


@case("GREATER")
def greater(b: GraphBuilder) -> None:
    comparison(b, "GREATER", "GreaterOptions", ("int8", "int16", "int32"))


@case("GREATER_EQUAL")
def greater_equal(b: GraphBuilder) -> None:
    comparison(b, "GREATER_EQUAL", "GreaterEqualOptions", ("int8", "int16", "int32"))


@case("LOGICAL_AND")
def logical_and(b: GraphBuilder) -> None:
    x, y, shape = binary_operands(b, ("bool",))
    b.op("LOGICAL_AND", [x, y], [b.tensor(shape, "bool")], "LogicalAndOptions")


@case("LOGICAL_OR")
def logical_or(b: GraphBuilder) -> None:
    x, y, shape = binary_operands(b, ("bool",))
    b.op("LOGICAL_OR", [x, y], [b.tensor(shape, "bool")], "LogicalOrOptions")


@case("LOGICAL_NOT")
def logical_not(b: GraphBuilder) -> None:
    x = b.pick(("bool",), RANKS)
    b.op("LOGICAL_NOT", [x], [b.tensor(b[x].shape, "bool")], "LogicalNotOptions")


ANY_TYPE = ("int8", "uint8", "bool", "int16", "int32", "int64", "float32")


@case("SELECT_V2")
def select_v2(b: GraphBuilder) -> None:
    x, y, shape = binary_operands(b, ANY_TYPE)
    condition_shape = partner_shape(b, shape)
    condition = b.input(condition_shape, "bool")
    out_shape = broadcast_shape([shape, condition_shape])
    assert out_shape is not None
    if len(broadcast_steps([condition_shape, b[x].shape, b[y].shape]).outer) > MAX_OUTER:
        condition, out_shape = b.input(shape, "bool"), shape
    b.op("SELECT_V2", [condition, x, y], [b.tensor(out_shape, b[x].dtype, b[x].quant)], "SelectV2Options")


@case("SELECT")
def select(b: GraphBuilder) -> None:
    x = b.pick(ANY_TYPE, RANKS)
    shape = b[x].shape
    y = operand(b, shape, b[x].dtype, x)
    kinds: list[tuple[int, ...]] = [shape, (), shape[:1]]
    condition = b.input(kinds[int(b.rng.integers(0, 3))], "bool")
    b.op("SELECT", [condition, x, y], [b.tensor(shape, b[x].dtype, b[x].quant)], "SelectOptions")


def constant_divisor(b: GraphBuilder, shape: tuple[int, ...], dtype: str, quant: Quantization | None) -> int:
    """Add a tensor of constant divisors and return its index.

    No divisor is zero, because TFLite aborts at a division by zero. Without quantization no divisor is -1 either,
    because the smallest integer divided by -1 overflows, and the result depends on the processor and its SIMD width.
    """
    values = np.array(random_input(Tensor(-1, "", partner_shape(b, shape), dtype), b.rng))
    if quant is None:
        return b.const(np.where((values == 0) | (values == -1), 2, values), dtype)
    zero = quant.zero_point[0]
    return b.const(np.where(values == zero, zero + (-1 if zero > 0 else 1), values), dtype, quant)


def unquantized_division(b: GraphBuilder, name: str, options_type: str) -> None:
    """Append a division that ignores quantization. The divisor and the output are not quantized."""
    x = b.pick(("int8", "int16", "int32"), RANKS)
    y = constant_divisor(b, b[x].shape, b[x].dtype, None)
    shape = broadcast_shape([b[x].shape, b[y].shape])
    assert shape is not None
    b.op(name, [x, y], [b.tensor(shape, b[x].dtype)], options_type, version=2)


@case("FLOOR_DIV")
def floor_div(b: GraphBuilder) -> None:
    unquantized_division(b, "FLOOR_DIV", "FloorDivOptions")


@case("FLOOR_MOD")
def floor_mod(b: GraphBuilder) -> None:
    unquantized_division(b, "FLOOR_MOD", "FloorModOptions")


@case("DIV")
def div(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int16", "int32", "float32"), RANKS)
    dtype = b[x].dtype
    quant = None if dtype in ("int32", "float32") else b.quant(dtype)
    y = constant_divisor(b, b[x].shape, dtype, quant)
    shape = broadcast_shape([b[x].shape, b[y].shape])
    assert shape is not None
    out_quant = None
    if quant is not None:
        # With this output scale, the shift in TFLite's formula is defined for every dividend and divisor.
        exponent = b.rng.uniform(6.1, 21) if dtype == "int8" else b.rng.uniform(14.05, 14.95)
        out_quant = b.quant(dtype, scale=f32(b[x].scale / quant.scale[0] / 2.0**exponent))
    out = b.tensor(shape, dtype, out_quant)
    # LiteRT rejects a fused RELU6 if 6 divided by the output scale exceeds 2^31.
    fused = activation(b) if out_quant is None or out_quant.scale[0] > 6 / 2**31 else 0
    b.op("DIV", [x, y], [out], "DivOptions", version=2, fused_activation_function=fused)


@case("POW")
def power(b: GraphBuilder) -> None:
    x = b.pick(("int32",), RANKS)
    exponent_shape = partner_shape(b, b[x].shape)
    y = b.const(b.rng.integers(0, int(b.rng.choice([4, 12, 40])), exponent_shape), "int32")
    shape = broadcast_shape([b[x].shape, exponent_shape])
    assert shape is not None
    b.op("POW", [x, y], [b.tensor(shape, "int32")], "PowOptions")
