"""The graph without the removed channels: weights, biases, scales and shapes cut, constants folded into biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Op, Quantization, Subgraph, Tensor
from arenite.converters.passes.channels.channel_groups import BINARY
from arenite.converters.passes.channels.select_channels import contribution
from arenite.converters.passes.intervals.bounds import Bounds
from arenite.converters.passes.intervals.layer import Layer, layer_of


def rewrite(graph: Subgraph, kept: Mapping[int, np.ndarray], known: Mapping[int, Bounds]) -> Subgraph:
    """``graph`` where each tensor of ``kept`` has only the channels marked there (bool [channels]).

    Tensors keep their indices; constants that change are appended, so the old ones may be left without a use.
    """
    return _Rewriter(graph, kept, known).rewritten()


class _Rewriter:
    def __init__(self, graph: Subgraph, kept: Mapping[int, np.ndarray], known: Mapping[int, Bounds]) -> None:
        self.graph, self.kept, self.known = graph, kept, known
        self.tensors = [self.cut(t) for t in graph.tensors]

    def rewritten(self) -> Subgraph:
        ops = tuple(self.op(op) for op in self.graph.ops)
        return replace(self.graph, tensors=tuple(self.tensors), ops=ops)

    def cut(self, t: Tensor) -> Tensor:
        """A computed tensor with its last axis shortened."""
        kept = self.kept.get(t.index)
        if kept is None:
            return t
        return replace(t, shape=(*t.shape[:-1], int(kept.sum())), shape_signature=None)

    def mask(self, t: Tensor) -> np.ndarray:
        return self.kept.get(t.index, np.ones(t.shape[-1], bool))

    def constant(self, like: Tensor, data: np.ndarray, quant: Quantization | None) -> int:
        """A new constant; its index."""
        data = np.ascontiguousarray(data)
        data.flags.writeable = False
        index = len(self.tensors)
        self.tensors.append(
            replace(like, index=index, shape=data.shape, data=data, quant=quant, shape_signature=None)
        )
        return index

    def op(self, op: Op) -> Op:
        if not any(i in self.kept for i in (*op.inputs, *op.outputs)):
            return op
        layer = layer_of(self.graph, op)
        if layer is not None:
            return self.weighted(op, layer)
        if op.name in BINARY:
            return self.binary(op)
        if op.name == "RESHAPE":
            return self.reshape(op)
        return op  # the other operators that tie channels have no constant with an entry per channel

    def weighted(self, op: Op, layer: Layer) -> Op:
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
        inputs[1] = self.constant(w, data, _cut_quant(w.quant, outs, axis))
        bias = self.bias(op, layer, ins, outs)
        if bias is not None:
            inputs[2:3] = [bias]
        return replace(op, inputs=tuple(inputs), options=options)

    def bias(self, op: Op, layer: Layer, ins: np.ndarray, outs: np.ndarray) -> int | None:
        """The index of the new bias, which adds what the removed channels contributed; None where they add nothing."""
        values = layer.bias
        if layer.input_channel is None and not ins.all():
            constant = self.known[layer.inp.index].low - layer.inp.zero_point
            # The first kind of position stands for all: a channel is removed only when they agree, or when v is 0.
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
        return self.constant(old, values[outs].astype(np.int32), _cut_quant(old.quant, outs, 0))

    def binary(self, op: Op) -> Op:
        outs = self.mask(self.graph.tensors[op.outputs[0]])
        inputs = list(op.inputs)
        for position, i in enumerate(op.inputs[:2]):
            t = self.graph.tensors[i]
            if t.data is not None and t.shape and t.shape[-1] == len(outs):
                inputs[position] = self.constant(t, t.data[..., outs], t.quant)
        return replace(op, inputs=tuple(inputs))

    def reshape(self, op: Op) -> Op:
        shape = self.tensors[op.outputs[0]].shape
        inputs = list(op.inputs)
        if op.input(1) >= 0:
            t = self.graph.tensors[op.inputs[1]]
            inputs[1] = self.constant(t, np.asarray(shape, np.int32), t.quant)
        options = dict(op.options)
        if options.get("new_shape") is not None:
            options["new_shape"] = shape
        return replace(op, inputs=tuple(inputs), options=options)


def _cut_quant(quant: Quantization | None, kept: np.ndarray, axis: int) -> Quantization | None:
    """Scales per channel cut like the channels; a scale per tensor as it is."""
    if quant is None or not quant.per_axis:
        return quant
    return Quantization(
        tuple(s for s, k in zip(quant.scale, kept, strict=True) if k),
        tuple(z for z, k in zip(quant.zero_point, kept, strict=True) if k),
        axis,
    )
