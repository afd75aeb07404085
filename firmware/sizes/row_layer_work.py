"""What layers do that run row by row (``ar_stream_run``): the calls of their row functions, and the work of row
functions that differ from the kernels for whole images."""

from __future__ import annotations

from collections.abc import Mapping

from arenite.firmware.generator.generated_model import Generated, Layer
from arenite.firmware.generator.lower.core.lowering import KernelCall
from arenite.firmware.generator.lower.depthwise.depthwise_3x3_dsp import STRIP_BLOCKS
from arenite.firmware.sizes.work_counts import Work, scalar_depthwise_lines, scalar_depthwise_outputs


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
    """Return the work of rows whose three lines are widened again for each row, strip by strip."""
    f = call.fields
    groups, outputs = -(-f["channels"] // 4), 6 // f["stride"]
    rows = f["out_h"] * groups
    strips = range(0, f["out_w"], STRIP_BLOCKS * outputs)
    pixels = [_strip_pixels(f, x, min(STRIP_BLOCKS * outputs, f["out_w"] - x)) for x in strips]
    full, part = divmod(f["out_w"], outputs)
    outs = f["out_h"] * f["channels"]
    return {
        "group": rows,
        "strip": rows * len(strips),
        "line block": 3 * rows * sum(n // 6 for n in pixels),
        "line rest": 3 * rows * sum(n % 6 > 0 for n in pixels),
        "line rest pixel": 3 * rows * sum(n % 6 for n in pixels),
        "missing line": groups * _missing_rows(call, 3, f["stride"]),
        "full": rows * full,
        "block": outs * full,
        "part": outs * bool(part),
        "part pixel": outs * part,
    }


def _strip_pixels(f: Mapping[str, int], x: int, outputs: int) -> int:
    """Return the columns of a strip's lines, from padding on the left to the row's end. The strip has the ``outputs``
    from ``x`` on, and ``f`` are the fields of the kernel's parameters."""
    return min(f["in_w"] + f["pad_left"] - x * f["stride"], (outputs - 1) * f["stride"] + 3)


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
    missing = _missing_rows(call, f["k_h"], f["stride_h"], f["dilation_h"])
    return {
        **scalar_depthwise_lines(f, f["out_h"] * f["k_h"] - missing, missing),
        **scalar_depthwise_outputs(f, f["out_h"]),
    }
