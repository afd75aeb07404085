"""What the kernel of a layer does: how often each of its loops runs, from the parameters of its call.

The instructions of a layer are a sum over these counts, with a cost for each one that was fitted to measured layers
(``instructions.py``). The control flow of these kernels depends on shapes and weights alone, and hardly on the inputs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.lower.core.lowering import Expr, KernelCall, StructArray

#: How often each loop runs, by a name for it.
Work = dict[str, float]
_Fields = Mapping[str, Any]


def layer_work(g: Generated, layer: Layer) -> Work | None:
    """Return the work of a layer; None if its kernel is not described here."""
    call = layer.call
    if call is None or layer.streamed or layer.body or call.before is not None or layer.second is not None:
        return None
    describe = _KERNELS.get(call.kernel)
    return None if describe is None else {"call": 1.0, **describe(g, call)}


def _is_clamped(f: _Fields) -> bool:
    return (f["act_min"], f["act_max"]) != (-128, 127)


def _taps_inside(f: _Fields) -> float:
    """Return the number of taps of all windows of one image that are inside the image."""
    rows, columns = (
        sum(max(0, min(size - at, taps) - max(-at, 0)) for at in (y * stride - pad for y in range(outputs)))
        for size, taps, stride, pad, outputs in (
            (f["in_h"], f["k_h"], f["stride_h"], f["pad_top"], f["out_h"]),
            (f["in_w"], f["k_w"], f["stride_w"], f["pad_left"], f["out_w"]),
        )
    )
    return float(rows * columns)


def _blocks(pixels: int) -> list[int]:
    """Return the pixels of each block of a row: 3, or 2 where 2 or 4 are left."""
    blocks = []
    while pixels:
        blocks.append(1 if pixels == 1 else 2 if pixels in (2, 4) else 3)
        pixels -= blocks[-1]
    return blocks


def _dot(work: Work, blocks: Mapping[int, float], out_c: int, groups: int, f: _Fields) -> None:
    """Add the products of widened blocks with pairs of filters. ``blocks`` has the number of blocks by their pixels."""
    pairs = -(-out_c // 2)
    work["dot 3"] = blocks.get(3, 0)
    work["dot 2"] = two = blocks.get(2, 0) + blocks.get(1, 0)
    work["pair 3"], work["pair 2"] = work["dot 3"] * pairs, two * pairs
    work["group 3"], work["group 2"] = work["pair 3"] * (groups - 1), work["pair 2"] * groups
    work["round 3"] = work["pair 3"] * -(-(groups - 1) // 8)
    work["round 2"] = work["pair 2"] * -(-groups // 4)
    work["one-sided 3"] = work["pair 3"] * (f["form"] == 1)
    work["two-sided 3"] = work["pair 3"] * (f["form"] == 2)
    work["two-sided shift 3"] = work["pair 3"] * (f["form"] == 2 and f["shift"] != 12)
    work["two-sided 2"] = work["pair 2"] * (f["form"] == 2)
    work["single"] = (work["dot 3"] + two) * (out_c & 1)


def _conv_dsp(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    k_h, runs, width, groups, rest = (f[name] for name in ("k_h", "runs", "run_width", "run_groups", "rest"))
    out_w, in_w, rows = f["out_w"], f["in_w"], f["batches"] * f["out_h"]
    if k_h * runs * width == 1 and f["stride_h"] == f["stride_w"] == 1:
        in_w = out_w = f["batches"] * f["in_h"] * f["in_w"]
        rows = 1
    step, run_bytes = f["stride_w"] * f["in_c"], groups * 4
    reach = run_bytes + rest + 2 * step
    work: Work = defaultdict(float)
    counts: dict[int, float] = {}
    tops = [
        [0 <= y * f["stride_h"] - f["pad_top"] + k * f["dilation_h"] < f["in_h"] for k in range(k_h)]
        for y in range(f["out_h"])
    ]
    for inside_rows in tops if rows > 1 or f["out_h"] == 1 else [[True]]:
        column, all_rows, inside, columns = -f["pad_left"], all(inside_rows), in_w * f["in_c"] - reach, in_w
        if f["padded_w"]:
            overhang = run_bytes + rest - width * f["in_c"]
            for is_row in inside_rows if len(inside_rows) == k_h else [True] * k_h:
                _pad(work, f["batches"], in_w if is_row else 0, column, f["padded_w"], f["in_c"])
            inside = f["padded_w"] * f["in_c"] + overhang - reach
            column, columns, all_rows = 0, f["padded_w"] + overhang, True
        if not all_rows or runs > 1:
            inside = -1 - step
        for pixels in _blocks(out_w):
            counts[pixels] = counts.get(pixels, 0) + f["batches"]
            wide = max(pixels, 2)
            offset = column * f["in_c"]
            is_inside = (pixels == 3 and 0 <= offset <= inside) or (
                pixels == 2 and rest == 0 and 0 <= offset <= inside + step
            )
            work[f"expand {wide}"] += f["batches"] * runs * k_h * groups
            work[f"expand round {wide}"] += f["batches"] * runs * k_h * (groups // 2)
            work[f"expand row {wide}"] += f["batches"] * runs * k_h * bool(groups)
            work["rest row"] += f["batches"] * runs * k_h * bool(rest)
            work[f"rest {wide}"] += f["batches"] * runs * k_h * rest
            if is_inside:
                work["expand"] += f["batches"] * bool(groups)
                work["rest call"] += f["batches"] * bool(rest)
            else:
                work["wide"] += f["batches"]
                _widen_window(work, f, column, pixels, columns, all_rows, inside_rows)
            column += pixels * f["stride_w"]
    work["row"], work["row tap"] = rows, rows * k_h
    _dot(work, counts, f["out_c"], f["groups"], f)
    work["clamped row"] = rows * _is_clamped(f)
    work["clamped"] = rows * out_w * f["out_c"] * _is_clamped(f)
    return work


def _widen_window(
    work: Work, f: _Fields, column: int, pixels: int, columns: int, all_rows: bool, inside_rows: list[bool]
) -> None:
    """Add the copies of windows that are partly outside the image."""
    in_c, step = f["in_c"], 0 if pixels == 1 else f["stride_w"] * f["in_c"]
    width = (pixels - 1) * f["stride_w"] + f["run_width"]
    read = f["run_groups"] * 4 + f["rest"] + (pixels - 1) * step
    for run in range(f["runs"]):
        first = column + run * f["dilation_w"]
        if all_rows and first * in_c >= 0 and first * in_c + read <= columns * in_c:
            work["wide expand"] += f["batches"] * bool(f["run_groups"])
            work["rest call"] += f["batches"] * bool(f["rest"])
            continue
        work["wide expand"] += f["batches"] * f["k_h"] * bool(f["run_groups"])
        work["rest call"] += f["batches"] * f["k_h"] * bool(f["rest"])
        for is_row in inside_rows if len(inside_rows) == f["k_h"] else [True] * f["k_h"]:
            _pad(work, f["batches"], columns if is_row else 0, first, width, in_c)


def _pad(work: Work, times: int, columns: int, first: int, width: int, in_c: int) -> None:
    """Add the copy of ``width`` columns from column ``first`` on, with padding for those outside the image."""
    before, end = max(-first, 0), min(columns - first, width)
    filled = [before, width - end] if end > before else [width]
    work["window"] += times
    work["missing window"] += times * (end <= before)
    for count in filled:
        work["filled words"] += times * (count * in_c // 4)
        work["filled halves"] += times * bool(count * in_c & 2)
        work["filled bytes"] += times * (count * in_c & 1)
    copied = max(end - before, 0) * in_c
    work["copied words"] += times * (copied // 4)
    work["copied bytes"] += times * (copied % 4)


def _conv_columns(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    rows, blocks = f["batches"] * f["out_h"], _blocks(f["out_w"])
    counts = {pixels: float(rows * blocks.count(pixels)) for pixels in set(blocks)}
    groups = f["k_h"] * (f["in_c"] // 4)
    work: Work = {"row": rows, "row tap": rows * f["k_h"], "padding": rows * (f["in_c"] // 4)}
    for pixels, count in ((3, counts.get(3, 0.0)), (2, counts.get(2, 0.0))):
        work[f"expand {pixels}"] = count * groups
        work[f"expand row {pixels}"] = count * f["k_h"]
    _dot(work, counts, f["out_c"], groups * 3, f)
    work["clamped"] = rows * f["out_w"] * f["out_c"] * _is_clamped(f)
    return work


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
        "clamp": _is_clamped(f),
        "clamped": f["units"] * _is_clamped(f),
    }


def _dense(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    units = f["batches"] * f["units"]
    return {"row": f["batches"], "unit": units, "product": units * f["depth"]}


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
        "tap outside": pixels * f["k_h"] * f["k_w"] - f["batches"] * _taps_inside(f),
        "tap of a missing row": rows * f["out_w"] * f["k_h"] * f["k_w"]
        - f["batches"] * _taps_inside({**f, "in_w": 1, "k_w": 1, "stride_w": 0, "pad_left": 0}) * f["k_w"],
        "four": pixels * fours,
        "pair": pixels * fours * (f["taps"] // 2),
        "odd": pixels * fours * (f["taps"] % 2),
        "two-sided": pixels * fours * f["two_sided"],
        "last": pixels * last,
        "last tap": pixels * last * f["taps"],
        "clamped": pixels * f["channels"] * _is_clamped(f),
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
        "clamped": rows * f["out_w"] * f["out_c"] * _is_clamped(f),
    }


def _packed_windows(f: _Fields) -> tuple[float, float, float, float]:
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
    rows, channels = f["batches"] * f["out_h"], f["out_c"]
    blocks, tiles = rows * -(-f["out_w"] // 3), -(-f["out_c"] // 32)
    ring = (f["k_h"] - 1) * f["dilation_h"] + 1
    columns = (max(f["out_w"], 3) - 1) * f["stride_w"] + (f["k_w"] - 1) * f["dilation_w"] + 1
    line = (columns * f["in_c"] + 3) & ~3
    lines, missing, ready = 0, 0, 0
    for y in range(f["out_h"]):
        top = y * f["stride_h"]
        ready = max(ready, top)
        while ready < top + ring:
            lines += 1
            missing += not 0 <= ready - f["pad_top"] < f["in_h"]
            ready += 1
    before = f["pad_left"] * f["in_c"]
    copied = min(f["in_w"] * f["in_c"], line - before)
    is_word = f["in_w"] * f["in_c"] % 4 == 0 and before % 4 == 0
    inside = f["batches"] * (lines - missing)
    is_square = (f["k_h"], f["k_w"], f["dilation_w"]) == (3, 3, 1)
    s1, s2 = (is_square and f["stride_w"] == s for s in (1, 2))
    is_any = not (s1 or s2)
    return {
        "row": rows,
        "row tap": rows * f["k_h"],
        "line": f["batches"] * lines,
        "line words": inside * (copied // 4) * is_word,
        "line bytes": inside * (copied % 4 if is_word else copied),
        "line padding": inside * (line - copied) + f["batches"] * missing * line,
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
        "clamped": rows * f["out_w"] * channels * _is_clamped(f),
    }


def _pool(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    windows = f["batches"] * f["out_h"] * f["out_w"]
    taps = f["batches"] * _taps_inside(f)
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
    taps = f["batches"] * _taps_inside(f) * f["channels"]
    return {"window": windows, "output": windows * f["channels"], "row": taps / f["k_w"], "tap": taps}


def _softmax(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    return {"row": f["rows"], "value": f["rows"] * f["depth"]}


def _map(_: Generated, call: KernelCall) -> Work:
    return {"value": call.fields["count"]}


def _copy(_: Generated, call: KernelCall) -> Work:
    return _copied(1, call.fields["bytes"], call.fields["input"], call.fields["output"])


def _copied(times: float, count: int, source: Any, to: Any) -> Work:
    """Return the work of copying ``count`` bytes ``times`` times: words, if sizes and addresses allow it."""
    if _is_aligned(source) and _is_aligned(to) and count % 4 == 0:
        return {"words": times * count // 4, "bytes": 0.0}
    return {"words": 0.0, "bytes": float(times * count)}


def _is_aligned(address: Any) -> bool:
    """Return whether an address is one of a word: other addresses than those in the arena always are."""
    text = getattr(address, "text", "")
    offset = getattr(address, "offset", 0)
    number = text.removeprefix("AT(").removesuffix(")") if text.startswith("AT(") else "0"
    return (int(number) + offset) % 4 == 0 if number.isdigit() else offset % 4 == 0


def _structs(value: Any) -> Any:
    return value.items if isinstance(value, StructArray) else value


def _strided_copy(_: Generated, call: KernelCall) -> Work:
    work: Work = {"piece": 0.0, "turn": 0.0, "run": 0.0, "words": 0.0, "bytes": 0.0}
    for piece in _structs(call.fields["pieces"]):
        dims = _structs(piece["dims"])[: piece["rank"]]
        runs = math.prod(d["count"] for d in dims)
        strides = [d[side] for d in dims for side in ("in_stride", "out_stride")]
        is_word = all(s % 4 == 0 for s in strides)
        copied = _copied(runs, piece["run"] if is_word else piece["run"] | 1, piece["input"], piece["output"])
        copied["bytes"] -= 0 if is_word or piece["run"] % 2 else runs
        work["piece"] += 1
        work["run"] += runs
        work["turn"] += runs / dims[0]["count"]
        for name, count in copied.items():
            work[name] += count
    return work


_KERNELS: dict[str, Callable[[Generated, KernelCall], Work]] = {
    "ar_average_pool_2d_s8": _pool_plain,
    "ar_average_pool_2d_s8_dsp": _pool,
    "ar_conv_2d_s8_columns_dsp": _conv_columns,
    "ar_conv_2d_s8_dsp": _conv_dsp,
    "ar_conv_2d_s8_scalar": _conv_scalar,
    "ar_copy": _copy,
    "ar_depthwise_3x3_s8_dsp": _depthwise_3x3,
    "ar_depthwise_conv_2d_s8_dsp": _depthwise_dsp,
    "ar_depthwise_conv_2d_s8_scalar": _depthwise_scalar,
    "ar_flip_8": _map,
    "ar_fully_connected_s8": _dense,
    "ar_fully_connected_s8_dsp": _dense_dsp,
    "ar_map_8": _map,
    "ar_max_pool_2d_s8": _pool_plain,
    "ar_softmax_s8": _softmax,
    "ar_strided_copy": _strided_copy,
}
