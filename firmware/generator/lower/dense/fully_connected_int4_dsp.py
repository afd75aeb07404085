"""Lower FULLY_CONNECTED with int4 weights on cores with the DSP extension. ``row_dot_w4_dsp.h`` describes the
layout."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import (
    TapOrder,
    channel_pairs,
    pair_requant,
    row_order,
)
from arenite.firmware.generator.lower.conv.conv_2d_int4_dsp import (
    MIN_WEIGHTS,
    is_int4,
    is_small_beside_unpacked,
    nibble_words,
    w4_call,
)
from arenite.firmware.generator.lower.conv.conv_2d_int4_dsp import SOURCES as CONVOLUTION_SOURCES
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.lower.dense.fully_connected_dsp import (
    Conv2DPixelDsp,
    FullyConnectedDsp,
    FullyConnectedRowsDsp,
    row_fields,
)
from arenite.firmware.generator.requant.folded_layer import FoldedLayer
from arenite.firmware.generator.target import Target

SOURCES = ("fully_connected_w4_dsp.c", "row_dot4_w4_dsp.c", "sum8_dsp.c")


def nibble_quads(folded: FoldedLayer, order: np.ndarray) -> np.ndarray:
    """Return the filters for ``row_dot_w4_dsp.h``, int32 [quads, 4 + len(order) / 2]; ``order`` is from
    ``row_order``."""
    even, odd = channel_pairs(folded.bias[:, None])
    biases = (np.concatenate([16 * even + odd, odd], axis=1) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    words = nibble_words(folded, order)
    if len(words) % 2:
        biases, words = (np.concatenate([v, np.zeros_like(v[:1])]) for v in (biases, words))
    quads = len(words) // 2
    mixed = words.reshape(quads, 2, -1).transpose(0, 2, 1).reshape(quads, -1)
    return np.concatenate([biases.reshape(quads, 4), mixed], axis=1)


def nibble_quad_requant(folded: FoldedLayer) -> np.ndarray:
    """Return the requantization table, int32 [quads * 2, 4]: ``pair_requant``, then the offset of the even channel."""
    offset, _ = channel_pairs(folded.requant.offset[:, None])
    table = np.concatenate([pair_requant(folded), offset.astype(np.int32)], axis=1)
    return np.concatenate([table, np.zeros_like(table[:1])]) if len(table) % 2 else table


def row_call(ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
    """Return the call of ``ar_fully_connected_w4_dsp`` for one row."""
    order = row_order(folded.weights[0].size)
    return KernelCall(
        "ar_fully_connected_w4_dsp",
        "fully_connected_w4_dsp.h",
        SOURCES,
        "ar_fully_connected_dsp_params",
        row_fields(ctx, folded, nibble_quads(folded, order), nibble_quad_requant(folded)),
    )


def _small(graph: Subgraph, op: Op, target: Target) -> bool:
    """Return whether a layer is too small to justify the code of a kernel for it. Another kernel then runs it."""
    if target.optimise == "speed":
        return is_small_beside_unpacked(graph, op, target)
    return graph.tensors[op.inputs[1]].elements < MIN_WEIGHTS


@variant
class FullyConnectedRowW4Dsp(FullyConnectedDsp):
    priority = 1110
    packed = True
    kernels = SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return (
            is_int4(graph, op, target)
            and not _small(graph, op, target)
            and super().can_run(graph, op, target)
        )

    def weights_fit(self, folded: FoldedLayer) -> bool:
        return True

    def call(self, ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
        return row_call(ctx, folded)


@variant
class Conv2DPixelW4Dsp(Conv2DPixelDsp):
    priority = 1110
    packed = True
    kernels = SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        return (
            is_int4(graph, op, target)
            and not _small(graph, op, target)
            and super().can_run(graph, op, target)
        )

    def weights_fit(self, folded: FoldedLayer) -> bool:
        return True

    def call(self, ctx: LowerContext, folded: FoldedLayer) -> KernelCall:
        return row_call(ctx, folded)


@variant
class FullyConnectedW4Dsp(FullyConnectedRowsDsp):
    """FULLY_CONNECTED of several input rows, computed as pixels of a convolution with one tap."""

    priority = 1100
    packed = True
    kernels = CONVOLUTION_SOURCES

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not is_int4(graph, op, target) or not super().can_run(graph, op, target):
            return False
        return not is_small_beside_unpacked(graph, op, target)

    def weights_fit(self, folded: FoldedLayer) -> bool:
        return True

    def call(
        self, ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]
    ) -> KernelCall:
        return w4_call(ctx, folded, taps, shape)
