"""What layers do that run row by row (``ar_stream_run``): the calls of their row functions, and the work of row
functions that differ from the kernels for whole images."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.lower.core.lowering import KernelCall
from arenite.firmware.sizes.work_counts import Work, is_clamped


def row_layer_work(g: Generated, layer: Layer, work: Mapping[str, float]) -> Work:
    """Return the work of all rows of a streamed ``layer``, whose kernel has ``work``: that of the whole image, or of
    one row if the kernel was lowered for an image of one row."""
    assert layer.call is not None
    fields = layer.call.fields
    rows = g.model.main.tensors[layer.op.outputs[0]].shape[1]
    times = rows if fields["out_h"] == 1 else 1
    return {"call": rows, "find tap": rows * fields.get("k_h", 1), **{k: times * v for k, v in work.items()}}


def _missing_rows(call: KernelCall, taps: int, stride: int, dilation: int = 1) -> float:
    """Return the number of taps of all output rows that are above or below the image."""
    f = call.fields
    return float(
        sum(
            not 0 <= y * stride - f["pad_top"] + k * dilation < f["in_h"]
            for y in range(f["out_h"])
            for k in range(taps)
        )
    )


def depthwise_3x3_row(_: Generated, call: KernelCall) -> Work:
    """Return the work of rows whose three lines are widened again for each row."""
    f = call.fields
    groups, outputs = -(-f["channels"] // 4), 6 // f["stride"]
    rows = f["out_h"] * groups
    pixels = min(f["in_w"] + f["pad_left"], (f["out_w"] - 1) * f["stride"] + 3)
    full, part = divmod(f["out_w"], outputs)
    outs = f["out_h"] * f["channels"]
    return {
        "group": rows,
        "line block": 3 * rows * (pixels // 6),
        "line rest": 3 * rows * bool(pixels % 6),
        "line rest pixel": 3 * rows * (pixels % 6),
        "missing line": groups * _missing_rows(call, 3, f["stride"]),
        "full": rows * full,
        "block": outs * full,
        "part": outs * bool(part),
        "part pixel": outs * part,
    }


def depthwise_3x3_s1_row(_: Generated, call: KernelCall) -> Work:
    """Return the work of rows at stride 1: a table for each group of four channels, and blocks of six outputs."""
    f = call.fields
    groups = -(-f["channels"] // 4)
    rows = f["out_h"] * groups
    full, part = divmod(f["out_w"], 6)
    outs = f["out_h"] * f["channels"]
    return {
        "group": rows,
        "missing row": groups * _missing_rows(call, 3, 1),
        "pair": rows * (f["out_w"] // 2),
        "full": rows * full,
        "block": outs * full,
        "part": outs * bool(part),
        "part pixel": outs * part,
    }


def depthwise_scalar_row(_: Generated, call: KernelCall) -> Work:
    """Return the work of rows whose lines are all copied again for each row."""
    f = call.fields
    rows, channels = f["out_h"], f["out_c"]
    blocks, tiles = rows * -(-f["out_w"] // 3), -(-channels // 32)
    columns = (max(f["out_w"], 3) - 1) * f["stride_w"] + (f["k_w"] - 1) * f["dilation_w"] + 1
    line = (columns * f["in_c"] + 3) & ~3
    missing = _missing_rows(call, f["k_h"], f["stride_h"], f["dilation_h"])
    before = f["pad_left"] * f["in_c"]
    copied = min(f["in_w"] * f["in_c"], line - before)
    is_word = f["in_w"] * f["in_c"] % 4 == 0 and before % 4 == 0
    inside = rows * f["k_h"] - missing
    is_square = (f["k_h"], f["k_w"], f["dilation_w"]) == (3, 3, 1)
    s1, s2 = (is_square and f["stride_w"] == s for s in (1, 2))
    is_any = not (s1 or s2)
    return {
        "line words": inside * (copied // 4) * is_word,
        "line bytes": inside * (copied % 4 if is_word else copied),
        "line padding": inside * (line - copied) + missing * line,
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
