"""SVDF with int8 time weights and state: which operators have them, and NumPy code that computes their results.

LiteRT has kernels for int16 time weights and state only. It loads such a model, but reads the bytes of the int8 state
as int16. TensorFlow Lite Micro has a kernel for int8; the NumPy code gives the results of that kernel (source:
svdf_common.cc).
"""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import (
    float_product_ratio,
    quantize_multiplier,
    round_twice,
)

#: Positions among the operator's inputs.
INPUT, FEATURE, TIME, BIAS, STATE = range(5)


def has_int8_state(graph: Subgraph, op: Op) -> bool:
    """Return whether ``op`` is an SVDF whose state and time weights are int8."""
    return op.name == "SVDF" and all(
        op.input(k) >= 0 and graph.tensors[op.input(k)].dtype == "int8" for k in (TIME, STATE)
    )


def state_multipliers(graph: Subgraph, op: Op) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two pairs (multiplier, shift). The first scales the products of inputs and feature weights to the
    state, the second the products of state and time weights to the output."""
    inp, feature, time, state = (graph.tensors[op.inputs[k]] for k in (INPUT, FEATURE, TIME, STATE))
    out = graph.tensors[op.outputs[0]]
    return (
        quantize_multiplier(float_product_ratio(inp.scale, feature.scale, state.scale)),
        quantize_multiplier(float_product_ratio(state.scale, time.scale, out.scale)),
    )


class Int8StateSvdf:
    """An SVDF with int8 state and the values of its state: int8 [batches, filters, memory]. A new object has the
    state of a reset: every value is the zero point."""

    def __init__(self, graph: Subgraph, op: Op) -> None:
        self._input, feature, time, state = (
            graph.tensors[op.inputs[k]] for k in (INPUT, FEATURE, TIME, STATE)
        )
        self._out = graph.tensors[op.outputs[0]]
        assert feature.data is not None and time.data is not None
        self._feature, self._time = feature.data.astype(np.int64), time.data.astype(np.int64)
        bias = graph.tensors[op.inputs[BIAS]].data if op.input(BIAS) >= 0 else None
        self._bias = np.int64(0) if bias is None else bias.astype(np.int64)
        self._rank = int(op.options["rank"])
        self._zero_point = state.zero_point
        self._multipliers = state_multipliers(graph, op)
        self._state = np.full((self._input.shape[0], *time.shape), self._zero_point, np.int8)

    def reset(self) -> None:
        """Set every value of the state to its zero point."""
        self._state[...] = self._zero_point

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """Append ``values``, int8 [batches, inputs], to the state, and return the output: int8 [batches, units]."""
        to_state, to_output = self._multipliers
        sums = (values.astype(np.int64) - self._input.zero_point) @ self._feature.T
        newest = np.clip(_scaled(sums, to_state), -128, 127) + self._zero_point
        self._state[:, :, :-1] = self._state[:, :, 1:]
        # TFLM clamps before it adds the zero point, so the sum of both can wrap around.
        self._state[:, :, -1] = newest.astype(np.int8)
        products = ((self._state.astype(np.int64) - self._zero_point) * self._time).sum(axis=2)
        units = products.reshape(len(values), -1, self._rank).sum(axis=2) + self._bias
        output: np.ndarray = np.clip(_scaled(units, to_output) + self._out.zero_point, -128, 127)
        return output.astype(np.int8)


def _scaled(sums: np.ndarray, factor: tuple[int, int]) -> np.ndarray:
    """Return ``sums`` times ``factor``, which is (multiplier, shift)."""
    return round_twice(sums, np.array(factor[0]), np.array(factor[1]))
