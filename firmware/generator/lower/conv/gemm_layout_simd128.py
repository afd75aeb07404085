"""Arrange weights and requantization in the layout of ``gemm_s8_simd128.h``, for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.firmware.generator.lower.core.lowering import LowerContext
from arenite.firmware.generator.lower.core.wide_requantization import GROUP, requant_fields
from arenite.firmware.generator.requant.wide_affine import WideLayer


def pack_filters(filters: np.ndarray) -> np.ndarray:
    """Return ``filters``, int [channels, depth], as int8 [groups of channels, pairs of inputs, 8 channels, 2 inputs],
    filled up with zeros."""
    channels, depth = filters.shape
    padded = np.pad(filters, ((0, -channels % GROUP), (0, depth % 2)))
    blocks = padded.reshape(-1, GROUP, padded.shape[1] // 2, 2).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(blocks).astype(np.int8)


def gemm_fields(ctx: LowerContext, filters: np.ndarray, layer: WideLayer) -> dict[str, Any]:
    """Return all fields of ``ar_gemm_s8_simd128_params``. ``filters`` is int [channels, depth], ordered as a patch."""
    packed = pack_filters(filters)
    return {
        "weights": ctx.weights(packed, "weights"),
        "requant": requant_fields(ctx, layer),
        "out_c": filters.shape[0],
        "pairs": packed.shape[1],
    }
