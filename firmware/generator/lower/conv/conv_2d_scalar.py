"""Lower CONV_2D to a kernel without SIMD instructions, ``conv_2d_s8_scalar.c``, in which each multiplication computes
two pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.firmware.generator.lower.conv.convolution import view_convolution
from arenite.firmware.generator.lower.core.lowering import KernelCall, LowerContext, require_accepted
from arenite.firmware.generator.lower.core.scalar_requantization import (
    SCALE,
    count_runs,
    has_offsets,
    requant_fields,
    scaled_bias,
    sums_fit,
)
from arenite.firmware.generator.lower.core.variant import Variant, variant
from arenite.firmware.generator.requant.folded_layer import FoldedLayer, fold_convolution
from arenite.firmware.generator.target import Target

#: The number of taps that are summed before the two halves of a word are split, and the number if such sums do not fit
#: into 16 bits.
_QUAD, _HALF = 4, 2
#: The number of bytes that the kernel reads after the last weight to complete a quad of taps.
_EXTRA_BYTES = 6


#: The number that is added to the stored weights for cores without signed byte loads.
_BIAS = 128


@dataclass(frozen=True)
class Geometry:
    """Sizes of a convolution in the form that the kernel uses."""

    batches: int
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    k_h: int
    k_w: int
    pad_top: int
    pad_left: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int

    @property
    def taps(self) -> int:
        """The number of weights of one filter."""
        return self.k_h * self.k_w * self.in_c

    @property
    def quads(self) -> int:
        """The number of quads of taps of one filter, rounded up."""
        return -(-self.taps // _QUAD)

    def fields(self) -> dict[str, int]:
        """Return the sizes by the names of the kernel's parameters."""
        return dict(vars(self))


def geometry(graph: Subgraph, op: Op, transpose: bool = True) -> Geometry:
    """Return the sizes of a CONV_2D or DEPTHWISE_CONV_2D.

    A layer with a kernel of one pixel becomes one long row. With ``transpose``, an image of one column is transposed,
    so that neighbors are in one row.
    """
    view = view_convolution(graph, op)
    batches, in_h, in_w, in_c = view.input.shape
    _, out_h, out_w, out_c = view.output.shape
    (k_h, k_w), (top, left) = view.kernel, view.padding
    plain = (*view.kernel, *view.stride, *view.padding) == (1, 1, 1, 1, 0, 0)
    if plain and batches * in_h * in_w <= 0xFFFF:
        pixels = batches * in_h * in_w
        return Geometry(1, 1, pixels, in_c, 1, pixels, out_c, 1, 1, 0, 0, 1, 1, 1, 1)
    # For each direction: input size, output size, filter size, padding, stride and dilation.
    down = (in_h, out_h, k_h, top, view.stride[0], view.dilation[0])
    across = (in_w, out_w, k_w, left, view.stride[1], view.dilation[1])
    if transpose and in_w == 1 and k_w == 1:
        down, across = across, down
    return Geometry(
        batches, down[0], across[0], in_c, down[1], across[1], out_c, down[2], across[2],
        down[3], across[3], down[4], across[4], down[5], across[5],
    )  # fmt: skip


def biased(core: str) -> bool:
    """Return whether 128 is added to weights on this core: ``AR_NO_SIGNED_BYTES`` of the kernel."""
    return core.startswith("xtensa") or core in ("cortex-m0", "cortex-m0plus", "cortex-m23")


def channels_together(core: str) -> int:
    """Return the number of channels that are summed together on this core: ``AR_TOGETHER`` of the kernel."""
    return 1 if core.startswith("cortex-") else 2


def pack_weights(weights: np.ndarray, bias: int, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (weights with ``bias`` added, ``runs`` of the kernel), both uint8. ``weights`` is int64 [out_c][taps].

    ``count`` is the number of channels that are summed together. Returns None if not even the sums of two taps always
    fit.
    """
    out_c, taps = weights.shape
    padded = np.pad(weights, ((0, -out_c % count), (0, -taps % _QUAD)))
    if not sums_fit(padded.reshape(len(padded), -1, _HALF)).all():
        return None
    fits = sums_fit(padded.reshape(len(padded) // count, count, -1, _QUAD))
    runs = np.array([n for channels in fits for n in count_runs(channels.all(axis=0))], np.uint8)
    ordered = padded[:, :taps].reshape(-1, count, taps).transpose(0, 2, 1)
    packed = np.pad((ordered + bias).astype(np.uint8).reshape(-1), (0, _EXTRA_BYTES), constant_values=bias)
    return packed, runs


class _Convolution(Variant):
    """The base class for CONV_2D and for DEPTHWISE_CONV_2D with one input channel, which is a convolution over all
    channels too."""

    kernels = ("affine_requant.c", "conv_2d_s8_scalar.c")
    tiers = ("scalar", "dsp", "mve", "simd128")
    priority = 100
    row_function = "ar_conv_2d_s8_scalar_row"
    axis: ClassVar[int]

    def _weights(self, graph: Subgraph, op: Op) -> tuple[FoldedLayer, np.ndarray] | None:
        """Return the folded layer and its weights as int64 [out_c][taps]; None if no requantization is proven exact."""
        folded = fold_convolution(graph, op, self.axis, SCALE)
        if folded is None or not has_offsets(folded):
            return None
        ordered = np.moveaxis(folded.weights, self.axis, 0)
        return folded, ordered.reshape(len(ordered), -1)

    def can_run(self, graph: Subgraph, op: Op, target: Target) -> bool:
        inp, out = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
        if inp.dtype != "int8":
            return False
        packing = self._weights(graph, op)
        if packing is None or packing[1].shape[1] != geometry(graph, op).taps:
            return False
        # If channels are summed in pairs, an odd number of channels needs weights for one more channel.
        count = channels_together(target.core)
        is_uneven = out.shape[3] % count != 0
        return (not is_uneven or target.optimise == "speed") and pack_weights(
            packing[1], 0, count
        ) is not None

    def scratch(self, graph: Subgraph, op: Op, target: Target) -> int:
        g = geometry(graph, op)
        # Two pairs of pixels, with 5 words of 4 bytes per quad for each pair: 4 words of inputs and a word for the
        # initial values of the sums. Then padding, and row pointers (8 bytes each: the code also runs on computers).
        return 2 * 5 * 4 * g.quads + -(-g.in_c // 4) * 4 + 8 * (g.k_h + 1)

    def lower(self, ctx: LowerContext) -> KernelCall:
        folded, by_channel = require_accepted(self._weights(ctx.graph, ctx.op))
        offset = biased(ctx.target.core)
        count = channels_together(ctx.target.core)
        weights, runs = require_accepted(pack_weights(by_channel, _BIAS * offset, count))
        fields: dict[str, Any] = {
            "input": ctx.input_ptr(0),
            "output": ctx.output_ptr(),
            "weights": ctx.weights(weights, "weights"),
            **requant_fields(ctx, folded, scaled_bias(folded), pad_to=count),
            "runs": ctx.table(runs, "runs"),
            "scratch": ctx.scratch_ptr(),
            **geometry(ctx.graph, ctx.op).fields(),
            "biased": int(offset),
            "together": count,
            "padding": folded.input_zero_point,
        }
        return KernelCall(
            "ar_conv_2d_s8_scalar",
            "conv_2d_scalar.h",
            self.kernels,
            "ar_conv_2d_scalar_params",
            fields,
        )


@variant
class Conv2DScalar(_Convolution):
    op_name = "CONV_2D"
    axis = 0


@variant
class DepthwiseOfOneChannel(_Convolution):
    op_name = "DEPTHWISE_CONV_2D"
    priority = 110
    axis = 3
