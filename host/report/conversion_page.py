"""The report of a conversion as one self-contained HTML page: the image's origin, sizes, plan and loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from arenite.converters.quantize.recipes.recipe_toml import to_toml
from arenite.converters.tflite.reader import parse
from arenite.host.build.attachments import LABELS, MADE_FROM
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.segments import describe_segments, segment_sentences
from arenite.host.conversion.convert import Conversion
from arenite.host.conversion.quantization import QuantizationResult
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.bench_page import fits_table, passes_section
from arenite.host.report.conversion_layers import (
    coverage_section,
    error_section,
    sensitivity_section,
    size_section,
)
from arenite.host.report.conversion_scores import field_section, lost_text, score_section, score_text
from arenite.host.report.conversion_search import search_section
from arenite.host.report.graph_svg import graph_svg
from arenite.host.report.html_parts import cards, document, listed, name_cell, row, table, text

#: Graphs with more operators are folded until the reader opens them.
_LONG = 40


def conversion_page(made: Conversion, verdicts: Sequence[FitVerdict], command: str = "") -> str:
    """Return the page of a conversion.

    Args:
        made: the conversion.
        verdicts: the verdicts for the boards of the request.
        command: the command line that makes the image again; "" leaves it out.
    """
    name = Path(made.request.source).name
    c = made.calibrated
    parts = [f"<h1>{text(name)}</h1>", _subtitle(made), cards(_figures(made, verdicts))]
    if made.notes:
        parts.append(f"<h2>Notes</h2>{listed(dict.fromkeys(made.notes))}")
    parts += _source(made)
    if made.scores is not None:
        parts += score_section(made.scores, made.request.attachments.labels)
    if verdicts:
        parts += ["<h2>Boards</h2>", fits_table([v.to_json() for v in verdicts])]
    if c is not None:
        if c.search is not None:
            parts += search_section(c.search)
        parts += error_section(c.errors, c.quantized.layers)
        parts += [] if c.sensitivity is None else sensitivity_section(c.sensitivity)
        parts += size_section(c.quantized.layers)
        parts += coverage_section(c.coverage)
        if c.field is not None:
            parts += field_section(c.field)
    parts += _graph(made)
    parts += _recipe(c, command)
    return document(f"{name}: conversion", [p for p in parts if p])


def _subtitle(made: Conversion) -> str:
    how = "quantized already"
    if made.calibrated is not None:
        how = f"recipe {made.calibrated.recipe.name}"
        seen = made.calibrated.observations
        how += f", calibrated with {seen.samples:,} samples" if seen is not None else ""
    return f'<p class="sub">{text(made.imported.kind)} model, {text(how)}</p>'


def _figures(made: Conversion, verdicts: Sequence[FitVerdict]) -> list[tuple[str, str]]:
    figures = [(f"{len(made.image):,} B", "image")]
    if made.prepared is not None:
        figures.append((f"{made.prepared.plan.arena_bytes:,} B", "arena, portable kernels"))
    if made.calibrated is not None:
        layers = made.calibrated.quantized.layers
        before, after = sum(x.weight_bytes_before for x in layers), sum(x.weight_bytes for x in layers)
        if before:
            figures.append((f"{after / before:.0%}", "of the source's weight bytes"))
    if made.scores is not None:
        s = made.scores
        figures += [(score_text(s.source), f"{s.source.metric} of the source")]
        figures += [
            (score_text(s.image), f"{s.image.metric} of the image"),
            (lost_text(s), "by quantization"),
        ]
    if len(verdicts) == 1:
        (v,) = verdicts
        figures += [(f"{v.needs.ram:,} B", f"RAM on {v.board.name}"), (f"{v.needs.flash:,} B", "flash")]
    if verdicts:
        figures.append((f"{sum(v.fits for v in verdicts)} of {len(verdicts)}", "boards that it fits"))
    return figures


def _source(made: Conversion) -> list[str]:
    """Return the section on the source of the image and its records."""
    imported = made.imported
    rows = [row("source", name_cell(made.request.source)), row("kind", name_cell(imported.kind))]
    if imported.sha256:
        rows.append(row("SHA-256", name_cell(imported.sha256)))
    for package, version in sorted(imported.made_by.items()):
        rows.append(row(text(package), name_cell(version)))
    if imported.agreement is not None:
        rows.append(row("import, float against float", name_cell(imported.agreement)))
    if (
        made.calibration is not None
        and made.calibrated is not None
        and made.calibrated.observations is not None
    ):
        d = made.calibration
        rows.append(row("calibration data", name_cell(f"{d.path}: {len(d):,} samples, SHA-256 {d.sha256}")))
    extra = {} if made.prepared is None else dict(made.prepared.extra)
    if extra.get(LABELS):
        rows.append(row("labels, in the image", name_cell(", ".join(map(str, extra[LABELS])))))
    parts = ["<h2>How it was made</h2>", table("", rows)]
    carried = {k: v for k, v in extra.items() if k not in (LABELS, MADE_FROM)}
    if carried:
        json_text = text(json.dumps(carried, indent=1))
        parts.append(
            f"<details><summary>{text(', '.join(carried))} in the image</summary><pre>{json_text}</pre></details>"
        )
    return parts


def _graph(made: Conversion) -> list[str]:
    """Return the image's operators and arena; a graph without a plan is in the order of the file."""
    p = made.prepared
    if p is None:
        graph = parse(made.image).main
        return ["<h2>Graph</h2>", _folded(graph_svg(graph, range(len(graph.ops))), len(graph.ops))]
    graph = p.model.main
    segments = segment_sentences(describe_segments(graph, p.plan, p.needs))
    status = f"{p.plan.arena_bytes:,} B ({p.plan.status}, lower bound {p.plan.lower_bound:,} B)"
    return [
        passes_section([r.to_json() for r in p.passes]),
        "<h2>Graph, in execution order</h2>",
        _folded(graph_svg(graph, p.plan.order), len(p.plan.order)),
        "<h2>The arena over time (planned)</h2>",
        f'<p class="kind">{text(status)}, for portable kernels.</p>',
        listed(segments),
        f'<div class="scroll">{arena_svg(graph, p.plan, p.needs)}</div>',
    ]


def _folded(picture: str, operators: int) -> str:
    drawn = f'<div class="scroll">{picture}</div>'
    if operators <= _LONG:
        return drawn
    return f"<details><summary>{operators} operators</summary>{drawn}</details>"


def _recipe(c: QuantizationResult | None, command: str) -> list[str]:
    parts = []
    if c is not None:
        parts += [
            "<h2>Recipe</h2>",
            '<p class="kind">This is the complete recipe; saved as a file, --recipe FILE makes the same image.</p>',
            f"<pre>{text(to_toml(c.recipe))}</pre>",
        ]
    if command:
        parts += ["<h2>Make it again</h2>", f"<pre>{text(command)}</pre>"]
    return parts
