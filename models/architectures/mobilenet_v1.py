"""MobileNetV1: depthwise-separable blocks down to 1/32 of the resolution. Source: Howard et al., "MobileNets", 2017."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture

#: (channels at width 1, stride) of each block.
BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)),
    *((512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)),
    *((1024, 2), (1024, 1)),
)


def mobilenet_v1(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network for pictures of ``shape`` (height, width, channels). With width 0.25 and pictures of 96x96x3
    it is MLPerf Tiny's person detector."""
    picture(shape, "mobilenet_v1")
    b = Builder()
    x = b.conv(INPUT, channels(32, width), kernel_size(shape, 3, 3), (2, 2))
    for base, stride in BLOCKS:
        x = b.depthwise(x, kernel_size(shape, 3, 3), (stride, stride))
        x = b.conv(x, channels(base, width), (1, 1))
    x = b.dense(b.dropout(b.mean(x), 0.2), classes, activation="softmax")
    return b.network("mobilenet_v1", width, shape, classes, [x])
