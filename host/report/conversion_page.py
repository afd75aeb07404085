"""Make the report of a conversion, one self-contained HTML page: the image's source, sizes, arena plan and loss."""

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
from arenite.host.conversion.recipe_cost import cost_board
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.bench_page import fits_table, passes_section
from arenite.host.report.conversion_layers import (
    coverage_section,
    error_section,
    sensitivity_section,
    size_section,
)
from arenite.host.report.conversion_remedies import remedy_section
from arenite.host.report.conversion_scores import field_section, lost_text, score_section, score_text
from arenite.host.report.conversion_search import search_section
from arenite.host.report.graph_svg import graph_svg
from arenite.host.report.html_parts import bullet_list, cards, document, name_cell, row, table, text

#: The picture of a graph with more operators is hidden until the reader opens it.
_MAX_OPEN_OPERATORS = 40


def conversion_page(conversion: Conversion, verdicts: Sequence[FitVerdict], command: str = "") -> str:
    """Return the HTML page of a conversion.

    Args:
        conversion: the result of ``convert`` in ``arenite.host.conversion``.
        verdicts: for each board of the request, whether the model fits it.
        command: the command line that creates the same image, or "" to leave it out.
    """
    name = Path(conversion.request.source).name
    calibrated = conversion.calibrated
    parts = [f"<h1>{text(name)}</h1>", _subtitle(conversion), cards(_figures(conversion, verdicts))]
    if conversion.notes:
        parts.append(f"<h2>Notes</h2>{bullet_list(dict.fromkeys(conversion.notes))}")
    parts += _source(conversion)
    if conversion.scores is not None:
        parts += score_section(conversion.scores, conversion.request.attachments.labels)
    if verdicts:
        parts += ["<h2>Boards</h2>", fits_table([v.to_json() for v in verdicts])]
    if calibrated is not None:
        if calibrated.auto is not None:
            parts += remedy_section(calibrated.auto, cost_board(conversion.request.boards).name)
        if calibrated.search is not None:
            parts += search_section(calibrated.search)
        parts += error_section(calibrated.errors, calibrated.quantized.layers)
        parts += [] if calibrated.sensitivity is None else sensitivity_section(calibrated.sensitivity)
        parts += size_section(calibrated.quantized.layers)
        parts += coverage_section(calibrated.coverage)
        if calibrated.field is not None:
            parts += field_section(calibrated.field)
    parts += _graph(conversion)
    parts += _recipe(calibrated, command)
    return document(f"{name}: conversion", [part for part in parts if part])


def _subtitle(conversion: Conversion) -> str:
    method = "already quantized"
    if conversion.calibrated is not None:
        method = f"recipe {conversion.calibrated.recipe.name}"
        observations = conversion.calibrated.observations
        method += f", calibrated with {observations.samples:,} samples" if observations is not None else ""
    return f'<p class="sub">{text(conversion.imported.kind)} model, {text(method)}</p>'


def _figures(conversion: Conversion, verdicts: Sequence[FitVerdict]) -> list[tuple[str, str]]:
    figures = [(f"{len(conversion.image):,} B", "image")]
    if conversion.prepared is not None:
        figures.append((f"{conversion.prepared.plan.arena_bytes:,} B", "arena, portable kernels"))
    if conversion.calibrated is not None:
        layers = conversion.calibrated.quantized.layers
        before, after = sum(x.weight_bytes_before for x in layers), sum(x.weight_bytes for x in layers)
        if before:
            figures.append((f"{after / before:.0%}", "of the source's weight bytes"))
    if conversion.scores is not None:
        scores = conversion.scores
        figures += [(score_text(scores.source), f"{scores.source.metric} of the source")]
        figures += [
            (score_text(scores.image), f"{scores.image.metric} of the image"),
            (lost_text(scores), "by quantization"),
        ]
    if len(verdicts) == 1:
        (v,) = verdicts
        figures += [(f"{v.needs.ram:,} B", f"RAM on {v.board.name}"), (f"{v.needs.flash:,} B", "flash")]
    if verdicts:
        figures.append((f"{sum(v.fits for v in verdicts)} of {len(verdicts)}", "boards that the model fits"))
    return figures


def _source(conversion: Conversion) -> list[str]:
    """Return the section on the source of the image and on the metadata that the image contains."""
    imported = conversion.imported
    rows = [row("source", name_cell(conversion.request.source)), row("kind", name_cell(imported.kind))]
    if imported.sha256:
        rows.append(row("SHA-256", name_cell(imported.sha256)))
    for package, version in sorted(imported.made_by.items()):
        rows.append(row(text(package), name_cell(version)))
    if imported.agreement is not None:
        rows.append(row("imported float model, compared with the source", name_cell(imported.agreement)))
    if (
        conversion.calibration is not None
        and conversion.calibrated is not None
        and conversion.calibrated.observations is not None
    ):
        dataset = conversion.calibration
        rows.append(
            row(
                "calibration data",
                name_cell(f"{dataset.path}: {len(dataset):,} samples, SHA-256 {dataset.sha256}"),
            )
        )
    extra = {} if conversion.prepared is None else dict(conversion.prepared.extra)
    if extra.get(LABELS):
        rows.append(row("labels, in the image", name_cell(", ".join(map(str, extra[LABELS])))))
    parts = ["<h2>Origin of the image</h2>", table("", rows)]
    attachments = {k: v for k, v in extra.items() if k not in (LABELS, MADE_FROM)}
    if attachments:
        json_text = text(json.dumps(attachments, indent=1))
        parts.append(
            f"<details><summary>{text(', '.join(attachments))} in the image</summary><pre>{json_text}</pre></details>"
        )
    return parts


def _graph(conversion: Conversion) -> list[str]:
    """Return the section with pictures of the image's operators and arena. Without a plan, the arena is left out and
    the operators are in the order of the file."""
    prepared = conversion.prepared
    if prepared is None:
        graph = parse(conversion.image).main
        return [
            "<h2>Graph</h2>",
            _collapsed_if_large(graph_svg(graph, range(len(graph.ops))), len(graph.ops)),
        ]
    graph = prepared.model.main
    segments = segment_sentences(describe_segments(graph, prepared.plan, prepared.needs))
    status = f"{prepared.plan.arena_bytes:,} B ({prepared.plan.status}, lower bound {prepared.plan.lower_bound:,} B)"
    return [
        passes_section([r.to_json() for r in prepared.passes]),
        "<h2>Graph, in execution order</h2>",
        _collapsed_if_large(graph_svg(graph, prepared.plan.order), len(prepared.plan.order)),
        "<h2>The arena over time (planned)</h2>",
        f'<p class="kind">{text(status)}, for portable kernels.</p>',
        bullet_list(segments),
        f'<div class="scroll">{arena_svg(graph, prepared.plan, prepared.needs)}</div>',
    ]


def _collapsed_if_large(picture: str, operators: int) -> str:
    drawing = f'<div class="scroll">{picture}</div>'
    if operators <= _MAX_OPEN_OPERATORS:
        return drawing
    return f"<details><summary>{operators} operators</summary>{drawing}</details>"


def _recipe(calibrated: QuantizationResult | None, command: str) -> list[str]:
    parts = []
    if calibrated is not None:
        parts += [
            "<h2>Recipe</h2>",
            '<p class="kind">This is the complete recipe. If you save it as a file, --recipe FILE creates the '
            "same image.</p>",
            f"<pre>{text(to_toml(calibrated.recipe))}</pre>",
        ]
    if command:
        parts += ["<h2>Command that creates this image</h2>", f"<pre>{text(command)}</pre>"]
    return parts
