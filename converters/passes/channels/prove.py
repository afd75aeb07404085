"""Prove that a graph with fewer channels gives the same bytes.

By induction over the operators, every remaining channel has the same value in both graphs. A layer's accumulator is

    bias + sum over channels c of contribution(c).

A remaining channel contributes the same products in both graphs. A removed channel must contribute a constant that is
the same at every position, and the biases must differ by that constant. If an operator treats each channel separately,
its constants must have lost the same channels as its output. The bounds of the new graph are computed again and must be
inside the bounds of the old graph. The check uses only the two graphs, not the code that produced the second graph.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.passes.intervals import Bounds, analyze_intervals
from arenite.converters.passes.intervals.layer import Layer, layer_of


class ProofError(Exception):
    """A rewrite could change an output, which is an error in Arenite. The text names the operator."""


#: Options that follow from the shapes, so they may differ between the graphs.
_SHAPE_OPTIONS = {"depth_multiplier", "new_shape"}


def prove(
    old: Subgraph,
    new: Subgraph,
    kept_channels: Mapping[int, np.ndarray],
    bounds_by_tensor: Mapping[int, Bounds],
) -> None:
    """Raise ``ProofError`` unless ``new`` computes the same values as ``old`` in all remaining channels.

    ``kept_channels`` has a mask (bool [channels]) for each tensor that lost channels. Tensors have the same indices in
    both graphs. ``bounds_by_tensor`` are the bounds of ``old``.
    """
    _require(
        (old.inputs, old.outputs, len(old.ops)) == (new.inputs, new.outputs, len(new.ops)),
        "inputs, outputs or the number of operators differ",
    )
    _require(
        not any(i in kept_channels for i in (*old.inputs, *old.outputs)), "an input or output lost channels"
    )
    for before, after in zip(old.tensors, new.tensors, strict=False):
        _check_tensor(before, after, kept_channels.get(before.index))
    for a, b in zip(old.ops, new.ops, strict=True):
        try:
            _check_op(old, a, new, b, kept_channels, bounds_by_tensor)
        except ProofError as error:
            raise ProofError(f"operator {a.index} {a.name}: {error}") from error
    _check_bounds(new, kept_channels, bounds_by_tensor)


def _require(condition: bool, problem: str) -> None:
    """Raise ``ProofError`` with the text ``problem`` if ``condition`` is false."""
    if not condition:
        raise ProofError(problem)


def _check_tensor(old: Tensor, new: Tensor, kept_channels: np.ndarray | None) -> None:
    """Check that ``new`` is ``old`` without the removed channels. ``kept_channels`` is None if no channel is
    removed."""
    shape = old.shape if kept_channels is None else (*old.shape[:-1], int(kept_channels.sum()))
    _require(
        (new.shape, new.dtype, new.quant, new.is_variable) == (shape, old.dtype, old.quant, old.is_variable)
        and new.data is old.data,
        f"tensor {old.index} differs from the old one in more than the removed channels",
    )


def _check_op(
    old: Subgraph,
    a: Op,
    new: Subgraph,
    b: Op,
    kept_channels: Mapping[int, np.ndarray],
    bounds_by_tensor: Mapping[int, Bounds],
) -> None:
    """Check that the operator ``b`` of ``new`` computes the remaining channels of the operator ``a`` of ``old``."""
    _require((a.name, a.outputs, a.version) == (b.name, b.outputs, b.version), "is another operator")
    _require(
        all(a.options[k] == b.options[k] for k in a.options if k not in _SHAPE_OPTIONS), "has other options"
    )
    if a == b and not any(i in kept_channels for i in (*a.inputs, *a.outputs)):
        return
    first, second = layer_of(old, a), layer_of(new, b)
    if first is not None:
        _require(second is not None and a.inputs[0] == b.inputs[0], "is no longer a layer of that input")
        assert second is not None
        _check_layer(first, second, kept_channels, bounds_by_tensor)
        return
    for x, y in zip(a.inputs, b.inputs, strict=True):
        if x == y or a.name == "RESHAPE":  # the shape operand of RESHAPE only repeats its output's shape
            continue
        s, t = old.tensors[x], new.tensors[y]
        kept = kept_channels.get(a.outputs[0])
        _require(s.data is not None and t.data is not None and kept is not None, "reads another tensor")
        assert s.data is not None and t.data is not None and kept is not None
        same = s.quant == t.quant and np.array_equal(s.data[..., kept], t.data)
        _require(same, "has another constant operand")


def _check_layer(
    a: Layer, b: Layer, kept_channels: Mapping[int, np.ndarray], bounds_by_tensor: Mapping[int, Bounds]
) -> None:
    """Check that the layer ``b`` computes the remaining output channels of the layer ``a``.

    ``ins`` and ``outs`` mark the remaining input and output channels: bool [channels].
    """
    ins = kept_channels.get(a.inp.index, np.ones(a.inp.shape[-1], bool))
    outs = kept_channels.get(a.out.index, np.ones(a.out.shape[-1], bool))
    _require(np.array_equal(a.scale[outs], b.scale) and a.limits == b.limits, "scales differently")
    _require((a.inp.quant, a.out.quant) == (b.inp.quant, b.out.quant), "has other quantization")
    _require(np.array_equal(a.rows, b.rows) and np.array_equal(a.columns, b.columns), "pads differently")
    difference = b.bias - a.bias[outs]
    _require(bool(np.all(np.abs(b.bias) < 1 << 31)), "has a bias beyond 32 bits")
    if a.input_channel is not None:
        assert b.input_channel is not None
        _require(
            np.array_equal(a.weights[outs], b.weights) and not difference.any(), "computes other channels"
        )
        _require(
            np.array_equal(np.flatnonzero(ins)[b.input_channel], a.input_channel[outs]),
            "reads other channels",
        )
        return
    _require(np.array_equal(a.weights[outs][..., ins], b.weights), "has other weights")
    bounds, zero = bounds_by_tensor[a.inp.index], a.inp.zero_point
    lost = a.weights[outs][..., ~ins]  # [out_c, k_h, k_w, lost]
    constant, value = bounds.constant[~ins], (bounds.low - zero)[~ins]
    _require(bool(constant[lost.any(axis=(0, 1, 2))].all()), "lost a channel that is not constant")
    # For each kind of position, `row` and `column` mark the taps that are inside the image (see ``Layer``).
    for row in a.rows:
        for column in a.columns:
            inside = (lost * (row[:, None] & column[None, :])[None, :, :, None]).sum(axis=(1, 2))
            _require(
                np.array_equal(inside @ value, difference),
                "has biases that do not include a removed constant",
            )


def _check_bounds(
    new: Subgraph, kept_channels: Mapping[int, np.ndarray], bounds_by_tensor: Mapping[int, Bounds]
) -> None:
    """Check that the newly computed bounds of the new graph are inside the bounds of the remaining old channels."""
    for index, bounds in analyze_intervals(new).items():
        before = bounds_by_tensor.get(index)
        if before is None:
            continue  # a new constant with fewer channels
        mask = kept_channels.get(index, np.ones(len(before.low), bool))
        _require(
            bool(np.all(bounds.low >= before.low[mask]) and np.all(bounds.high <= before.high[mask])),
            f"tensor {index} takes values that it did not take before",
        )
