"""Shorten tensor names for quantization recipes and reports. The names that converters write are long paths, or the
same for all tensors."""

from __future__ import annotations

import re
from dataclasses import replace

from arenite.converters.graph.model import Model

#: Parts of names that wrappers and packages add before or between the names that the model's author chose.
_GENERATED_PARTS = re.compile(
    r"(Stateful)?PartitionedCall(_\d+)?(:\d+)?(/|$)|__main__\._ChannelsLast(/|$)|torch\.nn\.modules\.\w+\."
    r"|[\w.]*_module(/|$)|serving_default_"
)


def shorten_tensor_names(model: Model) -> Model:
    """Return ``model`` with short, unique tensor names in its main graph. Inputs and outputs keep their names.

    A computed tensor without a unique name is named after its operator: "conv_2d_3".
    """
    g = model.main
    interface = {*g.inputs, *g.outputs}
    operator_names = {i: f"{op.name.lower()}_{op.index}" for op in g.ops for i in op.outputs}
    names = {i: g.tensors[i].name for i in interface}
    used_names = set(names.values())
    # Computed tensors get their names first, because they stand for layers. Constants often have the same names.
    for t in sorted(g.tensors, key=lambda t: t.index not in operator_names):
        if t.index in interface:
            continue
        name = _short(t.name)
        if not name or name in used_names:
            name = operator_names.get(t.index) or f"{name or 'constant'}_{t.index}"
        while name in used_names:
            name += "_"
        used_names.add(name)
        names[t.index] = name
    tensors = tuple(replace(t, name=names[t.index]) for t in g.tensors)
    return model.with_main(replace(g, tensors=tensors))


def _short(name: str) -> str:
    """Remove the generated parts from ``name``, which can be several names joined by ";".

    Return the first of the remaining names that is neither empty nor a number, or "" if there is none.
    """
    parts = (_GENERATED_PARTS.sub("", part).strip("/: ") for part in name.split(";"))
    return next((part for part in parts if part and not part.isdecimal()), "")
