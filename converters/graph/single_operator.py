"""Take one operator out of a model."""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model, Op, Signature, Subgraph


def single_operator_model(model: Model, op: Op) -> Model:
    """Return a model that contains only the operator ``op``. Tensors that other operators compute become its inputs."""
    main = model.main
    used = sorted({i for i in (*op.inputs, *op.outputs, *op.intermediates) if i >= 0})
    new_index = {old: new for new, old in enumerate(used)}
    tensors = tuple(replace(main.tensors[old], index=new) for new, old in enumerate(used))
    inputs: list[int] = []
    for old in op.inputs:
        tensor = main.tensors[old]
        if old >= 0 and not (tensor.is_constant or tensor.is_variable) and new_index[old] not in inputs:
            inputs.append(new_index[old])
    single = replace(
        op,
        index=0,
        inputs=tuple(new_index.get(i, -1) for i in op.inputs),
        outputs=tuple(new_index[i] for i in op.outputs),
        intermediates=tuple(new_index[i] for i in op.intermediates),
    )
    outputs = single.outputs
    signature = Signature(
        "serving_default",
        0,
        tuple((f"in{k}", i) for k, i in enumerate(inputs)),
        tuple((f"out{k}", i) for k, i in enumerate(outputs)),
    )
    graph = Subgraph(main.name, tensors, (single,), tuple(inputs), outputs)
    return Model((graph, *model.subgraphs[1:]), signatures=(signature,))
