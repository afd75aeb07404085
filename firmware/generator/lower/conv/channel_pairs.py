"""Lay out filters for the kernels of ``dot_s8_dsp.h``: an int16 holds the weights of two output channels for one
input, and a word holds two such int16, for two inputs.

The kernels widen four input bytes (a group) to int16 with SXTB16, which extracts bytes 0 and 2, then bytes 1 and 3. The
weights of a group are stored in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.firmware.generator.requant.folded_layer import FoldedLayer

#: The positions of the bytes of a group in the order after SXTB16: the two halves of the first word, then the two
#: halves of the second word.
GROUP_ORDER = np.array([0, 2, 1, 3])
#: The index in ``TapOrder.order`` that stands for padding, an input whose weight is 0.
_NONE = -1


@dataclass(frozen=True)
class TapOrder:
    """The order in which the kernels read the inputs of a window.

    ``runs``, ``run_width``, ``run_groups`` and ``rest`` are described in ``ar_conv_2d_dsp_params``. ``order`` is int64
    [groups * 4]: for each input that a kernel reads, its index in the window [k_h][k_w][in_c], or -1 for padding.
    """

    runs: int
    run_width: int
    run_groups: int
    rest: int
    order: np.ndarray

    @property
    def groups(self) -> int:
        return len(self.order) // 4


def tap_order(k_h: int, k_w: int, in_c: int, dilation_w: int) -> TapOrder:
    """Return the order of the taps of a window.

    A run is a sequence of inputs that are adjacent in memory: one row of taps, or one tap if ``dilation_w`` is not 1.
    The bytes of a run that do not fill a group come after the groups of all runs, if this takes fewer groups than
    padding every run.
    """
    runs, run_width = (1, k_w) if dilation_w == 1 else (k_w, 1)
    length = run_width * in_c
    row = k_w * in_c
    starts = np.array([run * in_c + ky * row for run in range(runs) for ky in range(k_h)])
    full_groups, rest = divmod(length, 4)
    filled = -(-length // 4)
    collected = len(starts) * full_groups + -(-len(starts) * rest // 4)
    if rest == 0 or collected >= len(starts) * filled:
        within = (4 * np.arange(filled)[:, None] + GROUP_ORDER).reshape(-1)
        order = starts[:, None] + np.where(within < length, within, 0)
        order = np.where(within < length, order, _NONE).reshape(-1)
        return TapOrder(runs, run_width, filled, 0, order)
    within = (4 * np.arange(full_groups)[:, None] + GROUP_ORDER).reshape(-1)
    groups = (starts[:, None] + within).reshape(-1)
    rests = (starts[:, None] + 4 * full_groups + np.arange(rest)).reshape(-1)
    padding = np.full(4 * collected - len(groups) - len(rests), _NONE)
    return TapOrder(runs, run_width, full_groups, rest, np.concatenate([groups, rests, padding]))


def packable(folded: FoldedLayer) -> bool:
    """Return whether 256 * a + b always fits into 16 bits, where a is a weight of an even channel and b the weight of
    the next odd channel for the same input."""
    return pairs_fit(folded.weights)


def pairs_fit(weights: np.ndarray) -> bool:
    """Do the same as ``packable`` for weights whose first axis is the output channels."""
    even, odd = channel_pairs(weights.astype(np.int64).reshape(len(weights), -1))
    return bool(np.all(256 * even + odd >= -(1 << 15)))


def pair_words(folded: FoldedLayer, order: np.ndarray) -> np.ndarray:
    """Return the weights, int32 [channel pairs, len(order) / 2]. A word is for two inputs, the first in the low half.
    A half is 256 * (weight of the even channel) + (weight of the odd channel)."""
    return weight_words(folded.weights, order)


def weight_words(weights: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Do the same as ``pair_words`` for weights whose first axis is the output channels."""
    weights = weights.astype(np.int64).reshape(len(weights), -1)
    ordered = np.where(order == _NONE, 0, weights[:, order])
    even, odd = channel_pairs(ordered)
    halves = (256 * even + odd) & 0xFFFF
    return _int32(halves[:, 0::2] | halves[:, 1::2] << 16)


def pair_biases(folded: FoldedLayer) -> np.ndarray:
    """Return the biases, int32 [pairs, 2]. The first word is 256 * (bias of the even channel) + (bias of the odd
    channel), the second word the bias of the odd channel. If the requantization is one-sided, the even channel's offset
    is added to the first word."""
    even, odd = channel_pairs(folded.bias[:, None])
    offset = (
        0 if folded.requant.two_sided else channel_pairs(folded.requant.offset[:, None])[0].astype(np.int64)
    )
    return _int32(np.concatenate([256 * even + odd + offset, odd], axis=1))


def pair_requant(folded: FoldedLayer) -> np.ndarray:
    """Return the requantization table with offsets, int32: [pairs, 4] if two-sided (see ``dot_s8_dsp.h``), else
    [pairs, 3] (see ``row_dot_s8_dsp.h``)."""
    requant = folded.requant
    m0, m1 = channel_pairs(requant.multiplier[:, None])
    offset0, offset1 = channel_pairs(requant.offset[:, None])
    columns = [m0, offset0, m1, offset1] if requant.two_sided else [m0, m1, offset1]
    return np.concatenate(columns, axis=1).astype(np.int32)


def rotated_biases(bias: np.ndarray) -> np.ndarray:
    """Return the biases, int32 [pairs, 2], for kernels that rotate the sum of the odd channel (``rotated_offset.py``).

    ``bias``, int32 [channels], is 256 times the bias, plus the offset. The second word of a pair is the odd channel's
    value / 256, rounded down, with the remainder (the offset) in the top byte. The first word is the second word plus
    the even channel's value.
    """
    even, odd = channel_pairs(bias.astype(np.int64)[:, None])
    second = (odd >> 8) + ((odd & 255) << 24)
    return _int32(np.concatenate([even + second, second], axis=1))


def rotated_requant(multiplier: np.ndarray) -> np.ndarray:
    """Return the requantization table that is used with ``rotated_biases``, int32 [pairs, 2]: the multipliers."""
    return np.concatenate(channel_pairs(multiplier[:, None]), axis=1).astype(np.int32)


def channel_pairs(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows of even channels, rows of odd channels). A last channel without a partner is paired with zeros."""
    if len(rows) % 2:
        rows = np.concatenate([rows, np.zeros_like(rows[:1])])
    return rows[0::2], rows[1::2]


def _int32(values: np.ndarray) -> np.ndarray:
    """Return the low 32 bits. The kernels' arithmetic wraps around, so the upper bits do not matter."""
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def pack_quads(folded: FoldedLayer, order: np.ndarray) -> np.ndarray:
    """Return the filters for ``row_dot_s8_dsp.h``, int32 [quads, 4 + len(order)]. A quad is two pairs of
    channels: the biases of both, then a word of weights of each pair in turn."""
    return quads_of(pair_biases(folded), pair_words(folded, order))


def quads_of(biases: np.ndarray, words: np.ndarray, multipliers: np.ndarray | None = None) -> np.ndarray:
    """Return the filters of quads from the biases and words of pairs, and the multipliers of pairs, if the kernel reads
    them after the words. All are int32 [pairs, ...].

    The products of the odd channel's weights, which the kernel's sum contains, are subtracted from its bias."""
    biases = np.stack([biases[:, 0], _int32(biases[:, 1].astype(np.int64) - weight_products(words))], axis=1)
    parts = [biases, words] if multipliers is None else [biases, words, multipliers]
    if len(words) % 2:
        parts = [np.concatenate([v, np.zeros_like(v[:1])]) for v in parts]
    quads = len(parts[1]) // 2
    parts[1] = parts[1].reshape(quads, 2, -1).transpose(0, 2, 1)
    return np.concatenate([v.reshape(quads, -1) for v in parts], axis=1)


def weight_products(words: np.ndarray) -> np.ndarray:
    """Return the sum of the products of the odd channel's weights 0 and 1, 2 and 3, and so on, int64 [pairs].

    ``words`` is the result of ``weight_words``, so a group of four weights is in the order 0, 2, 1, 3."""
    low = np.ascontiguousarray(words).view(np.int8)[:, 0::2].astype(np.int64).reshape(len(words), -1, 4)
    products: np.ndarray = (low[:, :, 0] * low[:, :, 2] + low[:, :, 1] * low[:, :, 3]).sum(axis=1)
    return products


def quad_requant(folded: FoldedLayer) -> np.ndarray:
    """Return ``pair_requant`` of a one-sided layer, padded to an even number of pairs: int32 [quads * 2, 3]."""
    table = pair_requant(folded)
    return np.concatenate([table, np.zeros_like(table[:1])]) if len(table) % 2 else table


def row_order(depth: int, multiple: int = 8) -> np.ndarray:
    """Return an order like ``TapOrder.order`` for ``depth`` consecutive inputs, padded to a multiple of ``multiple``,
    which is 4 or 8."""
    groups = multiple // 4 * -(-depth // multiple)
    within = (4 * np.arange(groups)[:, None] + GROUP_ORDER).reshape(-1)
    return np.where(within < depth, within, _NONE)
