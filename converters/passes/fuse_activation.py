"""Fuse a RELU after a layer into the layer's own clamp.

If their input and output have the same quantization, RELU, RELU6 and RELU_N1_TO_1 multiply by exactly one and clamp.
The layer before the RELU also ends with a clamp, and two clamps in a row equal one clamp. If a fused activation has
exactly the limits of this one clamp, the layer gets that activation and the RELU is removed.
"""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import NONE, RELU, RELU6, RELU_N1_TO_1, activation_range
from arenite.converters.passes.intervals.bounds import is_quantized
from arenite.converters.passes.intervals.elementwise import LIMITS, quantized_limits
from arenite.converters.passes.pass_report import PassReport
from arenite.converters.passes.producers import producers, reader_counts, with_ops

#: Operators whose last step is a clamp to the fused activation.
_CLAMPING = (
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "ADD",
    "SUB",
    "MUL",
    "AVERAGE_POOL_2D",
    "MAX_POOL_2D",
)
_FUSED = (NONE, RELU, RELU_N1_TO_1, RELU6)


def fuse_activation(model: Model) -> tuple[Model, PassReport | None]:
    """Return the model with each activation fused into the operator before it, if nothing else reads that operator's
    output, and a report. If no activation can be fused, return the model itself and None."""
    graph = model.main
    producer, count = producers(graph), reader_counts(graph)
    ops: dict[int, Op | None] = {op.index: op for op in graph.ops}
    notes = []
    for op in graph.ops:
        if op.name not in LIMITS or count.get(op.inputs[0], 0) != 1:
            continue
        before = producer.get(op.inputs[0])
        if before is None or before.name not in _CLAMPING:
            continue
        activation = _combined_activation(graph, before, op)
        if activation is None:
            continue
        options = {**before.options, "fused_activation_function": activation}
        fused = replace(before, options=options, outputs=op.outputs)
        ops[before.index], ops[op.index] = fused, None
        producer[op.outputs[0]] = fused  # so that an activation after this activation can be fused too
        notes.append(
            f"Fused: layer {op.index} {op.name} is now the clamp of layer {before.index} {before.name}."
        )
    if not notes:
        return model, None
    return with_ops(model, ops.values()), PassReport("fused activations", tuple(notes))


def _combined_activation(graph: Subgraph, before: Op, op: Op) -> int | None:
    """Return the fused activation for ``before`` that gives the outputs of ``before`` followed by ``op``, or None if
    there is none."""
    inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    current = before.options["fused_activation_function"]
    if inp.dtype != "int8" or (inp.shape, inp.dtype, inp.quant) != (out.shape, out.dtype, out.quant):
        return None
    if not is_quantized(inp) or current not in _FUSED:
        return None
    low, high = quantized_limits(op.name, out)
    ends = tuple(min(max(end, low), high) for end in activation_range(current, inp))
    return next((a for a in _FUSED if activation_range(a, out) == ends), None)
