"""What the kernel of a layer does: how often each of its loops runs, from the parameters of its call.

The instructions of a layer are a sum over these counts, with a cost for each one that was fitted to measured layers
(``instructions.py``). The control flow of these kernels depends on shapes and weights alone, and hardly on the inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall
from arenite.firmware.sizes.conv_dsp_work import conv_columns, conv_dsp
from arenite.firmware.sizes.copy_work import copy, strided_copy
from arenite.firmware.sizes.row_layer_work import (
    depthwise_3x3_row,
    depthwise_3x3_s1_row,
    depthwise_scalar_row,
    row_layer_work,
)
from arenite.firmware.sizes.work_counts import (
    Fields,
    Work,
    is_clamped,
    scalar_depthwise_lines,
    scalar_depthwise_outputs,
    taps_inside,
)


def layer_work(g: Generated, layer: Layer) -> Work | None:
    """Return the work of a layer; None if its kernel is not described here."""
    call = layer.call
    if call is None or layer.body or call.before is not None or layer.second is not None:
        return None
    if layer.streamed:
        describe = _ROWS.get(call.kernel)
        return None if describe is None else row_layer_work(g, layer, describe(g, call))
    describe = _KERNELS.get(call.kernel)
    return None if describe is None else {"call": 1.0, **describe(g, call)}


def _dense_dsp(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    whole, rest = divmod(f["units"], 4)
    quads = whole + bool(rest)
    return {
        "input": f["depth"] // 8,
        "last input": bool(f["depth"] % 8),
        "last bytes": f["depth"] % 8,
        "whole quads": bool(whole),
        "part of a quad": bool(rest),
        "quad": quads,
        "group": quads * f["groups"],
        "round": quads * -(-f["groups"] // 4),
        "rest": rest,
        "clamp": is_clamped(f),
        "clamped": f["units"] * is_clamped(f),
    }


def _dense(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    fours, rest = divmod(f["units"], 4)
    sums = f["batches"] * (fours + rest)  # of four units, or of one of the last
    return {"row": f["batches"], "unit": f["batches"] * f["units"], "sum": sums, "input": sums * f["depth"]}


def _depthwise_dsp(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    rows = f["batches"] * f["out_h"]
    pixels, fours, last = rows * f["out_w"], f["channels"] // 4, f["channels"] % 4
    return {
        "row": rows,
        "row tap": rows * f["k_h"],
        "padding": rows * f["channels"],
        "pixel": pixels,
        "tap row": pixels * f["k_h"],
        "tap": pixels * f["k_h"] * f["k_w"],
        "tap outside": pixels * f["k_h"] * f["k_w"] - f["batches"] * taps_inside(f),
        "tap of a missing row": rows * f["out_w"] * f["k_h"] * f["k_w"]
        - f["batches"] * taps_inside({**f, "in_w": 1, "k_w": 1, "stride_w": 0, "pad_left": 0}) * f["k_w"],
        "four": pixels * fours,
        "pair": pixels * fours * (f["taps"] // 2),
        "odd": pixels * fours * (f["taps"] % 2),
        "two-sided": pixels * fours * f["two_sided"],
        "last": pixels * last,
        "last tap": pixels * last * f["taps"],
        "clamped": pixels * f["channels"] * is_clamped(f),
    }


def _depthwise_3x3(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    groups = -(-f["channels"] // 4)
    outputs = 6 // f["stride"]
    rows = f["batches"] * f["out_h"] * groups
    lines = f["batches"] * groups * ((f["out_h"] - 1) * f["stride"] + 3)
    reach = (f["out_w"] - 1) * f["stride"] + 3
    pixels = min(f["in_w"] + f["pad_left"], reach)
    full, part = divmod(f["out_w"], outputs)
    channels = f["channels"]
    work = {
        "group": groups,
        "line": lines,
        "missing line": f["batches"]
        * groups
        * sum(not 0 <= y - f["pad_top"] < f["in_h"] for y in range((f["out_h"] - 1) * f["stride"] + 3)),
        "line block": lines * (pixels // 6),
        "line rest": lines * bool(pixels % 6),
        "line rest pixel": lines * (pixels % 6),
        "row": rows,
    }
    by_stride = f["batches"] * f["out_h"]
    for stride in (1, 2):
        is_own = f["stride"] == stride
        work[f"row {stride}"] = rows * is_own
        work[f"block {stride}"] = by_stride * channels * full * is_own
        work[f"part {stride}"] = by_stride * channels * bool(part) * is_own
        work[f"part pixel {stride}"] = by_stride * channels * part * is_own
        work[f"full {stride}"] = rows * full * is_own
    return {k: float(v) for k, v in work.items()}


def _constant(g: Generated, value: Any) -> np.ndarray | None:
    """Return the table that a field names; None if it names none."""
    if not isinstance(value, Expr):
        return None
    name = value.text.split("[")[0].lstrip("&")
    return next((c.values for c in g.constants if name.endswith(c.symbol)), None)


def _conv_scalar(g: Generated, call: KernelCall) -> Work:
    f = call.fields
    rows, taps = f["batches"] * f["out_h"], f["k_h"] * f["k_w"] * f["in_c"]
    blocks = -(-f["out_w"] // 4)
    quads = -(-taps // 4)
    runs = _constant(g, f["runs"])
    fitting, halved, both = float(quads * f["out_c"]), 0.0, 0.0
    count = float(f["out_c"])
    if runs is not None:
        bytes_ = runs.astype(np.int64).reshape(-1)
        fitting, halved = float(np.sum(bytes_ & 31)), float(np.sum(bytes_ >> 5))
        both, count = float(np.count_nonzero(bytes_ >> 5)), float(len(bytes_))
    packed, outside, packs, tails = _packed_windows(f)
    return {
        "row": rows,
        "row tap": rows * f["k_h"],
        "padding": rows * f["in_c"],
        "block": rows * blocks,
        "pack run": packs,
        "packed quad": packed,
        "packed rest": tails,
        "outside": outside,
        "filled": rows * blocks * 2 * (4 * quads - taps),
        "channel": rows * blocks * f["out_c"],
        "run": rows * blocks * count,
        "fitting": rows * blocks * fitting,
        "halved": rows * blocks * halved,
        "with halved": rows * blocks * both,
        "tile": rows * f["out_w"] * -(-f["out_c"] // 32),
        "output": rows * f["out_w"] * f["out_c"],
        "two-sided": rows * f["out_w"] * f["out_c"] * f["requant"]["two_sided"],
        "clamped": rows * f["out_w"] * f["out_c"] * is_clamped(f),
    }


def _packed_windows(f: Fields) -> tuple[float, float, float, float]:
    """Return the quads that windows are packed from, the taps outside, the runs, and the bytes besides quads."""
    quads = outside = packs = tails = 0.0
    for y in range(f["out_h"]):
        rows = [
            0 <= y * f["stride_h"] - f["pad_top"] + k * f["dilation_h"] < f["in_h"] for k in range(f["k_h"])
        ]
        for at in range(0, f["out_w"], 4):
            last = min(4, f["out_w"] - at) - 1
            for n in (0, 2):
                x0, x1 = ((at + min(k, last)) * f["stride_w"] - f["pad_left"] for k in (n, n + 1))
                is_inside = f["dilation_w"] == 1 and x0 >= 0 and x1 + f["k_w"] <= f["in_w"]
                for row in rows:
                    runs, length = (1, f["k_w"] * f["in_c"]) if row and is_inside else (f["k_w"], f["in_c"])
                    packs += runs
                    quads += runs * (length // 4)
                    tails += runs * (length % 4)
                    outside += not (row and is_inside)
    batches = f["batches"]
    return batches * quads, batches * outside, batches * packs, batches * tails


def _depthwise_scalar(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    rows, batches = f["batches"] * f["out_h"], f["batches"]
    ring = (f["k_h"] - 1) * f["dilation_h"] + 1
    lines, missing, ready = 0, 0, 0
    for y in range(f["out_h"]):
        top = y * f["stride_h"]
        ready = max(ready, top)
        while ready < top + ring:
            lines += 1
            missing += not 0 <= ready - f["pad_top"] < f["in_h"]
            ready += 1
    return {
        "row": rows,
        "row tap": rows * f["k_h"],
        "line": batches * lines,
        **scalar_depthwise_lines(f, batches * (lines - missing), batches * missing),
        **scalar_depthwise_outputs(f, rows),
    }


def _pool(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    windows = f["batches"] * f["out_h"] * f["out_w"]
    taps = f["batches"] * taps_inside(f)
    fours, last = f["channels"] // 4, f["channels"] % 4
    return {
        "window": windows,
        "four": windows * fours,
        "row of four": taps / f["k_w"] * fours,
        "four tap": taps * fours,
        "last": windows * last,
        "row of last": taps / f["k_w"] * last,
        "last tap": taps * last,
    }


def _pool_plain(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    windows = f["batches"] * f["out_h"] * f["out_w"]
    taps = f["batches"] * taps_inside(f) * f["channels"]
    return {"window": windows, "output": windows * f["channels"], "row": taps / f["k_w"], "tap": taps}


def _softmax(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    return {"row": f["rows"], "value": f["rows"] * f["depth"]}


def _softmax_of_two(_: Generated, call: KernelCall) -> Work:
    return {"row": call.fields["rows"]}


def _map(_: Generated, call: KernelCall) -> Work:
    return {"value": call.fields["count"]}


_KERNELS: dict[str, Callable[[Generated, KernelCall], Work]] = {
    "ar_average_pool_2d_s8": _pool_plain,
    "ar_average_pool_2d_s8_dsp": _pool,
    "ar_conv_2d_s8_columns_dsp": conv_columns,
    "ar_conv_2d_s8_dsp": conv_dsp,
    "ar_conv_2d_s8_scalar": _conv_scalar,
    "ar_copy": copy,
    "ar_depthwise_3x3_s8_dsp": _depthwise_3x3,
    "ar_depthwise_conv_2d_s8_dsp": _depthwise_dsp,
    "ar_depthwise_conv_2d_s8_scalar": _depthwise_scalar,
    "ar_flip_8": _map,
    "ar_fully_connected_s8": _dense,
    "ar_fully_connected_s8_dsp": _dense_dsp,
    "ar_map_8": _map,
    "ar_max_pool_2d_s8": _pool_plain,
    "ar_softmax_of_two_s8": _softmax_of_two,
    "ar_softmax_s8": _softmax,
    "ar_strided_copy": strided_copy,
}

#: Row functions: most do for each row what their kernel does for each row of a whole image.
_ROWS: dict[str, Callable[[Generated, KernelCall], Work]] = {
    "ar_average_pool_2d_s8_row": _pool_plain,
    "ar_conv_2d_s8_columns_dsp_row": conv_columns,
    "ar_conv_2d_s8_dsp_row": conv_dsp,
    "ar_conv_2d_s8_scalar_row": _conv_scalar,
    "ar_depthwise_3x3_s1_s8_dsp_row": depthwise_3x3_s1_row,
    "ar_depthwise_3x3_s8_dsp_row": depthwise_3x3_row,
    "ar_depthwise_conv_2d_s8_dsp_row": _depthwise_dsp,
    "ar_depthwise_conv_2d_s8_scalar_row": depthwise_scalar_row,
    "ar_max_pool_2d_s8_row": _pool_plain,
}
