"""Describe the row functions of operators for the streaming planner. A row function computes one row of an operator's
output."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.graph.quantized_arithmetic import conv_padding
from arenite.converters.planner.row_requirements import RowInput, RowRequirements

#: Limits of the fields of ``ar_stage``.
_MAX_UINT8, _MAX_UINT16 = 255, 65535

#: Instructions that the code that calls row functions needs for one row.
_CALL_INSTRUCTIONS = 120
#: The number of pixels that a kernel computes together, and the approximate additional instructions per product for
#: each pixel that is missing in the last block of a row: the kernel loads all weights again for the incomplete block.
_PIXELS, _UNUSED_PLACE = 3, 0.35


def streamable_image(*tensors: Tensor) -> bool:
    """Return whether all tensors are int8 images of batch 1, with rows that fit the fields of ``ar_stage``."""
    return all(
        t.dtype == "int8"
        and len(t.shape) == 4
        and t.shape[0] == 1
        and 0 < t.shape[1] <= _MAX_UINT16
        and 0 < t.nbytes // t.shape[1] <= _MAX_UINT16
        for t in tensors
    )


def one_row(graph: Subgraph, op: Op) -> Subgraph:
    """Return the graph in which the computed tensors of ``op`` are images of one row."""
    computed = {t for t in (*op.inputs, *op.outputs) if t >= 0 and graph.tensors[t].data is None}
    return replace(
        graph,
        tensors=tuple(
            replace(t, shape=(1, 1, *t.shape[2:])) if t.index in computed else t for t in graph.tensors
        ),
    )


def extra_instructions(out: Tensor, macs: int) -> int:
    """Return the estimated additional instructions of an operator that runs row by row. ``out`` is its output."""
    width = out.shape[2]
    places = -(-width // _PIXELS) * _PIXELS
    return out.shape[1] * _CALL_INSTRUCTIONS + round(macs * _UNUSED_PLACE * (places / width - 1))


def convolution_rows(graph: Subgraph, op: Op, function: str) -> RowRequirements | None:
    """Return the requirements of CONV_2D or DEPTHWISE_CONV_2D; None if the layer cannot run row by row.

    ``function`` is the C function that computes one row.
    """
    inp, weights, out = (graph.tensors[t] for t in (*op.inputs[:2], op.outputs[0]))
    o = op.options
    _, k_h, k_w, _ = weights.shape
    stride, dilation = o["stride_h"], o["dilation_h_factor"]
    if not streamable_image(inp, out):
        return None
    _, top = conv_padding(o["padding"], inp.shape[1], k_h, stride, dilation)
    if max(k_h, stride, dilation, top) > _MAX_UINT8:
        return None
    # If each output depends on one pixel, kernels may treat the complete image as one row.
    is_pointwise = (k_h, k_w, stride, o["stride_w"]) == (1, 1, 1, 1)
    products = out.elements * (weights.shape[3] if op.name == "CONV_2D" else 1)
    return RowRequirements(
        function,
        (RowInput(0, k_h, stride, dilation, top),),
        row_alone=is_pointwise,
        # Kernels with larger filters compute row by row anyway.
        extra=extra_instructions(out, products if is_pointwise else 0),
    )


def pool_rows(graph: Subgraph, op: Op, function: str) -> RowRequirements | None:
    """Return the requirements of a pooling with a moving window; None if the layer cannot run row by row."""
    inp, out, o = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]], op.options
    taps, stride = o["filter_height"], o["stride_h"]
    if not streamable_image(inp, out):
        return None
    _, top = conv_padding(o["padding"], inp.shape[1], taps, stride, 1)
    if max(taps, stride, top) > _MAX_UINT8:
        return None
    return RowRequirements(function, (RowInput(0, taps, stride, 1, top),), extra=extra_instructions(out, 0))


def accumulating_rows(graph: Subgraph, op: Op, function: str) -> RowRequirements | None:
    """Return the requirements of a mean over the complete image, with one 32-bit sum per channel; None if
    the layer cannot run row by row."""
    inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if not streamable_image(inp, out) or out.elements != inp.shape[3]:
        return None
    return RowRequirements(
        function,
        (RowInput(0),),
        accumulates=True,
        state=4 * inp.shape[3],
        extra=inp.shape[1] * _CALL_INSTRUCTIONS,
    )


def elementwise_rows(graph: Subgraph, op: Op, function: str) -> RowRequirements | None:
    """Return the requirements of an operator whose inputs are constants or have the output's shape; None otherwise."""
    out = graph.tensors[op.outputs[0]]
    computed = [
        (p, graph.tensors[t]) for p, t in enumerate(op.inputs) if t >= 0 and graph.tensors[t].data is None
    ]
    if not computed or not streamable_image(out, *(t for _, t in computed)):
        return None
    if any(t.shape != out.shape for _, t in computed):
        return None
    return RowRequirements(
        function, tuple(RowInput(p) for p, _ in computed), row_alone=True, extra=extra_instructions(out, 0)
    )
