"""The fields of ``ar_wide``, the requantization of the kernels for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.firmware.generator.lower.core.lowering import NULL, LowerContext
from arenite.firmware.generator.requant.wide_affine import WideLayer

#: The number of output channels that the kernels compute together.
GROUP = 8


def requant_fields(ctx: LowerContext, layer: WideLayer) -> dict[str, Any]:
    """Return all fields of ``ar_wide``."""
    channels = len(layer.bias)

    def padded(values: np.ndarray, dtype: type) -> np.ndarray:
        return np.pad(values, (0, -channels % GROUP)).astype(dtype)

    r = layer.requant
    return {
        "bias": ctx.weights(padded(layer.bias, np.int32), "bias"),
        "multiplier": ctx.table(padded(r.multiplier, np.int32), "multiplier"),
        "offset": ctx.table(padded(r.offset, np.int64), "offset"),
        "negative": NULL if r.negative is None else ctx.table(padded(r.negative, np.int64), "negative"),
        "shift": r.shift,
        "act_min": layer.act_range[0],
        "act_max": layer.act_range[1],
    }
