"""Lower convolutions with int4 weights on cores with the DSP extension. ``dot_w4_dsp.h`` describes the layout."""

from __future__ import annotations

from typing import cast

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import TapOrder, channel_pairs
from arenite.firmware.generator.lower.conv.conv_2d_dsp import ConvolutionDsp, dsp_fields
from arenite.firmware.generator.lower.conv.pair_requantization import PairRequantization, pair_requantization
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.unpacked_weights import unpacked_kernel
from arenite.firmware.generator.lower.core.variant import variant
from arenite.firmware.generator.requant.folded_layer import FoldedLayer
from arenite.firmware.generator.target import DSP, Target

SOURCES = (
    "conv_2d_w4_dsp.c",
    "dot2_w4_dsp.c",
    "dot3_w4_dsp.c",
    "expand2_s8_dsp.c",
    "expand3_s8_dsp.c",
    "sum8_dsp.c",
)
#: For each byte of a word: the input of the group (four inputs) whose weights it holds.
_BYTES = np.array([0, 2, 1, 3])
#: With at least this number of output pixels, unpacked weights save more instructions than the unpacking needs.
_MIN_PIXELS = 16
#: A FULLY_CONNECTED with fewer weights may be too small to justify the code of an int4 kernel.
MIN_WEIGHTS = 2048
#: The value of ``PairRequantization.form`` that means two-sided: AR_DOT_TWO_SIDED in dot_s8_dsp.h.
_TWO_SIDED = 2


def nibble_words(folded: FoldedLayer, order: np.ndarray) -> np.ndarray:
    """Return the weights as int32 [pairs, len(order) / 4]. ``order`` is ``TapOrder.order``.

    A byte is 16 * (weight of the even channel) + (weight of the odd channel) + 8.
    """
    weights = folded.weights.reshape(len(folded.weights), -1)
    even, odd = channel_pairs(np.where(order < 0, 0, weights[:, order]))
    groups = ((16 * even + odd + 8) & 0xFF).reshape(len(even), -1, 4)[:, :, _BYTES]
    return np.ascontiguousarray(groups.astype(np.uint8)).view("<i4").reshape(len(even), -1)


def nibble_filters(folded: FoldedLayer, order: np.ndarray, form: PairRequantization) -> np.ndarray:
    """Return the filters for ``dot_w4_dsp.h``, int32 [pairs, 2 + len(order) / 4]: two words of biases, then the
    weights."""
    first, second = form.biases[:, 0].astype(np.int64), form.biases[:, 1].astype(np.int64)
    start = 16 * (_difference(first, second) >> 8) + second
    biases = np.stack([start, second], axis=1) & 0xFFFFFFFF
    return np.concatenate([biases.astype(np.uint32).view(np.int32), nibble_words(folded, order)], axis=1)


def nibble_requant(form: PairRequantization) -> np.ndarray:
    """Return the requantization table. If it is not two-sided, it is int32 [pairs, 3]: the first channel's offset, then
    the multipliers."""
    if form.form == _TWO_SIDED:
        return form.requant
    first, second = form.biases[:, 0].astype(np.int64), form.biases[:, 1].astype(np.int64)
    offset = _difference(first, second) & 0xFF
    return np.concatenate([offset[:, None], form.requant], axis=1).astype(np.int32)


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a - b as a signed 32-bit number: 256 times the bias of the first channel, plus its offset."""
    return cast(np.ndarray, ((a - b + (1 << 31)) & 0xFFFFFFFF) - (1 << 31))


def w4_call(ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]) -> KernelCall:
    """Return the call of ``ar_conv_2d_w4_dsp`` for a layer with the fields ``shape`` (see ``shape_of``)."""
    form = require_accepted(pair_requantization(folded))
    filters = nibble_filters(folded, taps.order, form)
    return KernelCall(
        "ar_conv_2d_w4_dsp",
        "conv_2d_w4_dsp.h",
        SOURCES,
        "ar_conv_2d_dsp_params",
        dsp_fields(ctx, folded, taps, shape, filters, nibble_requant(form)),
    )


def is_int4(graph: Subgraph, op: Op, target: Target) -> bool:
    """Return whether the weights are int4 and the build is not for small flash, because the int4 kernels are large."""
    return graph.tensors[op.inputs[1]].stored == "int4" and target.optimise != "flash"


def is_fast_unpacked(graph: Subgraph, op: Op, target: Target) -> bool:
    """Return whether a DSP kernel can run the op with weights that are unpacked to int8. It cannot if, for example, a
    pair of channels has a weight of -8: the words of its layout then cannot be stored as half bytes."""
    unpacked = unpacked_kernel(graph, op, target)
    return unpacked is not None and unpacked.kernel is not None and unpacked.kernel.tiers == (DSP,)


def is_small_beside_unpacked(graph: Subgraph, op: Op, target: Target) -> bool:
    """Return whether a FULLY_CONNECTED is too small to justify the code of an int4 kernel, because other layers need
    the kernel for unpacked weights anyway."""
    small = graph.tensors[op.inputs[1]].elements < MIN_WEIGHTS
    return target.optimise == "speed" and small and is_fast_unpacked(graph, op, target)


class _Convolution(ConvolutionDsp):
    """The base class of convolutions with int4 weights."""

    priority = 1100
    packed = True
    kernels = SOURCES
    row_function = "ar_conv_2d_w4_dsp_row"

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if not is_int4(graph, op, target) or not super().can_run(graph, op, target):
            return False
        # Unpacking weights needs RAM. In a build for speed it saves instructions if the weights are used often enough.
        _, out_h, out_w, _ = graph.tensors[op.outputs[0]].shape
        return (
            target.optimise != "speed"
            or out_h * out_w < _MIN_PIXELS
            or not is_fast_unpacked(graph, op, target)
        )

    def weights_fit(self, folded: FoldedLayer) -> bool:
        return True

    def call(
        self, ctx: LowerContext, folded: FoldedLayer, taps: TapOrder, shape: dict[str, int]
    ) -> KernelCall:
        return w4_call(ctx, folded, taps, shape)


@variant
class Conv2DW4Dsp(_Convolution):
    op_name = "CONV_2D"
    axis = 0


@variant
class DepthwiseOneChannelW4Dsp(_Convolution):
    op_name = "DEPTHWISE_CONV_2D"
    axis = 3
