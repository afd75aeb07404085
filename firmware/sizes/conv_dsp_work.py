"""What the convolutions for cores with SIMD instructions do: how often each of their loops runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.lower.core.lowering import KernelCall
from arenite.firmware.sizes.work_counts import Fields, Work, is_clamped


def _blocks(pixels: int) -> list[int]:
    """Return the pixels of each block of a row: 3, or 2 where 2 or 4 are left."""
    blocks = []
    while pixels:
        blocks.append(1 if pixels == 1 else 2 if pixels in (2, 4) else 3)
        pixels -= blocks[-1]
    return blocks


def _dot(work: Work, blocks: Mapping[int, float], out_c: int, groups: int, f: Fields) -> None:
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


def conv_dsp(_: Generated, call: KernelCall) -> Work:
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
    work["clamped row"] = rows * is_clamped(f)
    work["clamped"] = rows * out_w * f["out_c"] * is_clamped(f)
    return work


def _widen_window(
    work: Work, f: Fields, column: int, pixels: int, columns: int, all_rows: bool, inside_rows: list[bool]
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


def conv_columns(_: Generated, call: KernelCall) -> Work:
    f = call.fields
    rows, blocks = f["batches"] * f["out_h"], _blocks(f["out_w"])
    counts = {pixels: float(rows * blocks.count(pixels)) for pixels in set(blocks)}
    groups = f["k_h"] * (f["in_c"] // 4)
    work: Work = {"row": rows, "row tap": rows * f["k_h"], "padding": rows * (f["in_c"] // 4)}
    for pixels, count in ((3, counts.get(3, 0.0)), (2, counts.get(2, 0.0))):
        work[f"expand {pixels}"] = count * groups
        work[f"expand row {pixels}"] = count * f["k_h"]
    _dot(work, counts, f["out_c"], groups * 3, f)
    work["clamped"] = rows * f["out_w"] * f["out_c"] * is_clamped(f)
    return work
