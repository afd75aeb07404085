"""Make sections of a conversion's HTML report: the error and size of each layer, and how the tensors use their scales.

Each section is a list of HTML parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from arenite.converters.quantize.checks.coverage import TensorCoverage, short_name
from arenite.converters.quantize.layer_figures import LayerFigures
from arenite.converters.quantize.sensitivity.layer_errors import LayerError
from arenite.converters.quantize.sensitivity.sensitivity import Sensitivity
from arenite.host.report.conversion_scores import loss_text
from arenite.host.report.html_parts import (
    RawCell,
    bullet_list,
    head,
    name_cell,
    number_cell,
    row,
    span_cell,
    table,
    track,
)

#: A layer with a lower SQNR (signal-to-quantization-noise ratio, in dB) is marked as bad. At this SQNR, the amplitude
#: of the error is a fifth of the amplitude of the values.
_LOW_DB = 14.0
#: The SQNR in dB of a bar of full length.
_FULL_DB = 60.0


def error_section(errors: Sequence[LayerError], layers: Sequence[LayerFigures]) -> list[str]:
    """Return the section on the difference between each layer's output in the quantized model and in the source."""
    if not errors:
        return []
    figures = {f.index: f for f in layers}
    lowest = {e.layer for e in sorted(errors, key=lambda e: e.sqnr_db)[:3]}
    rows = []
    for e in errors:
        f = figures.get(e.layer)
        color = "var(--bad)" if e.sqnr_db < _LOW_DB else "var(--b)" if e.layer in lowest else "var(--a)"
        types = (f.activations, f.weights) if f is not None else ("", "")
        figure = (
            number_cell(decibels(e.sqnr_db)),
            _bar(e.sqnr_db, color),
            f"{e.max_abs:.4g}",
            _error_in_steps(e),
        )
        rows.append(row(e.layer, e.op, name_cell(e.name), *types, *figure))
    columns = (
        "layer:n",
        "operator",
        "output",
        "activations",
        "weights",
        "SQNR dB:n",
        "",
        "max diff:n",
        "in steps:n",
    )
    return [
        "<h2>Error by layer</h2>",
        '<p class="kind">SQNR is the energy of the source\'s values divided by that of the difference, which '
        "includes the "
        "errors of all earlier layers. The three lowest are marked. The largest difference is in real units and in "
        "steps of the scale.</p>",
        table(head(*columns), rows),
    ]


def sensitivity_section(sensitivity: Sensitivity) -> list[str]:
    """Return the section on the loss if only one layer is quantized, for each layer. The worst layer comes first."""
    rows = [
        row(
            s.layer,
            s.op,
            name_cell(short_name(s.name)),
            RawCell(f"<td>{s.kind}</td>"),
            number_cell(decibels(s.sqnr_db)),
            _bar(s.sqnr_db, "var(--bad)" if s.sqnr_db < _LOW_DB else "var(--a)"),
            loss_text(sensitivity.base, s.drop),
            f"{s.weight_bytes_before:,}",
            f"{s.weight_bytes:,}",
        )
        for s in sorted(sensitivity.layers, key=lambda s: s.sqnr_db)
    ]
    unit = "lost:n" if sensitivity.base.metric == "mse" else "points lost:n"
    columns = (
        "layer:n",
        "operator",
        "output",
        "quantized as",
        "SQNR dB:n",
        "",
        unit,
        "source B:n",
        "image B:n",
    )
    return [
        "<h2>Each layer quantized alone</h2>",
        '<p class="kind">The error at the model\'s output (before a final softmax or sigmoid) if all other layers stay '
        f"float32, and the loss of the metric, on {sensitivity.base.samples:,} samples.</p>",
        table(head(*columns), rows),
    ]


def decibels(value: float) -> str:
    return "exact" if math.isinf(value) and value > 0 else f"{value:.1f}"


def _bar(sqnr_db: float, color: str) -> RawCell:
    return track((0, min(max(sqnr_db / _FULL_DB, 0.0), 1.0), color))


def _error_in_steps(e: LayerError) -> str:
    return "-" if not e.step else f"{e.max_abs / e.step:.1f}"


def size_section(layers: Sequence[LayerFigures]) -> list[str]:
    """Return the section on the bytes of each layer's weights and biases, before and after quantization."""
    with_weights = [f for f in layers if f.weight_bytes_before]
    if not with_weights:
        return []
    before, after = (
        sum(f) for f in zip(*((f.weight_bytes_before, f.weight_bytes) for f in with_weights), strict=True)
    )
    largest = max(f.weight_bytes_before for f in with_weights)
    rows = [
        row(
            f.index,
            f.name,
            name_cell(short_name(f.output)),
            f.weights,
            f"{f.weight_bytes_before:,}",
            f"{f.weight_bytes:,}",
            track(
                (0, f.weight_bytes_before / largest, "var(--soft)"),
                (0, f.weight_bytes / largest, "var(--a)"),
            ),
            number_cell("-" if f.weight_sqnr_db is None else decibels(f.weight_sqnr_db)),
        )
        for f in with_weights
    ]
    rows.append(row("", RawCell("<th>all</th>"), "", "", f"{before:,}", f"{after:,}", "", ""))
    columns = (
        "layer:n",
        "operator",
        "output",
        "weights",
        "source B:n",
        "image B:n",
        "",
        "weights' SQNR dB:n",
    )
    return [
        "<h2>Size by layer: weights and biases</h2>",
        '<p class="kind">The gray bar is the source in float32, the colored bar the quantized model. Graph '
        "optimizations and packing "
        "for one board's flash are not included.</p>",
        table(head(*columns), rows),
    ]


def coverage_section(tensors: Sequence[TensorCoverage]) -> list[str]:
    """Return the section on the part of each scale's range that the calibration data uses."""
    if not tensors:
        return []
    rows = []
    for c in tensors:
        outlier_cell = RawCell('<td class="no">outliers</td>') if c.warning is not None else ""
        rows.append(
            row(
                c.index,
                c.made_by,
                name_cell(short_name(c.name)),
                span_cell(c.low, c.high),
                span_cell(c.seen_low, c.seen_high),
                _range_bar(c),
                f"{c.bulk:.0%}",
                f"{c.outlier:.1f}",
                f"{c.clipped:.2%}",
                f"~{c.sqnr_db:.1f}",
                outlier_cell,
            )
        )
    columns = ["tensor:n", "operator", "name", "range", "value range", "", "bulk uses:n", "outliers ×:n"]
    columns += ["clipped:n", "SQNR dB:n", ""]
    warnings = [w for c in tensors if (w := c.warning) is not None]
    return [
        "<h2>Calibration: how values use their scales</h2>",
        '<p class="kind">The bar is the range of the scale. The colored part is the range of the values that '
        "occurred. The bulk is all values "
        "except the outermost 0.05 % on each side. The outlier figure is the largest magnitude divided by the "
        "largest magnitude of the bulk. "
        "The sign ~ marks an estimate from histograms.</p>",
        bullet_list(warnings),
        table(head(*columns), rows),
    ]


def _range_bar(c: TensorCoverage) -> RawCell:
    width = max(c.high - c.low, 1e-30)
    start, end = (min(max((v - c.low) / width, 0.0), 1.0) for v in (c.seen_low, c.seen_high))
    return track((start, end, "var(--bad)" if c.warning is not None else "var(--c)"))
