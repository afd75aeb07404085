"""Weights and scales in the layout of ``gemm_s8_mve.h``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.quantized_arithmetic import activation_range
from arenite.firmware.generator.lower.conv.convolution import multipliers
from arenite.firmware.generator.lower.core.lowering import LowerContext

#: Bytes of one filter that lie together, and those of what is left over.
_PIECES = (32, 16)


@dataclass(frozen=True)
class DoubleRounding:
    """A convolution's requantization with two roundings, as Helium's own instructions do it.

    ``multiplier``: int32 [channels]. ``shift``: int8 [channels], 0 or negative; negative throughout if ``two_sided``:
    then some output below its zero point can be seen, and negative sums need a step of their own.
    """

    multiplier: np.ndarray
    shift: np.ndarray
    two_sided: bool


def requantization(graph: Subgraph, op: Op) -> DoubleRounding | None:
    """That of a convolution that its lowering's ``check`` has accepted; None where its scales do not fit."""
    inp, w, out = graph.tensors[op.inputs[0]], graph.tensors[op.inputs[1]], graph.tensors[op.outputs[0]]
    channels = out.shape[3]
    multiplier, shift = (np.resize(v, channels) for v in multipliers(op, inp, w, out))
    # Nothing is left of a sum whose multiplier is 0, whatever it is shifted by.
    shift = np.where(multiplier == 0, -1, shift).astype(np.int8)
    low, _ = activation_range(op.options.get("fused_activation_function", 0), out)
    two_sided = low < out.zero_point
    if np.any(shift >= (0 if two_sided else 1)):
        return None
    return DoubleRounding(multiplier, shift, two_sided)


def folded_bias(filters: np.ndarray, bias: np.ndarray | None, zero_point: int) -> np.ndarray:
    """Bias of sums over raw inputs: int32 [channels], of int8 filters [channels, taps]; wraps around as the sums do."""
    taken = zero_point * filters.astype(np.int64).sum(axis=1)
    given = 0 if bias is None else bias.astype(np.int64).reshape(-1)
    return np.asarray(given - taken).astype(np.int32)


def pack_filters(filters: np.ndarray) -> np.ndarray:
    """int8 [channels, depth] as pieces of 32, of 16 and the rest, each of all channels together."""
    depth = filters.shape[1]
    pieces, at = [], 0
    for size in _PIECES:
        while depth - at >= size:
            pieces.append(filters[:, at : at + size])
            at += size
    pieces.append(filters[:, at:])
    return np.concatenate([p.reshape(-1) for p in pieces]).astype(np.int8)


def gemm_fields(
    ctx: LowerContext, filters: np.ndarray, bias: np.ndarray | None, twice: DoubleRounding
) -> dict[str, Any]:
    """All of ``ar_gemm_s8_mve_params``; ``filters`` is int8 [channels, depth] in the order of a window's bytes."""
    inp = ctx.input_tensor(0)
    return {
        "weights": ctx.weights(pack_filters(filters), "weights"),
        "bias": ctx.weights(folded_bias(filters, bias, inp.zero_point), "bias"),
        "multiplier": ctx.table(twice.multiplier, "multiplier"),
        "shift": ctx.table(twice.shift, "shift"),
        "out_c": filters.shape[0],
        "depth": filters.shape[1],
        "output_zero": ctx.output().zero_point,
        "two_sided": int(twice.two_sided),
    }
