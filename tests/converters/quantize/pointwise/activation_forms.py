"""Activation functions as groups of TFLite operators, as frameworks export them, and the exact values of the
functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.converters.quantize.float_models import FloatNet

#: A function that adds the operators of an activation which reads a tensor, and returns their output.
Form = Callable[["Spelling", int], int]
#: A function that computes the exact values of an activation.
Real = Callable[[np.ndarray], np.ndarray]


class Spelling:
    """Adds elementwise operators to ``net``, whose outputs all have one shape. The methods return tensor indices."""

    def __init__(self, net: FloatNet, shape: tuple[int, ...]) -> None:
        self.net, self.shape = net, shape

    def one(self, name: str, *inputs: int) -> int:
        table = {"MUL": "MulOptions", "ADD": "AddOptions", "SUB": "SubOptions", "DIV": "DivOptions"}.get(
            name, ""
        )
        values = {"fused_activation_function": 0} if table else {}
        return self.net.layer(name, list(inputs), self.shape, table, **values)

    def number(self, value: float) -> int:
        return self.net.real([value])

    def compare(self, name: str, x: int, limit: float) -> int:
        return self.net.op(name, [x, self.number(limit)], self.shape, "bool")

    def expm1(self, x: int) -> int:
        return self.one("SUB", self.one("EXP", x), self.number(1))

    def softplus(self, x: int) -> int:
        return self.one("LOG", self.one("ADD", self.one("EXP", x), self.number(1)))


def _times(s: Spelling, x: int, factor: float) -> int:
    return s.one("MUL", x, s.number(factor))


def _torch_elu(s: Spelling, x: int) -> int:
    return s.one("SELECT", s.compare("GREATER_EQUAL", x, 0), x, s.expm1(x))


def _torch_elu_07(s: Spelling, x: int) -> int:
    return s.one("SELECT", s.compare("GREATER_EQUAL", x, 0), x, _times(s, s.expm1(x), 0.7))


def _torch_celu_2(s: Spelling, x: int) -> int:
    low = _times(s, s.expm1(_times(s, x, 0.5)), 2)
    return s.one("SELECT", s.compare("GREATER", x, 0), x, low)


def _keras_celu(s: Spelling, x: int) -> int:
    return s.one("ADD", s.one("RELU", x), s.expm1(s.one("MINIMUM", x, s.number(0))))


def _selu(s: Spelling, x: int) -> int:
    high, low = _times(s, x, 1.0507009873554805), _times(s, s.expm1(x), 1.7580993408473766)
    return s.one("SELECT_V2", s.compare("GREATER", x, 0), high, low)


def _torch_softplus(s: Spelling, x: int) -> int:
    return s.one("SELECT", s.compare("GREATER", x, 20), x, s.softplus(x))


def _keras_log_sigmoid(s: Spelling, x: int) -> int:
    return s.one("NEG", s.softplus(s.one("NEG", x)))


def _mish(s: Spelling, x: int) -> int:
    return s.one("MUL", x, s.one("TANH", s.softplus(x)))


def _softsign(s: Spelling, x: int) -> int:
    return s.one("DIV", x, s.one("ADD", s.one("ABS", x), s.number(1)))


def _soft_shrink(s: Spelling, x: int) -> int:
    moved = s.one("SUB", x, _times(s, s.one("SIGN", x), 0.5))
    return s.one("SELECT_V2", s.compare("GREATER", s.one("ABS", x), 0.5), moved, s.number(0))


def _squareplus(s: Spelling, x: int) -> int:
    root = s.one("SQRT", s.one("ADD", s.one("MUL", x, x), s.number(4)))
    return _times(s, s.one("ADD", x, root), 0.5)


def _tanh_gelu(s: Spelling, x: int) -> int:
    cube = s.one("MUL", x, s.one("MUL", x, x))
    inner = _times(s, s.one("ADD", x, _times(s, cube, 0.044715)), math.sqrt(2 / math.pi))
    return s.one("MUL", _times(s, x, 0.5), s.one("ADD", s.one("TANH", inner), s.number(1)))


def _hard_swish(s: Spelling, x: int) -> int:
    gate = _times(s, s.one("RELU6", s.one("ADD", x, s.number(3))), 1 / 6)
    return s.one("MUL", x, gate)


def _leaky(s: Spelling, x: int) -> int:
    return s.one("SELECT", s.compare("LESS", x, 0), _times(s, x, 0.15), x)


def _elu(x: np.ndarray, alpha: float = 1.0, slope: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(slope * np.minimum(x, 0)))


def _tanh_gelu_values(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


#: By name: the form, the function that it computes, and the TFLite operator that computes the same function alone
#: ("" if there is none).
FORMS: dict[str, tuple[Form, Real, str]] = {
    "torch elu": (_torch_elu, _elu, "ELU"),
    "torch elu 0.7": (_torch_elu_07, lambda x: _elu(x, 0.7), ""),
    "torch celu 2": (_torch_celu_2, lambda x: _elu(x, 2, 0.5), ""),
    "keras celu": (_keras_celu, _elu, "ELU"),
    "selu": (_selu, lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772), ""),
    "torch softplus": (_torch_softplus, lambda x: np.logaddexp(x, 0), ""),
    "keras softplus": (Spelling.softplus, lambda x: np.logaddexp(x, 0), ""),
    "keras log_sigmoid": (_keras_log_sigmoid, lambda x: -np.logaddexp(-x, 0), ""),
    "mish": (_mish, lambda x: x * np.tanh(np.logaddexp(x, 0)), ""),
    "softsign": (_softsign, lambda x: x / (1 + np.abs(x)), ""),
    "soft shrink": (_soft_shrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), ""),
    "squareplus": (_squareplus, lambda x: (x + np.sqrt(x * x + 4)) / 2, ""),
    "tanh gelu": (_tanh_gelu, _tanh_gelu_values, "GELU"),
    "hard swish": (_hard_swish, lambda x: x * np.clip(x + 3, 0, 6) / 6, "HARD_SWISH"),
    "leaky": (_leaky, lambda x: np.where(x < 0, 0.15 * x, x), "LEAKY_RELU"),
}
