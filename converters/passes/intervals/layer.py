"""A common form of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED: each output is a bias plus the sum, over the taps
of a window, of weights times inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import activation_range, conv_padding
from arenite.converters.passes.intervals.bounds import Bounds, is_analyzed, is_quantized

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@dataclass(frozen=True)
class Layer:
    """An int8 layer with constant weights.

    ``weights`` is int64 [out_c, k_h, k_w, k_c], with the zero point subtracted: output channels, height and width of
    the window, and 1 for a depthwise layer, else the input channels in_c. If a row of the weights of a fully
    connected layer covers several positions of its input, each position is a tap.

    Output rows whose windows have the same taps inside the image are one kind of row, and likewise for columns.
    ``rows`` and ``columns`` are bool [kinds, k_h] and [kinds, k_w]: the taps inside the image for each kind. A kind
    of position is a kind of row and a kind of column. Taps outside the image read the zero point and add 0.
    """

    op: Op
    weights: np.ndarray
    bias: np.ndarray  # int64 [out_c]
    input_channel: np.ndarray | None  # int64 [out_c]: the input channel of each output channel; None: all
    rows: np.ndarray
    columns: np.ndarray
    inp: Tensor
    out: Tensor
    scale: np.ndarray  # float64 [out_c]: input scale * weight scale / output scale
    limits: tuple[int, int]  # the clamp of the fused activation, in quantized units

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1] * self.weights.shape[2])

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """The positive and the negative part of the weights, as float64. Sums of their products with inputs are exact,
        because they are below 2**53."""
        values = self.weights.astype(np.float64)
        positive = np.maximum(values, 0.0)
        return positive, values - positive

    def over_position_kinds(self, by_tap: np.ndarray) -> np.ndarray:
        """Return the sums of ``by_tap`` [..., k_h, k_w] over the taps inside the image, for each kind of position:
        [..., kinds of row x kinds of column]."""
        by_row = np.tensordot(by_tap, self.columns.astype(by_tap.dtype), axes=(-1, 1))
        sums = np.tensordot(by_row, self.rows.astype(by_tap.dtype), axes=(-2, 1))
        return sums.reshape(*by_tap.shape[:-2], -1)

    def accumulator(self, input_bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest accumulator with its bias: two arrays int64 [out_c]. Both are
        reached if all inputs are independent."""
        low = (input_bounds.low - self.inp.zero_point).astype(np.float64)
        high = (input_bounds.high - self.inp.zero_point).astype(np.float64)
        positive, negative = self.parts
        if self.input_channel is None:
            lowest, highest = positive @ low + negative @ high, positive @ high + negative @ low
        else:
            low, high = (v[self.input_channel][:, None, None] for v in (low, high))
            p, n = positive[..., 0], negative[..., 0]
            lowest, highest = p * low + n * high, p * high + n * low
        lower = self.over_position_kinds(lowest).min(axis=-1).astype(np.int64) + self.bias
        upper = self.over_position_kinds(highest).max(axis=-1).astype(np.int64) + self.bias
        return lower, upper

    @cached_property
    def largest(self) -> np.ndarray:
        """An upper limit of the magnitude of every partial sum of each output channel: int64 [out_c]. An int8 value
        is at most 255 away from its zero point."""
        return cast(np.ndarray, np.abs(self.weights).sum(axis=(1, 2, 3)) * 255 + np.abs(self.bias))


def layer_of(graph: Subgraph, op: Op) -> Layer | None:
    """Return ``op`` as a ``Layer``. Return None for operators without weights, for other types than int8, for grouped
    convolutions and for weights that are computed at run time."""
    if op.name not in WEIGHTED or len(op.outputs) != 1:
        return None
    inp, w, out = (graph.tensors[i] for i in (op.inputs[0], op.inputs[1], op.outputs[0]))
    bias = graph.tensors[op.input(2)] if op.input(2) >= 0 else None
    if not (is_analyzed(inp) and is_analyzed(out) and is_quantized(inp, out)) or w.dtype != "int8":
        return None
    if (
        w.data is None
        or w.quant is None
        or (bias is not None and (bias.data is None or bias.dtype != "int32"))
    ):
        return None
    fields = _window_fields(op, inp, w, out)
    if fields is None:
        return None
    values, channel, rows, columns = fields
    units = len(values)
    zero = 0 if w.quant.per_axis else w.quant.zero_point[0]
    if (w.quant.per_axis and (any(w.quant.zero_point) or len(w.quant.scale) != units)) or out.shape[
        -1
    ] != units:
        return None
    scale = np.array([inp.scale * s / out.scale for s in w.quant.scale])
    return Layer(
        op=op,
        weights=values.astype(np.int64) - zero,
        bias=np.zeros(units, np.int64)
        if bias is None or bias.data is None
        else bias.data.astype(np.int64).reshape(-1),
        input_channel=channel,
        rows=rows,
        columns=columns,
        inp=inp,
        out=out,
        scale=np.broadcast_to(scale, (units,)),
        limits=activation_range(op.options["fused_activation_function"], out),
    )


def _window_fields(
    op: Op, inp: Tensor, w: Tensor, out: Tensor
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray] | None:
    """Return ``weights`` (without subtracted zero point), ``input_channel``, ``rows`` and ``columns`` of a ``Layer``,
    or None if the shapes are not supported."""
    assert w.data is not None
    if op.name == "FULLY_CONNECTED":
        units, depth = w.shape
        channels = inp.shape[-1]
        if depth % channels:
            return None
        taps = depth // channels
        inside = np.ones((1, 1), bool), np.ones((1, taps), bool)
        return w.data.reshape(units, 1, taps, channels), None, *inside
    in_c = inp.shape[3]
    if op.name == "CONV_2D":
        values, channel = w.data, None
        if w.shape[3] != in_c:
            return None
    else:
        if w.shape[3] % in_c:
            return None
        values = np.moveaxis(w.data, 3, 1)[0][..., None]
        channel = np.arange(w.shape[3]) // (w.shape[3] // in_c)
    rows = _kinds(op, "h", inp.shape[1], values.shape[1], out.shape[1])
    columns = _kinds(op, "w", inp.shape[2], values.shape[2], out.shape[2])
    return values, channel, rows, columns


def _kinds(op: Op, side: str, size: int, kernel: int, out: int) -> np.ndarray:
    """Return the distinct sets of taps inside the image along the dimension ``side`` ("h" or "w"): bool [kinds,
    kernel].

    ``size``, ``kernel`` and ``out`` are the sizes of input, window and output along this dimension.
    """
    stride, dilation = op.options[f"stride_{side}"], op.options[f"dilation_{side}_factor"]
    _, before = conv_padding(op.options["padding"], size, kernel, stride, dilation)
    positions = np.arange(out)[:, None] * stride - before + np.arange(kernel)[None, :] * dilation
    return np.unique((positions >= 0) & (positions < size), axis=0)
