"""Remove transposes from NHWC to NCHW before reductions and fully connected layers.

PyTorch and ONNX networks reduce or flatten images as NCHW. After the conversion to NHWC, a TRANSPOSE remains before the
reduction or the first fully connected layer. This module changes the axes of the reduction, or the order of the layer's
weights, and removes the TRANSPOSE. Sums are then added up in another order, which can change their rounding, so this is
done only to float32 models before calibration.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph, Tensor
from arenite.converters.passes.producers import readers
from arenite.converters.passes.prune import compact, live_ops
from arenite.counts import count_of

_REDUCTIONS = frozenset({"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"})


def remove_transposes(model: Model) -> tuple[Model, tuple[str, ...]]:
    """Remove TRANSPOSE operators before reductions and fully connected layers. Return the model, and one note with the
    number of removed operators, or no note if there are none."""
    work = _TransposeRemover(model.main)
    for op in model.main.ops:
        if op.name in _REDUCTIONS:
            work.reduce(op)
        elif op.name == "RESHAPE":
            work.flatten(op)
    if not work.absorbed:
        return model, ()
    ops = tuple(work.ops)
    main = replace(model.main, tensors=tuple(work.tensors), ops=ops)
    live = live_ops(main)
    main = replace(main, ops=tuple(replace(op, index=k) for k, op in enumerate(live)))
    compacted = compact(model.with_main(main), 0)
    return compacted, (f"{count_of(work.absorbed, 'TRANSPOSE')} became part of the next layer.",)


class _TransposeRemover:
    """A copy of the main graph that ``reduce`` and ``flatten`` change.

    Indices of existing tensors and operators do not change. ``maker`` maps a tensor to the operator that computes it,
    ``readers`` a tensor to the operators that read it. ``absorbed`` counts the TRANSPOSE operators that are not needed
    any more.
    """

    def __init__(self, g: Subgraph) -> None:
        self.outputs = frozenset(g.outputs)
        self.tensors = list(g.tensors)
        self.ops = list(g.ops)
        self.maker = {i: op.index for op in g.ops for i in op.outputs}
        self.readers = readers(g)
        self.absorbed = 0

    def reduce(self, op: Op) -> None:
        """If the reduction ``op`` reads a TRANSPOSE, let it read the input of the TRANSPOSE, with the axes of that
        input that the TRANSPOSE moves to the axes of ``op``."""
        transposed_source = self._transposed(op.inputs[0])
        axes = self.tensors[op.inputs[1]]
        if transposed_source is None or axes.data is None or op.options.get("keep_dims"):
            return
        source, order = transposed_source
        reduced = {int(a) % len(order) for a in axes.data.ravel()}
        left = [order[k] for k in range(len(order)) if k not in reduced]
        if left != sorted(left):
            return  # the remaining dimensions would be in another order
        new = np.array(sorted(order[a] for a in reduced), axes.data.dtype).reshape(-1)
        self._replace(op, inputs=(source, self._constant(axes, new), *op.inputs[2:]))

    def flatten(self, op: Op) -> None:
        """If the RESHAPE ``op`` flattens the output of a TRANSPOSE for fully connected layers, let it flatten the
        input of the TRANSPOSE, and reorder the weights of these layers."""
        transposed_source = self._transposed(op.inputs[0])
        flat = op.outputs[0]
        layers = [self.ops[k] for k in self.readers.get(flat, ())]
        if transposed_source is None or flat in self.outputs or not layers:
            return
        source, order = transposed_source
        shape = self.tensors[op.inputs[0]].shape
        columns = int(np.prod(shape))
        if shape[0] != 1 or order[0] != 0 or not all(self._takes(layer, flat, columns) for layer in layers):
            return
        # ``columns_order[k]`` is the position of element ``k`` of the flattened source in the flattened TRANSPOSE.
        columns_order = np.arange(columns).reshape(shape).transpose(np.argsort(order)).ravel()
        for layer in layers:
            weights = self.tensors[layer.inputs[1]]
            assert weights.data is not None
            new = self._constant(weights, np.ascontiguousarray(weights.data[:, columns_order]))
            self._replace(layer, inputs=(layer.inputs[0], new, *layer.inputs[2:]), removes_transpose=False)
        self._replace(op, inputs=(source, *op.inputs[1:]))

    def _transposed(self, tensor: int) -> tuple[int, list[int]] | None:
        """Return (input, permutation) of the TRANSPOSE that produces ``tensor``, or None if no TRANSPOSE does."""
        op = self.ops[self.maker[tensor]] if tensor in self.maker else None
        if op is None or op.name != "TRANSPOSE":
            return None
        order = self.tensors[op.inputs[1]].data
        if order is None or self.tensors[op.inputs[0]].dtype != "float32":
            return None
        return op.inputs[0], [int(a) for a in order.ravel()]

    def _takes(self, layer: Op, flat: int, columns: int) -> bool:
        """Return whether ``layer`` is FULLY_CONNECTED with constant float32 weights, and reads the tensor ``flat`` of
        ``columns`` elements as one row."""
        if layer.name != "FULLY_CONNECTED" or layer.inputs[0] != flat or flat in layer.inputs[1:]:
            return False
        weights = self.tensors[layer.inputs[1]]
        return weights.data is not None and weights.dtype == "float32" and weights.shape[1] == columns

    def _constant(self, like: Tensor, data: np.ndarray) -> int:
        data.flags.writeable = False
        self.tensors.append(replace(like, index=len(self.tensors), shape=data.shape, data=data))
        return self.tensors[-1].index

    def _replace(self, op: Op, inputs: tuple[int, ...], removes_transpose: bool = True) -> None:
        """Give ``op`` other inputs. ``removes_transpose`` says whether this makes a TRANSPOSE unnecessary."""
        self.ops[op.index] = replace(self.ops[op.index], inputs=inputs)
        self.absorbed += removes_transpose
