"""A fully connected auto-encoder. Its reconstruction error measures how unusual an input is. It is MLPerf Tiny's
anomaly model: four encoder layers, a bottleneck of 8 values, and four decoder layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from arenite.models.architectures.network import INPUT, Builder, Network, channels


def autoencoder(shape: Sequence[int], classes: int = 0, width: float = 1.0) -> Network:
    """Return the network for inputs of ``shape`` (features,). Inputs of other shapes are flattened, and the output is
    then flat.

    ``classes`` is not used.
    """
    b = Builder()
    x = b.flatten(INPUT) if len(shape) > 1 else INPUT
    hidden = channels(128, width)
    for units in (*[hidden] * 4, 8, *[hidden] * 4):
        x = b.dense(x, units, activation="relu", normalize=True)
    return b.network("autoencoder", width, shape, 0, [b.dense(x, prod(shape))])
