"""Models with one operator for which stock TFLM and LiteRT's reference kernels differ, and similar models for which
they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arenite.converters.graph.model import Model, Quantization
from tests.converters.small_models import Net


def _q(scale: float, zero: int = 0) -> Quantization:
    """Return a quantization of a whole tensor."""
    return Quantization((scale,), (zero,))


def _unary(
    name: str,
    dtype: str,
    input_quant: Quantization,
    output_quant: Quantization,
    shape: tuple[int, ...] = (1, 500),
    **values: Any,
) -> Callable[[], Model]:
    """Return a function that builds a model of one operator with one input."""

    def make() -> Model:
        n = Net(3)
        n.inputs.append(n.tensor(shape, dtype, quant=input_quant))
        return n.model([n.op(name, [0], shape, dtype, quant=output_quant, **values)])

    return make


def _binary(
    name: str,
    dtype: str,
    quants: tuple[Quantization | None, ...],
    out: str = "",
    size: int = 500,
    **values: Any,
) -> Callable[[], Model]:
    """Return a function that builds a model of one operator with two inputs. ``quants`` are those of the inputs and of
    the output."""

    def make() -> Model:
        n = Net(3)
        n.inputs += [n.tensor((1, size), dtype, quant=q) for q in quants[:2]]
        return n.model([n.op(name, [0, 1], (1, size), out or dtype, quant=quants[2], **values)])

    return make


def _fully_connected(dtype: str) -> Callable[[], Model]:
    """Return a function that builds a fully connected layer with small sums and a multiplier near 1/50. About one
    result in sixty differs between rounding once and rounding twice."""

    def make() -> Model:
        n = Net(21)
        x = n.tensor((8, 2), dtype, quant=_q(0.02, 3 if dtype == "int8" else 0))
        n.inputs.append(x)
        w = n.tensor((64, 2), data=n.rng.integers(-127, 128, (64, 2)), quant=_q(0.01))
        bias = n.bias(x, w, 64, "int32" if dtype == "int8" else "int64")
        output_quant = _q(0.0103, 4) if dtype == "int8" else _q(0.003)
        return n.model(
            [
                n.op(
                    "FULLY_CONNECTED",
                    [x, w, bias],
                    (8, 64),
                    dtype,
                    options="FullyConnectedOptions",
                    quant=output_quant,
                )
            ]
        )

    return make


def _sum(dtype: str, input_quant: Quantization, output_quant: Quantization) -> Callable[[], Model]:
    """Return a function that builds a model with one SUM."""

    def make() -> Model:
        n = Net(3)
        x = n.tensor((4, 8, 16), dtype, quant=input_quant)
        n.inputs.append(x)
        return n.model(
            [n.op("SUM", [x, n.ints([1])], (4, 16), dtype, quant=output_quant, options="ReducerOptions")]
        )

    return make


def _space_to_batch(zero: int, pads: list[list[int]], width: int) -> Callable[[], Model]:
    """Return a function that builds a model with one SPACE_TO_BATCH_ND. ``width`` is the width of its output."""

    def make() -> Model:
        n = Net(3)
        x = n.tensor((1, 4, 4, 2), "int8", quant=_q(0.1, zero))
        n.inputs.append(x)
        edges = n.tensor((2, 2), "int32", data=pads)
        return n.model(
            [n.op("SPACE_TO_BATCH_ND", [x, n.ints([2, 2]), edges], (4, 2, width, 2), quant=_q(0.1, zero))]
        )

    return make


_SOFTMAX: dict[str, Any] = {"options": "SoftmaxOptions", "beta": 1.0}
#: Scales that are powers of two.
_POT = (_q(2**-11), _q(2**-10), _q(2**-10))
_ADD: dict[str, Any] = {"options": "AddOptions"}

#: Models for which TFLM and LiteRT differ.
DIFFERING: dict[str, Callable[[], Model]] = {
    "ADD": _binary("ADD", "int32", (None, None, None), fused_activation_function=1, **_ADD),
    "FULLY_CONNECTED": _fully_connected("int8"),
    "FULLY_CONNECTED int16": _fully_connected("int16"),
    "GREATER": _binary("GREATER", "int16", (_q(0.001), _q(0.001), None), out="bool"),
    "MUL": _binary("MUL", "int16", (_q(0.3), _q(0.3), _q(3000.0)), size=20000, options="MulOptions"),
    "RELU": _unary("RELU", "int8", _q(0.05, 3), _q(6 / 255, -128)),
    "RELU6": _unary("RELU6", "int8", _q(0.05, 3), _q(6 / 255, -128)),
    "RELU6 int16": _unary("RELU6", "int16", _q(0.001), _q(0.0005)),
    "RSQRT": _unary("RSQRT", "int16", _q(0.001), _q(0.001)),
    "SOFTMAX": _unary("SOFTMAX", "int16", _q(0.0001), _q(1 / 32768), (64, 10), **_SOFTMAX),
    "SPACE_TO_BATCH_ND": _space_to_batch(7, [[0, 0], [1, 1]], 3),
    "ADD int16": _binary("ADD", "int16", _POT, options="AddOptions", pot_scale_int16=True),
    "SUB": _binary("SUB", "int16", _POT, options="SubOptions", pot_scale_int16=True),
    "SUM": _sum("int8", _q(0.05, 3), _q(0.3, -5)),
    "SUM int16": _sum("int16", _q(0.001), _q(0.005)),
    "TANH": _unary("TANH", "int8", _q(0.05, 3), _q(1 / 100, 5)),
}  # fmt: skip

#: Similar models for which TFLM and LiteRT agree.
AGREEING: dict[str, Callable[[], Model]] = {
    "ADD int16": _binary("ADD", "int16", _POT, options="AddOptions", pot_scale_int16=False),
    "SUB": _binary("SUB", "int16", _POT, options="SubOptions", pot_scale_int16=False),
    "ADD": _binary("ADD", "int32", (None, None, None), **_ADD),
    "RELU": _unary("RELU", "int8", _q(0.05, 3), _q(0.05, 3)),
    "RELU6": _unary("RELU6", "int8", _q(0.05, 3), _q(0.05, 3)),
    "SOFTMAX": _unary("SOFTMAX", "int8", _q(0.05), _q(1 / 256, -128), (64, 10), **_SOFTMAX),
    "SPACE_TO_BATCH_ND": _space_to_batch(0, [[0, 0], [1, 1]], 3),
    "SPACE_TO_BATCH_ND without padding": _space_to_batch(7, [[0, 0], [0, 0]], 2),
    "TANH": _unary("TANH", "int8", _q(0.05, 3), _q(1 / 128)),
    "TANH int16": _unary("TANH", "int16", _q(4 / 32768), _q(1 / 32768)),
    "LOGISTIC": _unary("LOGISTIC", "int8", _q(0.05, 3), _q(1 / 256, -128)),
    "GREATER": _binary("GREATER", "int8", (_q(0.05, 3), _q(0.05, 3), None), out="bool"),
    "MUL": _binary("MUL", "int8", (_q(0.05, 3), _q(0.04, -9), _q(0.1, 1)), options="MulOptions"),
}  # fmt: skip
