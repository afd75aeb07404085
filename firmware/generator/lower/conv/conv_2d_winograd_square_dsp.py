"""Lower int8 CONV_2D with 3 x 3 filters and stride 1 to a kernel with Winograd's F(2x2, 3x3), on cores with the DSP
extension, in builds for speed."""

from __future__ import annotations

from typing import cast

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.channel_pairs import pair_requant
from arenite.firmware.generator.lower.conv.conv_2d_winograd_dsp import (
    has_winograd_windows,
    pair_filters,
    winograd_fields,
)
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.fixed_shift import fix_two_sided_shift
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import DSP, Target

#: The kernel's sums are this number times the sums of the convolution: 4 from the transforms, and 16 from the weights.
_SCALE = 64
#: AR_WINOGRAD_SHIFT in winograd_square3_s8_dsp.h.
_SHIFT = 12
#: The orders of the planes' rows and columns, and the transform of weights, see winograd_square3_s8_dsp.h.
_ORDER = (1, 2, 0, 3)
_TRANSFORM = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, -2]])
#: A layer must save this number of instructions per inference for every byte of flash that it costs.
_MIN_SAVED_PER_BYTE = 32
#: Instructions saved per multiply-accumulate with many channels, and fewer per input channel (measured): the transforms
#: and the combinations of sums take as long for few channels as for many.
_SAVED_PER_MAC, _LESS_PER_CHANNEL = 0.45, 2.3
#: Additional flash per weight: 32 bytes of transformed filters replace 9 of weights.
_EXTRA_BYTES_PER_WEIGHT = 32 / 9 - 1


@variant
class Conv2DWinogradSquareDsp(Variant):
    op_name = "CONV_2D"
    tiers = (DSP,)
    priority = 310
    kernels = (
        "conv_2d_s8_winograd_square_dsp.c",
        "winograd_square3_s8_dsp.c",
        "winograd_square_tile_s8_dsp.c",
    )

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        if target.optimise != "speed":
            return False
        inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
        in_c = inp.shape[3]
        if not has_winograd_windows(graph, op) or in_c % 16:
            return False
        # The kernel computes three tiles of 2 x 2 outputs together. The last three are in one row of tiles.
        if out.shape[1] % 2 or out.shape[2] % 2 or out.shape[2] < 6:
            return False
        saved = out.elements * 9 * in_c * (_SAVED_PER_MAC - _LESS_PER_CHANNEL / in_c)
        if saved < _MIN_SAVED_PER_BYTE * w.elements * _EXTRA_BYTES_PER_WEIGHT:
            return False
        return _prepare(graph, op) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        in_c, out_w = graph.tensors[op.inputs[0]].shape[3], graph.tensors[op.outputs[0]].shape[2]
        # The transformed tiles, then four padded rows: see ``ar_conv_2d_s8_winograd_square_dsp``.
        return 96 * in_c + 4 * (out_w + 2) * in_c

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded = require_accepted(_prepare(ctx.graph, ctx.op))
        filters = pair_filters(winograd_square_weights(folded.weights), _SCALE * folded.bias)
        return KernelCall(
            "ar_conv_2d_s8_winograd_square_dsp",
            "conv_2d_winograd_dsp.h",
            self.kernels,
            "ar_conv_2d_winograd_params",
            winograd_fields(ctx, folded, filters, pair_requant(folded)),
        )


def winograd_square_weights(weights: np.ndarray) -> np.ndarray:
    """Return the transformed weights, int64 [out_c, 16 planes, in_c], of ``weights`` [out_c, 3, 3, in_c]."""
    planes = np.einsum("vi,oijc,hj->ovhc", _TRANSFORM, weights, _TRANSFORM) * (_SCALE // 4)
    return cast(np.ndarray, planes[:, _ORDER][:, :, _ORDER].reshape(len(weights), 16, -1))


def _prepare(graph: Subgraph, op: Op) -> FoldedLayer | None:
    """Return the folded layer with a two-sided requantization with the kernel's shift; None if there is none that is
    proven exact."""
    folded = fold_convolution(graph, op, axis=0, two_sided=True)
    return None if folded is None else fix_two_sided_shift(folded, _SHIFT)
