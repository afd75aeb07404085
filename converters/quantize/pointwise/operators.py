"""Compute elementwise operators with NumPy in float64, which does not overflow at values at which float32 does."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arenite.converters.graph.model import Op
from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1

_CLAMPS: dict[int, tuple[float, float]] = {
    RELU: (0.0, math.inf),
    RELU6: (0.0, 6.0),
    RELU_N1_TO_1: (-1.0, 1.0),
}

#: A function that takes the operator and the values of its inputs, and returns the values of its output.
Function = Callable[..., np.ndarray]


def _gelu(op: Op, x: np.ndarray) -> np.ndarray:
    if op.options.get("approximate"):
        gate: np.ndarray = 1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    else:
        gate = np.array([math.erfc(-v * math.sqrt(0.5)) for v in x.reshape(-1)]).reshape(x.shape)
    values: np.ndarray = 0.5 * x * gate
    return values


def _logistic(op: Op, x: np.ndarray) -> np.ndarray:
    values: np.ndarray = 1 / (1 + np.exp(-x))
    return values


def _below_zero(x: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return ``low`` where ``x`` is negative, and ``x`` elsewhere."""
    return np.where(x < 0, low, x)


def _select(op: Op, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(condition.astype(bool), x, y)


_FUNCTIONS: dict[str, Function] = {
    "ABS": lambda op, x: np.abs(x),
    "ADD": lambda op, x, y: x + y,
    "CAST": lambda op, x: x.astype(np.float64),
    "CEIL": lambda op, x: np.ceil(x),
    "COS": lambda op, x: np.cos(x),
    "DIV": lambda op, x, y: x / y,
    "ELU": lambda op, x: _below_zero(x, np.expm1(np.minimum(x, 0))),
    "EQUAL": lambda op, x, y: x == y,
    "EXP": lambda op, x: np.exp(x),
    "FLOOR": lambda op, x: np.floor(x),
    "GELU": _gelu,
    "GREATER": lambda op, x, y: x > y,
    "GREATER_EQUAL": lambda op, x, y: x >= y,
    "HARD_SWISH": lambda op, x: x * np.clip(x + 3, 0, 6) / 6,
    "LEAKY_RELU": lambda op, x: _below_zero(x, op.options["alpha"] * x),
    "LESS": lambda op, x, y: x < y,
    "LESS_EQUAL": lambda op, x, y: x <= y,
    "LOG": lambda op, x: np.log(x),
    "LOGICAL_AND": lambda op, x, y: x.astype(bool) & y.astype(bool),
    "LOGICAL_NOT": lambda op, x: ~x.astype(bool),
    "LOGICAL_OR": lambda op, x, y: x.astype(bool) | y.astype(bool),
    "LOGISTIC": _logistic,
    "MAXIMUM": lambda op, x, y: np.maximum(x, y),
    "MINIMUM": lambda op, x, y: np.minimum(x, y),
    "MUL": lambda op, x, y: x * y,
    "NEG": lambda op, x: -x,
    "NOT_EQUAL": lambda op, x, y: x != y,
    "POW": lambda op, x, y: np.power(x, y),
    "PRELU": lambda op, x, y: _below_zero(x, x * y),
    "RELU": lambda op, x: np.maximum(x, 0),
    "RELU6": lambda op, x: np.clip(x, 0, 6),
    "RELU_0_TO_1": lambda op, x: np.clip(x, 0, 1),
    "RELU_N1_TO_1": lambda op, x: np.clip(x, -1, 1),
    "ROUND": lambda op, x: np.rint(x),
    "RSQRT": lambda op, x: 1 / np.sqrt(x),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SIGN": lambda op, x: np.sign(x),
    "SIN": lambda op, x: np.sin(x),
    "SQRT": lambda op, x: np.sqrt(x),
    "SQUARE": lambda op, x: x * x,
    "SQUARED_DIFFERENCE": lambda op, x, y: (x - y) ** 2,
    "SUB": lambda op, x, y: x - y,
    "TANH": lambda op, x: np.tanh(x),
    "ZEROS_LIKE": lambda op, x: np.zeros_like(x),
}

#: The elementwise operators that ``apply_operator`` computes.
POINTWISE = frozenset(_FUNCTIONS)


def is_pointwise(op: Op) -> bool:
    """Return whether ``apply_operator`` computes ``op``."""
    return op.name in _FUNCTIONS and op.options.get("fused_activation_function", NONE) in (NONE, *_CLAMPS)


def apply_operator(op: Op, *inputs: np.ndarray) -> np.ndarray:
    """Return the values of ``op`` in float64, or booleans for a comparison. Where the function is not defined, the
    result is NaN or infinite."""
    with np.errstate(all="ignore"):
        values: np.ndarray = _FUNCTIONS[op.name](op, *inputs)
    low, high = _CLAMPS.get(op.options.get("fused_activation_function", NONE), (-math.inf, math.inf))
    return np.clip(values, low, high) if math.isfinite(low) else values
