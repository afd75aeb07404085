"""DS-CNN: one convolution and four depthwise-separable blocks. Source: Zhang et al., "Hello Edge: Keyword Spotting on
Microcontrollers", 2017. At width 1 it has 64 channels, like MLPerf Tiny's keyword spotting model."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.models.architectures.network import INPUT, Builder, Network, channels, kernel_size, picture


def dscnn(shape: Sequence[int], classes: int, width: float = 1.0) -> Network:
    """Return the network. ``shape`` is (time, bands, 1) for a spectrogram, (steps, 1, sensors) for a sequence of sensor
    values, or (height, width, channels) for a picture."""
    high, wide, _ = picture(shape, "dscnn")
    b = Builder()
    filters = channels(64, width, 4)
    spectrogram = high > 2 * wide
    kernel = kernel_size(shape, 10, 4) if spectrogram else kernel_size(shape, 5, 5)
    x = b.conv(INPUT, filters, kernel, (2, 2 if wide > 1 else 1))
    x = b.dropout(x, 0.2)
    for _ in range(4):
        x = b.depthwise(x, kernel_size(shape, 3, 3))
        x = b.conv(x, filters, (1, 1))
    x = b.dropout(b.mean(x), 0.2)
    return b.network("dscnn", width, shape, classes, [b.dense(x, classes, activation="softmax")])
