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
