"""Short, unique tensor names for recipes and reports; converters write long paths, or one name for all tensors."""

from __future__ import annotations

import re
from dataclasses import replace

from arenite.converters.graph.model import Model

#: Parts that wrappers and packages put before or between the names that the model's author gave.
_NOISE = re.compile(
    r"(Stateful)?PartitionedCall(_\d+)?(:\d+)?(/|$)|__main__\._ChannelsLast(/|$)|torch\.nn\.modules\.\w+\."
    r"|[\w.]*_module(/|$)|serving_default_"
)


def shorten_tensor_names(model: Model) -> Model:
    """Return the main graph of ``model`` with each tensor's name shortened and unique; inputs and outputs keep
    theirs.

    A computed tensor that has no name of its own is named after its operator: "conv_2d_3".
    """
    g = model.main
    kept = {*g.inputs, *g.outputs}
    makers = {i: f"{op.name.lower()}_{op.index}" for op in g.ops for i in op.outputs}
    names = {i: g.tensors[i].name for i in kept}
    used_names = set(names.values())
    # Computed tensors first: they are the layers, and constants often share their names.
    for t in sorted(g.tensors, key=lambda t: t.index not in makers):
        if t.index in kept:
            continue
        name = _short(t.name)
        if not name or name in used_names:
            name = makers.get(t.index) or f"{name or 'constant'}_{t.index}"
        while name in used_names:
            name += "_"
        used_names.add(name)
        names[t.index] = name
    tensors = tuple(replace(t, name=names[t.index]) for t in g.tensors)
    return replace(model, subgraphs=(replace(g, tensors=tensors), *model.subgraphs[1:]))


def _short(name: str) -> str:
    """Return the first of the fused names in ``name`` that is meaningful, without the generated parts."""
    parts = (_NOISE.sub("", part).strip("/: ") for part in name.split(";"))
    return next((part for part in parts if part and not part.isdecimal()), "")
