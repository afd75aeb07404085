"""Second moments of a layer's inputs, which determine how much an error of each weight affects the output.

For a layer y = W x with quantized weights V, the squared error of the output is (W - V) H (W - V)^T, where H is the
mean of x x^T over all positions and samples. A convolution is such a product at each output position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import conv_padding
from arenite.converters.quantize.graph.operator_rules import WEIGHTS
from arenite.converters.tflite.litert.interpreter import run_tensor_values

#: The largest number of weights per output channel that is supported. A matrix for more weights would be too large.
MAX_WEIGHTS_PER_OUTPUT = 2304

#: The largest number of output positions per layer that are used, over all samples.
_MAX_POSITIONS = 8192

#: The number of positions whose products are computed at once.
_BATCH = 1024


@dataclass(frozen=True)
class InputMoments:
    """The second moments of a layer's inputs: float64 [groups, inputs, inputs]. A depthwise layer has one group per
    channel, other layers have one group."""

    matrix: np.ndarray


def can_have_moments(graph: Subgraph, op: Op) -> bool:
    """Return whether ``input_moments`` supports the layer: its weights are constant, not grouped and not too large."""
    if op.name not in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        return False
    rule = WEIGHTS[op.name]
    x, w = graph.tensors[op.inputs[rule.value]], graph.tensors[op.inputs[rule.weights]]
    if not w.is_constant or not w.elements:
        return False
    if op.name == "CONV_2D" and w.shape[3] != x.shape[3]:
        return False
    inputs = w.shape[1] * w.shape[2] if op.name == "DEPTHWISE_CONV_2D" else w.elements // w.shape[0]
    return inputs <= MAX_WEIGHTS_PER_OUTPUT


def input_moments(
    flatbuffer: bytes, graph: Subgraph, ops: Sequence[Op], samples: Sequence[Sequence[np.ndarray]]
) -> Mapping[int, InputMoments]:
    """Return the moments of each of ``ops`` in the float model, by operator index."""
    if not ops:
        return {}
    layer_inputs = sorted({op.inputs[WEIGHTS[op.name].value] for op in ops})
    max_positions = max(1, _MAX_POSITIONS // len(samples))
    sums = {op.index: _MomentSum() for op in ops}
    for sample_values in run_tensor_values(flatbuffer, samples, layer_inputs):
        for op in ops:
            value = sample_values[op.inputs[WEIGHTS[op.name].value]]
            sums[op.index].add(_input_rows(graph, op, value, max_positions))
    return {i: InputMoments(s.mean()) for i, s in sums.items()}


class _MomentSum:
    """Adds up x^T x over many arrays x [groups, positions, inputs]. Several arrays are joined before they are
    multiplied, because one large product is faster than several small products."""

    def __init__(self) -> None:
        self.waiting: list[np.ndarray] = []
        self.total: np.ndarray | None = None
        self.rows = 0

    def add(self, x: np.ndarray) -> None:
        self.waiting.append(x)
        self.rows += x.shape[1]
        if sum(w.shape[1] for w in self.waiting) >= _BATCH:
            self._multiply()

    def _multiply(self) -> None:
        x = np.concatenate(self.waiting, axis=1).astype(np.float64)
        product = x.transpose(0, 2, 1) @ x if x.shape[0] == 1 else np.einsum("gpi,gpj->gij", x, x)
        self.total = product if self.total is None else self.total + product
        self.waiting = []

    def mean(self) -> np.ndarray:
        if self.waiting:
            self._multiply()
        assert self.total is not None
        return self.total / self.rows


def _input_rows(graph: Subgraph, op: Op, x: np.ndarray, max_positions: int) -> np.ndarray:
    """Return the values that are multiplied by the weights at up to ``max_positions`` positions: [groups, positions,
    inputs]."""
    shape = graph.tensors[op.inputs[WEIGHTS[op.name].weights]].shape
    if op.name == "FULLY_CONNECTED":
        return _evenly_spaced_rows(x.reshape(-1, shape[1]), max_positions)[None]
    patches = _patches(op, x, shape[1], shape[2])  # [positions, kernel height, kernel width, channels]
    patches = _evenly_spaced_rows(patches, max_positions)
    if op.name == "CONV_2D":
        return patches.reshape(1, len(patches), -1)
    return patches.transpose(3, 0, 1, 2).reshape(patches.shape[3], len(patches), -1)


def _evenly_spaced_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` of ``rows`` at even distances, or all rows if there are fewer."""
    if len(rows) <= count:
        return rows
    return rows[(np.arange(count) * len(rows)) // count]


class _WindowSide(NamedTuple):
    """The window of a convolution along one dimension."""

    outputs: int  # the number of output positions
    padding: tuple[int, int]  # before and after the input
    stride: int
    dilation: int
    reach: int  # the size of the window with dilation


def _patches(op: Op, x: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the window under the kernel at every output position: [positions, height, width, channels]."""
    o = op.options
    sides = []
    for size, kernel, stride, dilation in (
        (x.shape[1], height, o["stride_h"], o["dilation_h_factor"]),
        (x.shape[2], width, o["stride_w"], o["dilation_w_factor"]),
    ):
        out, before = conv_padding(o["padding"], size, kernel, stride, dilation)
        before = max(before, 0)
        after = max((out - 1) * stride + (kernel - 1) * dilation + 1 - size - before, 0)
        sides.append(_WindowSide(out, (before, after), stride, dilation, (kernel - 1) * dilation + 1))
    rows, columns = sides
    padded = np.pad(x, ((0, 0), rows.padding, columns.padding, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (rows.reach, columns.reach), axis=(1, 2))
    windows = windows[:, :: rows.stride, :: columns.stride, :, :: rows.dilation, :: columns.dilation]
    windows = windows[:, : rows.outputs, : columns.outputs]
    return windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, height, width, x.shape[3])
