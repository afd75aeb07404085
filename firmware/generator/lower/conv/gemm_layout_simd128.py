"""Arrange weights and requantization in the layout of ``gemm_s8_simd128.h``, for WebAssembly's 128-bit SIMD."""

from __future__ import annotations

from typing import Any

import numpy as np

from arenite.firmware.generator.lower.core.lowering import LowerContext
from arenite.firmware.generator.lower.core.wide_requantization import GROUP, requant_fields
from arenite.firmware.generator.requant.wide_affine import WideLayer

#: The number of neighboring inputs that one lane multiplies.
QUAD = 4


def pack_filters(filters: np.ndarray) -> np.ndarray:
    """Return ``filters``, int [channels, segments, inputs], as int8 [groups of channels, segments, quads of inputs,
    8 channels, 4 inputs], filled up with zeros."""
    channels, segments, inputs = filters.shape
    padded = np.pad(filters, ((0, -channels % GROUP), (0, 0), (0, -inputs % QUAD)))
    blocks = padded.reshape(-1, GROUP, segments, padded.shape[2] // QUAD, QUAD).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(blocks).astype(np.int8)


def gemm_fields(ctx: LowerContext, filters: np.ndarray, layer: WideLayer) -> dict[str, Any]:
    """Return all fields of ``ar_gemm_s8_simd128_params``. ``filters`` is int [channels, segments, inputs]."""
    packed = pack_filters(filters)
    # A processor that reads inputs as unsigned bytes reads each of them 128 too large.
    excess = np.pad(128 * filters.sum(axis=(1, 2)), (0, -len(filters) % GROUP)).astype(np.int32)
    return {
        "weights": ctx.weights(packed, "weights"),
        "excess": ctx.table(excess, "excess"),
        "requant": requant_fields(ctx, layer),
        "out_c": filters.shape[0],
        "quads": packed.shape[2],
        "segments": packed.shape[1],
    }
