"""Remove channels that have the same value for every input, and channels that no output needs.

Trained networks have many such channels: if the accumulators of a channel are never positive and a ReLU follows, the
channel is a constant. Its contribution to the layers that read it is added to their biases, and the weights that
produce or read it are removed. docs/passes.md explains why no output changes; ``channels.prove`` checks this for the
rewritten graph.
"""

from __future__ import annotations

from arenite.converters.graph.model import Model, Subgraph
from arenite.converters.passes.channels.channel_groups import find_channel_groups
from arenite.converters.passes.channels.prove import prove
from arenite.converters.passes.channels.rewrite import rewrite
from arenite.converters.passes.channels.select_channels import select_channels
from arenite.converters.passes.intervals import analyze_intervals
from arenite.converters.passes.pass_report import LayerChange, PassReport, layer_macs
from arenite.converters.passes.prune import compact

#: The number of channels that kernels read at once.
MULTIPLE = 4


def constant_channels(model: Model, *, multiple: int = MULTIPLE) -> tuple[Model, PassReport | None]:
    """Return the model without the removable channels of its main subgraph, and a report. If there are none, return the
    model itself and None.

    A number of channels that is divisible by ``multiple`` stays divisible by it (see ``select_channels``).
    """
    graph = model.main
    bounds_by_tensor = analyze_intervals(graph)
    kept_channels = select_channels(graph, find_channel_groups(graph), bounds_by_tensor, multiple=multiple)
    if not kept_channels:
        return model, None
    small = rewrite(graph, kept_channels, bounds_by_tensor)
    prove(graph, small, kept_channels, bounds_by_tensor)
    changes = _changes(graph, small)
    model = compact(model.with_main(small), 0)
    return model, PassReport("constant channels", tuple(_sentence(c) for c in changes), changes)


def _changes(old: Subgraph, new: Subgraph) -> tuple[LayerChange, ...]:
    """Return the numbers of channels and multiply-accumulates that operators with weights lost. Operators that lost no
    multiply-accumulates are left out."""
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
    # The layer after one that loses outputs has fewer inputs.
    loss = f"loses {c.removed} of {c.channels} output channels" if c.removed else "loses input channels"
    return f"Constant channels: layer {c.index} {c.op} {loss}, MACs {c.macs_before:,} -> {c.macs_after:,}."
