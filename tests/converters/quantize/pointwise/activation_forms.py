"""Activation functions as groups of TFLite operators, as frameworks export them (forms), and the exact values of the
functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.converters.quantize.float_models import FloatNet

#: A function that adds the operators of an activation which reads a tensor, and returns their output.
Form = Callable[["OperatorAdder", int], int]
#: A function that computes the exact values of an activation.
Real = Callable[[np.ndarray], np.ndarray]


class OperatorAdder:
    """Adds elementwise operators to ``net``, whose outputs all have one shape. The methods return tensor indices."""

    def __init__(self, net: FloatNet, shape: tuple[int, ...]) -> None:
        self.net, self.shape = net, shape

    def add(self, name: str, *inputs: int) -> int:
        """Add the operator ``name``."""
        table = {"MUL": "MulOptions", "ADD": "AddOptions", "SUB": "SubOptions", "DIV": "DivOptions"}.get(
            name, ""
        )
        values = {"fused_activation_function": 0} if table else {}
        return self.net.layer(name, list(inputs), self.shape, table, **values)

    def number(self, value: float) -> int:
        """Add a constant."""
        return self.net.real([value])

    def compare(self, name: str, x: int, limit: float) -> int:
        """Add a comparison of ``x`` with ``limit``, whose output is bool."""
        return self.net.op(name, [x, self.number(limit)], self.shape, "bool")

    def expm1(self, x: int) -> int:
        """Add exp(x) - 1."""
        return self.add("SUB", self.add("EXP", x), self.number(1))

    def softplus(self, x: int) -> int:
        """Add log(exp(x) + 1)."""
        return self.add("LOG", self.add("ADD", self.add("EXP", x), self.number(1)))


def _times(s: OperatorAdder, x: int, factor: float) -> int:
    """Add a multiplication by a constant."""
    return s.add("MUL", x, s.number(factor))


def _torch_elu(s: OperatorAdder, x: int) -> int:
    return s.add("SELECT", s.compare("GREATER_EQUAL", x, 0), x, s.expm1(x))


def _torch_elu_07(s: OperatorAdder, x: int) -> int:
    return s.add("SELECT", s.compare("GREATER_EQUAL", x, 0), x, _times(s, s.expm1(x), 0.7))


def _torch_celu_2(s: OperatorAdder, x: int) -> int:
    low = _times(s, s.expm1(_times(s, x, 0.5)), 2)
    return s.add("SELECT", s.compare("GREATER", x, 0), x, low)


def _keras_celu(s: OperatorAdder, x: int) -> int:
    return s.add("ADD", s.add("RELU", x), s.expm1(s.add("MINIMUM", x, s.number(0))))


def _selu(s: OperatorAdder, x: int) -> int:
    high, low = _times(s, x, 1.0507009873554805), _times(s, s.expm1(x), 1.7580993408473766)
    return s.add("SELECT_V2", s.compare("GREATER", x, 0), high, low)


def _torch_softplus(s: OperatorAdder, x: int) -> int:
    return s.add("SELECT", s.compare("GREATER", x, 20), x, s.softplus(x))


def _keras_log_sigmoid(s: OperatorAdder, x: int) -> int:
    return s.add("NEG", s.softplus(s.add("NEG", x)))


def _mish(s: OperatorAdder, x: int) -> int:
    return s.add("MUL", x, s.add("TANH", s.softplus(x)))


def _softsign(s: OperatorAdder, x: int) -> int:
    return s.add("DIV", x, s.add("ADD", s.add("ABS", x), s.number(1)))


def _soft_shrink(s: OperatorAdder, x: int) -> int:
    moved = s.add("SUB", x, _times(s, s.add("SIGN", x), 0.5))
    return s.add("SELECT_V2", s.compare("GREATER", s.add("ABS", x), 0.5), moved, s.number(0))


def _squareplus(s: OperatorAdder, x: int) -> int:
    root = s.add("SQRT", s.add("ADD", s.add("MUL", x, x), s.number(4)))
    return _times(s, s.add("ADD", x, root), 0.5)


def _tanh_gelu(s: OperatorAdder, x: int) -> int:
    cube = s.add("MUL", x, s.add("MUL", x, x))
    inner = _times(s, s.add("ADD", x, _times(s, cube, 0.044715)), math.sqrt(2 / math.pi))
    return s.add("MUL", _times(s, x, 0.5), s.add("ADD", s.add("TANH", inner), s.number(1)))


def _hard_swish(s: OperatorAdder, x: int) -> int:
    gate = _times(s, s.add("RELU6", s.add("ADD", x, s.number(3))), 1 / 6)
    return s.add("MUL", x, gate)


def _leaky(s: OperatorAdder, x: int) -> int:
    return s.add("SELECT", s.compare("LESS", x, 0), _times(s, x, 0.15), x)


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
    "keras softplus": (OperatorAdder.softplus, lambda x: np.logaddexp(x, 0), ""),
    "keras log_sigmoid": (_keras_log_sigmoid, lambda x: -np.logaddexp(-x, 0), ""),
    "mish": (_mish, lambda x: x * np.tanh(np.logaddexp(x, 0)), ""),
    "softsign": (_softsign, lambda x: x / (1 + np.abs(x)), ""),
    "soft shrink": (_soft_shrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), ""),
    "squareplus": (_squareplus, lambda x: (x + np.sqrt(x * x + 4)) / 2, ""),
    "tanh gelu": (_tanh_gelu, _tanh_gelu_values, "GELU"),
    "hard swish": (_hard_swish, lambda x: x * np.clip(x + 3, 0, 6) / 6, "HARD_SWISH"),
    "leaky": (_leaky, lambda x: np.where(x < 0, 0.15 * x, x), "LEAKY_RELU"),
}
