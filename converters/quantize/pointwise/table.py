"""Compute a function of one variable on int8 by a table of 256 bytes.

The table's operators are standard TFLite, so that LiteRT and TFLM compute the same bytes: CAST to int32, ADD of 128,
and GATHER from the table. The firmware runs them as one loop without the int32 tensors.
"""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Quantization, Subgraph
from arenite.converters.quantize.graph.operator_rules import RULES
from arenite.converters.quantize.pointwise.functions import PointwiseFunction, pointwise_functions

#: Operators that lose accuracy on int8 when other operators follow, because a few large values set their scale, or
#: because the next operator magnifies the error.
_INACCURATE = frozenset(
    {"EXP", "LOG", "DIV", "SQRT", "RSQRT", "SELECT", "SELECT_V2", "EQUAL", "NOT_EQUAL", "SQUARED_DIFFERENCE"}
)


def table_functions(graph: Subgraph) -> tuple[PointwiseFunction, ...]:
    """Return the functions of ``graph`` that are computed by a table on int8: functions of several operators that would
    lose accuracy, and functions with an operator that has no integer kernel."""
    return tuple(f for f in pointwise_functions(graph) if _needs_table(graph, f))


def _needs_table(graph: Subgraph, function: PointwiseFunction) -> bool:
    names = {op.name for op in function.ops}
    real = [op for op in function.ops if graph.tensors[op.outputs[0]].dtype == "float32"]
    inaccurate = len(function.ops) > 1 and not names.isdisjoint(_INACCURATE)
    return inaccurate or any(op.name not in RULES for op in real)


def lookup_table(function: PointwiseFunction, source: Quantization, result: Quantization) -> np.ndarray:
    """Return int8 [256]: the result for each int8 input from -128 to 127. If the function is not defined at an
    input, the result is that of the nearest input at which it is defined."""
    inputs = (np.arange(-128, 128) - source.zero_point[0]) * source.scale[0]
    real = _fill_undefined(function(inputs))
    with np.errstate(over="ignore"):
        quantized = np.rint(real / result.scale[0]) + result.zero_point[0]
    table: np.ndarray = np.clip(quantized, -128, 127).astype(np.int8)
    return table


def _fill_undefined(values: np.ndarray) -> np.ndarray:
    """Return ``values`` with each NaN replaced by its nearest number, or by 0 if there is none. Infinite values stay:
    they become the largest or smallest int8."""
    numbers = np.flatnonzero(~np.isnan(values))
    if not numbers.size:
        return np.zeros_like(values)
    nearest = numbers[np.argmin(np.abs(np.arange(values.size)[:, None] - numbers), axis=1)]
    defined: np.ndarray = values[nearest]
    return defined
