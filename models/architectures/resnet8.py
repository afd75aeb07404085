"""ResNet-8: three residual stages. Source: He et al., "Deep Residual Learning", 2015. At width 1 it is MLPerf Tiny's
image classification model."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture


def resnet8(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network for pictures of ``shape`` (height, width, channels). At width 1 its stages have 16, 32 and 64
    channels."""
    picture(shape, "resnet8")
    b = Builder()
    kernel = kernel_size(shape, 3, 3)
    x = b.conv(INPUT, channels(16, width, 4), kernel)
    for base, stride in ((16, 1), (32, 2), (64, 2)):
        filters = channels(base, width, 4)
        step = (stride, stride if shape[1] > 1 else 1)
        y = b.conv(x, filters, kernel, step)
        y = b.conv(y, filters, kernel, activation="")
        if stride > 1:
            x = b.conv(x, filters, (1, 1), step, activation="", normalize=False)
        x = b.add(x, y, activation="relu")
    x = b.dense(b.mean(x), classes, activation="softmax")
    return b.network("resnet8", width, shape, classes, [x])
