"""Fuse a PAD before a convolution into the convolution's own padding.

PAD writes the zero point. A tap of the filter on the zero point adds 0 to the sum, as a tap outside the image does.
TFLite's convolutions have only one padding, SAME, which follows from the sizes of image and filter and the stride. The
PAD is removed if SAME gives the same number of outputs and the same padding before the first row and column.
PyTorch's symmetric padding with stride 2 often differs from SAME.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import SAME, VALID, conv_padding
from arenite.converters.passes.intervals.bounds import is_quantized
from arenite.converters.passes.pass_report import PassReport
from arenite.converters.passes.producers import producers, reader_counts, with_ops


def fuse_pad(model: Model) -> tuple[Model, PassReport | None]:
    """Return the model with each PAD fused into the only convolution that reads it, and a report. If no PAD can be
    fused, return the model itself and None."""
    graph = model.main
    producer, count = producers(graph), reader_counts(graph)
    ops: dict[int, Op | None] = {op.index: op for op in graph.ops}
    notes = []
    for op in graph.ops:
        if op.name not in ("CONV_2D", "DEPTHWISE_CONV_2D") or op.options["padding"] != VALID:
            continue
        pad = producer.get(op.inputs[0])
        if (
            pad is None
            or pad.name != "PAD"
            or count[op.inputs[0]] != 1
            or not _equals_same_padding(graph, pad, op)
        ):
            continue
        options = {**op.options, "padding": SAME}
        ops[op.index] = replace(op, options=options, inputs=(pad.inputs[0], *op.inputs[1:]))
        ops[pad.index] = None
        notes.append(f"Fused: layer {pad.index} PAD is now the padding of layer {op.index} {op.name}.")
    if not notes:
        return model, None
    return with_ops(model, ops.values()), PassReport("fused paddings", tuple(notes))


def _equals_same_padding(graph: Subgraph, pad: Op, op: Op) -> bool:
    """Return whether SAME padding of the unpadded image gives the same windows as ``pad`` followed by ``op``."""
    image, padded = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    amounts, out = graph.tensors[pad.inputs[1]].data, graph.tensors[op.outputs[0]]
    weights = graph.tensors[op.inputs[1]]
    if (
        image.dtype != "int8"
        or image.data is not None
        or not is_quantized(image)
        or image.quant != padded.quant
    ):
        return False
    if amounts is None or np.any(amounts.reshape(-1, 2)[[0, 3]]):
        return False  # unknown padding, or padding along the batch or the channels
    for axis, side in ((1, "h"), (2, "w")):
        stride, dilation = op.options[f"stride_{side}"], op.options[f"dilation_{side}_factor"]
        size = conv_padding(SAME, image.shape[axis], weights.shape[axis], stride, dilation)
        if size != (out.shape[axis], int(amounts.reshape(-1, 2)[axis, 0])):
            return False
    return True
