"""Rewrite the graph without the removed channels: shorten weights, biases, scales and shapes, and add the contribution
of removed constant channels to the biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Op, Quantization, Subgraph, Tensor
from arenite.converters.passes.channels.channel_groups import BINARY
from arenite.converters.passes.channels.select_channels import contribution
from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import Layer, layer_of


def rewrite(
    graph: Subgraph, kept_channels: Mapping[int, np.ndarray], bounds_by_tensor: Mapping[int, Bounds]
) -> Subgraph:
    """Return ``graph`` with only the channels that ``kept_channels`` marks (tensor -> bool [channels]).

    ``bounds_by_tensor`` are the bounds of ``graph``. Tensors keep their indices. Constants that change are appended
    as new tensors, so the old constants may become unused.
    """
    return _Rewriter(graph, kept_channels, bounds_by_tensor).rewritten()


class _Rewriter:
    """Rewrites one operator after another. ``tensors`` begins with the tensors of ``graph`` with fewer channels."""

    def __init__(
        self, graph: Subgraph, kept_channels: Mapping[int, np.ndarray], bounds_by_tensor: Mapping[int, Bounds]
    ) -> None:
        self.graph, self.kept_channels, self.bounds_by_tensor = graph, kept_channels, bounds_by_tensor
        self.tensors = [self.cut(t) for t in graph.tensors]

    def rewritten(self) -> Subgraph:
        ops = tuple(self.op(op) for op in self.graph.ops)
        return replace(self.graph, tensors=tuple(self.tensors), ops=ops)

    def cut(self, t: Tensor) -> Tensor:
        """Return ``t`` with its last axis shortened to the kept channels."""
        kept_channels = self.kept_channels.get(t.index)
        if kept_channels is None:
            return t
        return replace(t, shape=(*t.shape[:-1], int(kept_channels.sum())), shape_signature=None)

    def mask(self, t: Tensor) -> np.ndarray:
        """Return the kept channels of ``t``: bool [channels]."""
        return self.kept_channels.get(t.index, np.ones(t.shape[-1], bool))

    def add_constant(self, template: Tensor, data: np.ndarray, quant: Quantization | None) -> int:
        """Append a constant with the values ``data``, otherwise equal to ``template``, and return its index."""
        data = np.ascontiguousarray(data)
        data.flags.writeable = False
        index = len(self.tensors)
        self.tensors.append(
            replace(template, index=index, shape=data.shape, data=data, quant=quant, shape_signature=None)
        )
        return index

    def op(self, op: Op) -> Op:
        """Return ``op`` with constants and options for the kept channels."""
        if not any(i in self.kept_channels for i in (*op.inputs, *op.outputs)):
            return op
        layer = layer_of(self.graph, op)
        if layer is not None:
            return self.weighted(op, layer)
        if op.name in BINARY:
            return self.binary(op)
        if op.name == "RESHAPE":
            return self.reshape(op)
        return op  # other operators that tie channels have no constant with a value per channel

    def weighted(self, op: Op, layer: Layer) -> Op:
        """Return a layer with only the weights, scales and biases of the kept channels."""
        ins, outs = self.mask(layer.inp), self.mask(layer.out)
        w = self.graph.tensors[op.inputs[1]]
        assert w.data is not None
        options = dict(op.options)
        if op.name == "FULLY_CONNECTED":
            data, axis = w.data[np.ix_(outs, np.tile(ins, layer.taps))], 0
        elif op.name == "CONV_2D":
            data, axis = w.data[outs][..., ins], 0
        else:
            data, axis = w.data[..., outs], 3
            options["depth_multiplier"] = int(outs.sum()) // int(ins.sum())
        inputs = list(op.inputs)
        inputs[1] = self.add_constant(w, data, _cut_quant(w.quant, outs, axis))
        bias = self.bias(op, layer, ins, outs)
        if bias is not None:
            inputs[2:3] = [bias]
        return replace(op, inputs=tuple(inputs), options=options)

    def bias(self, op: Op, layer: Layer, ins: np.ndarray, outs: np.ndarray) -> int | None:
        """Append the bias plus the contributions of removed input channels, and return its index. Return None if the
        layer had no bias and the contributions are 0. ``ins`` and ``outs`` mark the kept input and output channels."""
        values = layer.bias
        if layer.input_channel is None and not ins.all():
            constant = self.bounds_by_tensor[layer.inp.index].low - layer.inp.zero_point
            # The first kind of position is enough: a removed channel contributes the same at all kinds of position.
            values = values + contribution(layer)[:, ~ins, 0] @ constant[~ins]
        old = self.graph.tensors[op.input(2)] if op.input(2) >= 0 else None
        if old is None:
            if not values[outs].any():
                return None
            w = self.graph.tensors[op.inputs[1]]
            assert w.quant is not None
            scales = tuple(float(np.float32(layer.inp.scale * s)) for s in w.quant.scale)
            quant = Quantization(scales, (0,) * len(scales))
            old = Tensor(-1, f"{layer.out.name}/bias", (), "int32", quant)
        return self.add_constant(old, values[outs].astype(np.int32), _cut_quant(old.quant, outs, 0))

    def binary(self, op: Op) -> Op:
        """Return an operator with two operands whose constant operand has only the kept channels."""
        outs = self.mask(self.graph.tensors[op.outputs[0]])
        inputs = list(op.inputs)
        for position, i in enumerate(op.inputs[:2]):
            t = self.graph.tensors[i]
            if t.data is not None and t.shape and t.shape[-1] == len(outs):
                inputs[position] = self.add_constant(t, t.data[..., outs], t.quant)
        return replace(op, inputs=tuple(inputs))

    def reshape(self, op: Op) -> Op:
        """Return a RESHAPE to the shape that its output has without the removed channels."""
        shape = self.tensors[op.outputs[0]].shape
        inputs = list(op.inputs)
        if op.input(1) >= 0:
            t = self.graph.tensors[op.inputs[1]]
            inputs[1] = self.add_constant(t, np.asarray(shape, np.int32), t.quant)
        options = dict(op.options)
        if options.get("new_shape") is not None:
            options["new_shape"] = shape
        return replace(op, inputs=tuple(inputs), options=options)


def _cut_quant(quant: Quantization | None, kept_channels: np.ndarray, axis: int) -> Quantization | None:
    """Return the quantization along ``axis`` with only the scales and zero points of the kept channels. A quantization
    with one scale for the tensor stays unchanged."""
    if quant is None or not quant.per_axis:
        return quant
    return Quantization(
        tuple(s for s, k in zip(quant.scale, kept_channels, strict=True) if k),
        tuple(z for z, k in zip(quant.zero_point, kept_channels, strict=True) if k),
        axis,
    )
