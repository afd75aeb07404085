"""Random element-by-element operators with one input."""

from __future__ import annotations

import math
from typing import Any

from arenite.converters.graph.model import Quantization
from tests.fuzz.cases import case
from tests.fuzz.cases.elementwise import RANKS, spread
from tests.fuzz.graph_builder import GraphBuilder


def unary(
    b: GraphBuilder, name: str, x: int, scale: float | None = None, options: str = "", **more: Any
) -> int:
    """Append the operator ``name`` with input ``x`` and return its output, whose values have ``scale`` and a random
    zero point. Without ``scale``, the output has the input's quantization."""
    dtype = b[x].dtype
    quant = b[x].quant
    if quant is not None and scale is not None:
        quant = b.quant(dtype, scale=scale)
    out = b.tensor(b[x].shape, dtype, quant)
    b.op(name, [x], [out], options, version=2 if dtype == "int16" and name != "NEG" else 1, **more)
    return out


def largest(b: GraphBuilder, x: int) -> float:
    """Return the largest absolute value that ``x`` can represent, for zero point 0."""
    return b[x].scale * (128 if b[x].dtype == "int8" else 32768)


def levels(b: GraphBuilder, x: int) -> int:
    """Return the number of stored values on one side of zero."""
    return 128 if b[x].dtype == "int8" else 32768


def scale_for(b: GraphBuilder, max_value: float, x: int) -> float:
    """Return a random quantization scale for an output of ``x``'s type whose largest real value is about
    ``max_value``."""
    return spread(b, max_value / levels(b, x), -1.0, 1.5)


def pick_int8_or_int16(b: GraphBuilder) -> int:
    """Return an input tensor of any rank."""
    return b.pick(("int8", "int16"), RANKS)


def fixed_output(
    b: GraphBuilder, name: str, x: int, scale: float, zero_point: int, options: str = ""
) -> None:
    """Append ``name`` with input ``x`` and an output of the given quantization, as TFLite requires it."""
    quant = Quantization((scale,), (zero_point,))
    out = b.tensor(b[x].shape, b[x].dtype, quant)
    b.op(name, [x], [out], options)


def sigmoid_input(b: GraphBuilder) -> int:
    """Return an input tensor. The scale of an int16 input is often a power of two, for which TFLite only shifts, or
    near it."""
    x = pick_int8_or_int16(b)
    # Scales above 4 do not fit TFLite's 16-bit multiplier.
    if b[x].dtype == "int16" and (b.rng.random() < 0.5 or b[x].scale > 4):
        scale = 2.0 ** int(b.rng.integers(-14, -8)) * float(b.rng.choice([1.0, 1.0, 1.0003, 1.003]))
        x = b.input(b[x].shape, "int16", b.quant("int16", scale=spread(b, scale, 0, 0)))
    return x


@case("LOGISTIC")
def logistic(b: GraphBuilder) -> None:
    x = sigmoid_input(b)
    if b[x].dtype == "int16":
        fixed_output(b, "LOGISTIC", x, 1 / 32768, 0)
    else:
        fixed_output(b, "LOGISTIC", x, 1 / 256, int(b.rng.choice([-128, -128, 0, 5])))


@case("TANH")
def tanh(b: GraphBuilder) -> None:
    x = sigmoid_input(b)
    if b[x].dtype == "int16":
        fixed_output(b, "TANH", x, 1 / 32768, 0)
    else:
        unary(b, "TANH", x, scale_for(b, 1.0, x))


def relu_like(b: GraphBuilder, name: str, dtypes: tuple[str, ...]) -> None:
    """Append the activation ``name``, with the quantization of its input or another one."""
    x = b.pick(dtypes, RANKS)
    kind = b.rng.random()
    unary(b, name, x, None if kind < 0.3 else spread(b, b[x].scale, -2.0, 2.0))


@case("RELU")
def relu(b: GraphBuilder) -> None:
    relu_like(b, "RELU", ("int8", "int16"))


@case("RELU6")
def relu6(b: GraphBuilder) -> None:
    relu_like(b, "RELU6", ("int8", "int16"))


@case("RELU_0_TO_1")
def relu_0_to_1(b: GraphBuilder) -> None:
    relu_like(b, "RELU_0_TO_1", ("int8",))


@case("RELU_N1_TO_1")
def relu_n1_to_1(b: GraphBuilder) -> None:
    relu_like(b, "RELU_N1_TO_1", ("int8",))


@case("LEAKY_RELU")
def leaky_relu(b: GraphBuilder) -> None:
    x = pick_int8_or_int16(b)
    alpha = float(b.rng.choice([0.0, 0.01, 0.1, 0.2, 0.3, 1.0, 1.5, -0.25]))
    scale = spread(b, b[x].scale, -2.0, 2.0)
    unary(b, "LEAKY_RELU", x, scale, "LeakyReluOptions", alpha=alpha)


@case("PRELU")
def prelu(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int16"), RANKS)
    shape = b[x].shape
    kinds = [shape, shape[1:], shape[-1:], (), (1,) * (len(shape) - 1) + shape[-1:]]
    if len(shape) == 4:
        kinds.append((1, 1, shape[3]))
        kinds.append((shape[1], 1, 1))
    alpha_shape = kinds[int(b.rng.integers(0, len(kinds)))]
    quant = b.quant("int8", scale=spread(b, 0.005))
    alpha = b.const(b.rng.integers(-128, 128, alpha_shape), "int8", quant)
    if b.rng.random() < 0.2:
        alpha = b.input(alpha_shape, "int8", quant)
    out = b.tensor(shape, b[x].dtype, b.quant(b[x].dtype, scale=spread(b, b[x].scale, -2.0, 2.0)))
    b.op("PRELU", [x, alpha], [out])


@case("HARD_SWISH")
def hard_swish(b: GraphBuilder) -> None:
    x = b.pick(("int8",), RANKS)
    low = b[x].scale / 128  # TFLite refuses smaller output scales
    unary(b, "HARD_SWISH", x, max(spread(b, b[x].scale, -2.0, 2.0), low * 1.01), "HardSwishOptions")


@case("GELU")
def gelu(b: GraphBuilder) -> None:
    x = pick_int8_or_int16(b)
    approximate = bool(b.rng.integers(0, 2))
    unary(b, "GELU", x, spread(b, b[x].scale, -2.0, 2.0), "GeluOptions", approximate=approximate)


@case("ABS")
def absolute(b: GraphBuilder) -> None:
    x = b.pick(("int8", "int16", "int32"), RANKS)
    scale = None if b[x].dtype == "int32" or b.rng.random() < 0.3 else spread(b, b[x].scale, -2.0, 2.0)
    unary(b, "ABS", x, scale, "AbsOptions")


@case("NEG")
def neg(b: GraphBuilder) -> None:
    unary(b, "NEG", b.pick(("int8", "int16", "int32"), RANKS), None, "NegOptions")


def not_negative(b: GraphBuilder) -> int:
    """Return an input that is never below its zero point, because TFLite rejects other inputs at run time."""
    if b.rng.random() < 0.5:
        return b.pick(("int8",), RANKS, zero_point=-128)
    return unary(b, "RELU", b.pick(("int16",), RANKS))


@case("SQRT")
def sqrt(b: GraphBuilder) -> None:
    x = not_negative(b)
    unary(b, "SQRT", x, scale_for(b, math.sqrt(2 * largest(b, x)), x))


@case("RSQRT")
def rsqrt(b: GraphBuilder) -> None:
    x = not_negative(b)
    unary(b, "RSQRT", x, scale_for(b, 1 / math.sqrt(b[x].scale), x), "")


@case("EXP")
def exp(b: GraphBuilder) -> None:
    x = pick_int8_or_int16(b)
    max_output = math.exp(min(largest(b, x), 20.0)) if b.rng.random() < 0.7 else 1.0
    unary(b, "EXP", x, scale_for(b, max_output, x), "ExpOptions")


@case("LOG")
def log(b: GraphBuilder) -> None:
    x = pick_int8_or_int16(b)
    unary(b, "LOG", x, scale_for(b, 4.0, x))
