"""Scale the channels between two layers by the values that they take, so that one int8 scale fits all of them.

A layer can divide a channel by a factor and the next layer can multiply by it without a change of the model's results
(see ``equalize``). All channels of an int8 tensor have one scale, so a channel with small values has few steps. Each
channel is divided by the root of its largest magnitude, relative to that of the tensor. The whole magnitude would give
every channel all steps, but then every channel clips the values of other samples, and the weights of the next layer
differ more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.weights.equalize import divide_channels, find_layer_pairs
from arenite.converters.quantize.weights.float_weights import frozen_float32

#: The largest factor by which the values of a channel grow.
_MAX_FACTOR = 16.0


def balance_channels(model: Model, observations: Observations, finished: Collection[int] = ()) -> Model:
    """Return ``model`` with scaled channels between its layers, or ``model`` itself if it has no such layers.

    Args:
        model: the float model.
        observations: the observations of the model, except of the tensors ``finished``.
        finished: tensors whose channels stay as they are.
    """
    graph = model.main
    values = {
        t.index: t.data.astype(np.float64)
        for t in graph.tensors
        if t.data is not None and t.dtype == "float32"
    }
    changed: set[int] = set()
    for pair in find_layer_pairs(graph):
        first, second = graph.ops[pair.first], graph.ops[pair.second]
        stats = observations.tensors.get(first.outputs[0])
        if stats is None or not stats.channel_low.size or first.outputs[0] in finished:
            continue
        largest = np.maximum(np.abs(stats.channel_low), np.abs(stats.channel_high))
        if not largest.max() > 0:
            continue
        shares = np.where(largest > 0, largest / largest.max(), 1.0)
        changed |= divide_channels(first, second, np.maximum(np.sqrt(shares), 1 / _MAX_FACTOR), values)
    if not changed:
        return model
    tensors = [
        replace(t, data=frozen_float32(values[t.index])) if t.index in changed else t for t in graph.tensors
    ]
    return model.with_main(replace(graph, tensors=tuple(tensors)))
