"""Remove channels that have the same value for every input, and channels that no output needs.

Trained networks have many: a channel whose sums never exceed a ReLU's zero for any image is a constant. Its
contribution to the layers that read it is added to their biases; the weights that produced it and those that read it
are removed. docs/passes.md argues that no output changes; ``channels.prove`` checks it on the rewritten graph.
"""

from __future__ import annotations

from dataclasses import replace

from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.passes.channels.channel_groups import find_channel_groups
from arenite.converters.passes.channels.prove import prove
from arenite.converters.passes.channels.rewrite import rewrite
from arenite.converters.passes.channels.select_channels import select_channels
from arenite.converters.passes.intervals import analyze_intervals
from arenite.converters.passes.pass_report import LayerChange, PassReport, layer_macs
from arenite.converters.passes.prune import compact

#: Channels that kernels read at a time.
MULTIPLE = 4


def constant_channels(model: Model, *, multiple: int = MULTIPLE) -> tuple[Model, PassReport | None]:
    """Return the model without the removable channels of its main subgraph; the model itself and None when there are
    none.

    ``multiple``: tensors with a number of channels that this divides keep such a number (see ``select_channels``).
    """
    graph = model.main
    known = analyze_intervals(graph)
    kept = select_channels(graph, find_channel_groups(graph), known, multiple=multiple)
    if not kept:
        return model, None
    small = rewrite(graph, kept, known)
    prove(graph, small, kept, known)
    changes = _changes(graph, small)
    model = compact(replace(model, subgraphs=(small, *model.subgraphs[1:])), 0)
    return model, PassReport("constant channels", tuple(_sentence(c) for c in changes), changes)


def _changes(old: Subgraph, new: Subgraph) -> tuple[LayerChange, ...]:
    """Return the channels and multiply-accumulates that each operator with weights lost."""
    changes = []
    for a, b in zip(old.ops, new.ops, strict=True):
        before, after = layer_macs(old, a), layer_macs(new, b)
        if before == after:
            continue
        channels = old.tensors[a.outputs[0]].shape[-1]
        removed = channels - new.tensors[b.outputs[0]].shape[-1]
        changes.append(LayerChange(a.index, a.name, removed, channels, before, after))
    return tuple(changes)


def _sentence(c: LayerChange) -> str:
    return (
        f"Constant channels: layer {c.index} {c.op} {c.removed} of {c.channels}, "
        f"MACs {c.macs_before:,} -> {c.macs_after:,}."
    )
