"""MobileNetV2: inverted residual blocks with linear bottlenecks. Source: Sandler et al., "MobileNetV2", 2018, table
2."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture

#: (expansion, channels at width 1, number of blocks, stride of the first block) of each stage.
STAGES = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


def mobilenet_v2(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network for pictures of ``shape`` (height, width, channels)."""
    picture(shape, "mobilenet_v2")
    b = Builder()
    in_channels = channels(32, width)
    x = b.conv(INPUT, in_channels, kernel_size(shape, 3, 3), (2, 2), activation="relu6")
    for expansion, base, blocks, first in STAGES:
        for block in range(blocks):
            stride = first if block == 0 else 1
            y = x
            if expansion > 1:
                y = b.conv(y, in_channels * expansion, (1, 1), activation="relu6")
            y = b.depthwise(y, kernel_size(shape, 3, 3), (stride, stride), activation="relu6")
            filters = channels(base, width)
            y = b.conv(y, filters, (1, 1), activation="")
            x = b.add(x, y) if stride == 1 and filters == in_channels else y
            in_channels = filters
    # As in the paper, the last layer keeps its channels if the width is below 1.
    x = b.conv(x, channels(1280, max(1.0, width)), (1, 1), activation="relu6")
    x = b.dense(b.dropout(b.mean(x), 0.2), classes, activation="softmax")
    return b.network("mobilenet_v2", width, shape, classes, [x])
