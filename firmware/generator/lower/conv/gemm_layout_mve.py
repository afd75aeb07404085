"""Arrange weights and scales in the layout of ``gemm_s8_mve.h``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.conv.convolution import multipliers
from arenite.firmware.generator.lower.core.lowering import LowerContext

#: Sizes of the pieces into which a filter is divided, in bytes. The rest is a smaller piece.
_PIECES = (32, 16)


@dataclass(frozen=True)
class DoubleRounding:
    """A convolution's requantization with two roundings, as Helium's own instructions do it.

    ``multiplier``: int32 [channels]. ``shift``: int8 [channels], 0 or negative; all negative if ``two_sided``.
    ``two_sided``: outputs below the zero point are not clamped, so the kernel corrects the rounding of negative sums.
    """

    multiplier: np.ndarray
    shift: np.ndarray
    two_sided: bool


def requantization(graph: Subgraph, op: Op) -> DoubleRounding | None:
    """Return the requantization of a convolution that its lowering's ``check`` has accepted; None if a shift is outside
    of the range of ``DoubleRounding.shift``."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    channels = out.shape[3]
    multiplier, shift = (np.resize(v, channels) for v in multipliers(op, inp, w, out))
    # With a multiplier of 0, the result is 0 for every shift.
    shift = np.where(multiplier == 0, -1, shift).astype(np.int8)
    low, _ = activation_range(op.options.get("fused_activation_function", 0), out)
    two_sided = low < out.zero_point
    if np.any(shift >= (0 if two_sided else 1)):
        return None
    return DoubleRounding(multiplier, shift, two_sided)


def folded_bias(filters: np.ndarray, bias: np.ndarray | None, zero_point: int) -> np.ndarray:
    """Return the bias with the input's zero point folded in, int32 [channels], for sums over raw inputs.

    ``filters`` is int8 [channels, taps]. The bias wraps around, as the sums do.
    """
    zero_point_sums = zero_point * filters.astype(np.int64).sum(axis=1)
    model_bias = 0 if bias is None else bias.astype(np.int64).reshape(-1)
    return np.asarray(model_bias - zero_point_sums).astype(np.int32)


def pack_filters(filters: np.ndarray) -> np.ndarray:
    """Return ``filters``, int8 [channels, depth], divided along the depth into pieces of 32 bytes, of 16 bytes and the
    rest. Each piece of all channels is stored before the next piece."""
    depth = filters.shape[1]
    pieces, at = [], 0
    for size in _PIECES:
        while depth - at >= size:
            pieces.append(filters[:, at : at + size])
            at += size
    pieces.append(filters[:, at:])
    return np.concatenate([p.reshape(-1) for p in pieces]).astype(np.int8)


def gemm_fields(
    ctx: LowerContext,
    filters: np.ndarray,
    bias: np.ndarray | None,
    rounding: DoubleRounding,
    out_step: int,
) -> dict[str, Any]:
    """Return all fields of ``ar_gemm_s8_mve_params``. ``filters`` is int8 [channels, depth], ordered as a window's
    bytes. ``out_step`` is the number of bytes from the outputs of a pixel to those of the next one."""
    inp = ctx.input_tensor(0)
    return {
        "weights": ctx.weights(pack_filters(filters), "weights"),
        "bias": ctx.weights(folded_bias(filters, bias, inp.zero_point), "bias"),
        "multiplier": ctx.table(rounding.multiplier, "multiplier"),
        "shift": ctx.table(rounding.shift, "shift"),
        "out_c": filters.shape[0],
        "depth": filters.shape[1],
        "output_zero": ctx.output().zero_point,
        "two_sided": int(rounding.two_sided),
        "out_step": out_step,
    }
