"""Recognize functions for which TFLite has an operator. Their values are compared, because frameworks compute the same
function with different operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op
from arenite.converters.quantize.pointwise.functions import PointwiseFunction
from arenite.converters.quantize.pointwise.operators import apply_operator
from arenite.converters.tflite.verifier import defaults_of

#: The points at which functions are compared: many where activations bend, and a few where they are straight.
_POINTS = np.concatenate([np.linspace(-12, 12, 2401), [-80.0, -40.0, -20.0, 20.0, 40.0, 80.0]])

#: Functions count as the same if their values differ by at most this factor times 1 plus the magnitude of the value.
#: Approximations of erf in float32 differ by about 1e-6; the two forms of GELU differ by 5e-4.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class _Builtin:
    """An operator of TFLite that computes a function of one variable."""

    name: str
    options_type: str = ""
    options: dict[str, Any] = field(default_factory=dict)


_BUILTINS = (
    _Builtin("RELU"),
    _Builtin("RELU6"),
    _Builtin("ELU"),
    _Builtin("GELU", "GeluOptions", {"approximate": False}),
    _Builtin("GELU", "GeluOptions", {"approximate": True}),
    _Builtin("HARD_SWISH", "HardSwishOptions"),
    _Builtin("LOGISTIC"),
    _Builtin("TANH"),
)


def builtin_operator(function: PointwiseFunction) -> Op | None:
    """Return one TFLite operator that computes ``function``, or None if there is none."""
    values = function(_POINTS)
    if not np.all(np.isfinite(values)):
        return None
    slope = -float(function(np.array([-1.0]))[0])
    leaky = _Builtin("LEAKY_RELU", "LeakyReluOptions", {"alpha": float(np.float32(slope))})
    for builtin in (*_BUILTINS, leaky):
        options = {**(defaults_of(builtin.options_type) if builtin.options_type else {}), **builtin.options}
        op = Op(
            function.last.index,
            builtin.name,
            (function.source,),
            (function.result,),
            options,
            builtin.options_type,
        )
        difference = np.abs(apply_operator(op, _POINTS) - values)
        if np.all(difference <= _TOLERANCE * (1 + np.abs(values))):
            return op
    return None


def prelu_slopes(function: PointwiseFunction) -> np.ndarray | None:
    """Return the slopes below zero, float32 [channels], if ``function`` computes PReLU: x from zero on, and below zero
    x times a factor that depends on the channel. Return None otherwise."""
    values = function(_POINTS[:, None])
    if values.shape[1] == 1 or not np.all(np.isfinite(values)):
        return None
    slopes = -function(np.array([[-1.0]]))[0]
    points = _POINTS[:, None]
    expected = np.where(points < 0, points * slopes, points)
    if not np.all(np.abs(expected - values) <= _TOLERANCE * (1 + np.abs(values))):
        return None
    result: np.ndarray = slopes.astype(np.float32)
    return result
