"""Let a RESHAPE of a RESHAPE read the input of the first RESHAPE. Both only change the shape, not the bytes."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model
from arenite.converters.passes.pass_report import PassReport
from arenite.converters.passes.producers import producers, with_ops
from arenite.converters.passes.prune import live_ops


def merge_reshapes(model: Model) -> tuple[Model, PassReport | None]:
    """Return the model in which every RESHAPE reads the input of the RESHAPEs before it, without RESHAPEs whose
    output is no longer read, and a report. If nothing changes, return the model itself and None."""
    graph = model.main
    producer = producers(graph)
    ops, notes = [], []
    for op in graph.ops:
        if op.name == "RESHAPE":
            source = op.inputs[0]
            while (earlier := producer.get(source)) is not None and earlier.name == "RESHAPE":
                source = earlier.inputs[0]
            if source != op.inputs[0] and graph.tensors[source].data is None:
                notes.append(f"Reshapes: layer {op.index} RESHAPE skips the RESHAPE before it.")
                op = replace(op, inputs=(source, *op.inputs[1:]))
        ops.append(op)
    if not notes:
        return model, None
    return with_ops(model, live_ops(replace(graph, ops=tuple(ops)))), PassReport("reshapes", tuple(notes))
