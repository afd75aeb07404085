"""How often the loops of a kernel run, and what the descriptions of several kernels share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: How often each loop runs, by a name for it.
Work = dict[str, float]
#: The fields of the parameters of a kernel.
Fields = Mapping[str, Any]


def is_clamped(f: Fields) -> bool:
    return (f["act_min"], f["act_max"]) != (-128, 127)


def taps_inside(f: Fields) -> float:
    """Return the number of taps of all windows of one image that are inside the image."""
    rows, columns = (
        sum(max(0, min(size - at, taps) - max(-at, 0)) for at in (y * stride - pad for y in range(outputs)))
        for size, taps, stride, pad, outputs in (
            (f["in_h"], f["k_h"], f["stride_h"], f["pad_top"], f["out_h"]),
            (f["in_w"], f["k_w"], f["stride_w"], f["pad_left"], f["out_w"]),
        )
    )
    return float(rows * columns)


def scalar_depthwise_lines(f: Fields, inside: float, missing: float) -> Work:
    """Return the work of filling lines for a depthwise kernel without SIMD: ``inside`` lines are copied from the input,
    and ``missing`` ones are above or below it."""
    columns = (max(f["out_w"], 3) - 1) * f["stride_w"] + (f["k_w"] - 1) * f["dilation_w"] + 1
    line = (columns * f["in_c"] + 3) & ~3
    before = f["pad_left"] * f["in_c"]
    copied = min(f["in_w"] * f["in_c"], line - before)
    is_word = f["in_w"] * f["in_c"] % 4 == 0 and before % 4 == 0
    return {
        "line words": inside * (copied // 4) * is_word,
        "line bytes": inside * (copied % 4 if is_word else copied),
        "line padding": inside * (line - copied) + missing * line,
    }


def scalar_depthwise_outputs(f: Fields, rows: int) -> Work:
    """Return the work of computing ``rows`` rows of outputs in a depthwise kernel without SIMD."""
    channels = f["out_c"]
    blocks, tiles = rows * -(-f["out_w"] // 3), -(-channels // 32)
    is_square = (f["k_h"], f["k_w"], f["dilation_w"]) == (3, 3, 1)
    s1, s2 = (is_square and f["stride_w"] == s for s in (1, 2))
    is_any = not (s1 or s2)
    return {
        "block": blocks,
        "tile": blocks * tiles,
        "square 1": blocks * channels * s1,
        "square 2": blocks * channels * s2,
        "channel": blocks * channels * is_any,
        "tap row": blocks * channels * f["k_h"] * is_any,
        "tap": blocks * channels * f["k_h"] * f["k_w"] * is_any,
        "output tile": rows * f["out_w"] * tiles,
        "output": rows * f["out_w"] * channels,
        "two-sided": rows * f["out_w"] * channels * f["requant"]["two_sided"],
        "clamped": rows * f["out_w"] * channels * is_clamped(f),
    }
