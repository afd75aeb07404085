"""Make the output of ``arenite convert``: one JSON object, or sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.shrink import ShrinkReport
from arenite.host.conversion.convert import Conversion
from arenite.host.conversion.quantization import QuantizationResult
from arenite.host.conversion.recipe_cost import cost_board
from arenite.host.conversion.scores import Scores
from arenite.host.report.console import table
from arenite.host.report.conversion_remedies import remedy_table
from arenite.host.report.conversion_scores import loss_text, lost_text, value_text

#: The maximum number of rows in a table of tensors or classes. The HTML report has all rows.
_MAX_ROWS = 8


def to_json(
    conversion: Conversion,
    target: Path,
    verdicts: Sequence[FitVerdict],
    shrink_report: ShrinkReport | None = None,
) -> dict[str, Any]:
    """Return the ``arenite.convert/1`` object. ``target`` is the path of the image."""
    imported, p = conversion.imported, conversion.prepared
    return {
        "schema": "arenite.convert/1",
        "source": {
            "path": conversion.request.source,
            "kind": imported.kind,
            "sha256": imported.sha256,
            "versions": dict(imported.made_by),
            "agreement": None if imported.agreement is None else imported.agreement.to_json(),
        },
        "image": {"path": str(target), "bytes": len(conversion.image)},
        "arena": None
        if p is None
        else {"bytes": p.plan.arena_bytes, "lower_bound": p.plan.lower_bound, "status": p.plan.status},
        "notes": list(conversion.notes),
        "passes": [] if p is None else [r.to_json() for r in p.passes],
        "calibration": None
        if conversion.calibrated is None
        else _calibrated_json(conversion, conversion.calibrated),
        "score": None if conversion.scores is None else _scores_json(conversion, conversion.scores),
        "fit": verdicts[0].to_json() if verdicts else None,
        "fits": [v.to_json() for v in verdicts],
        "shrink": None if shrink_report is None else shrink_report.to_json(),
    }


def _calibrated_json(conversion: Conversion, c: QuantizationResult) -> dict[str, Any]:
    return {
        "recipe": c.recipe.to_json(),
        "samples": 0 if c.observations is None else c.observations.samples,
        "sha256": None if conversion.calibration is None else conversion.calibration.sha256,
        "coverage": [t.to_json() for t in c.coverage],
        "layers": [e.to_json() for e in c.errors],
        "weights": {
            "before": sum(layer.weight_bytes_before for layer in c.quantized.layers),
            "after": sum(layer.weight_bytes for layer in c.quantized.layers),
        },
        "field": None if c.field is None else c.field.to_json(),
        "sensitivity": None if c.sensitivity is None else c.sensitivity.to_json(),
        "search": None if c.search is None else c.search.to_json(),
        "auto": None if c.auto is None else c.auto.to_json(cost_board(conversion.request.boards).name),
    }


def _scores_json(conversion: Conversion, s: Scores) -> dict[str, Any]:
    limit = conversion.request.max_drop
    return {
        "of": s.of,
        "source": s.source.to_json(),
        "image": s.image.to_json(),
        "drop": s.lost,
        "worst": [part.to_json() for part in s.worst],
        "outputs": [output.to_json() for output in s.outputs],
        "loss": None if conversion.loss is None else conversion.loss.to_json(),
        "max_drop": None if limit is None else {"limit": limit, "met": not conversion.drops_too_much},
    }


def tables(
    conversion: Conversion,
    target: Path,
    verdicts: Sequence[FitVerdict],
    shrink_report: ShrinkReport | None = None,
) -> list[object]:
    """Return sentences and tables for the console, in the order of the conversion's steps. ``target`` is the path of
    the image."""
    lines: list[object] = []
    if conversion.imported.agreement is not None:
        lines.append(f"import: {conversion.imported.agreement}")
    if conversion.calibrated is not None:
        lines += _calibrated_tables(conversion.calibrated)
    if conversion.scores is not None:
        lines += _score_tables(conversion.scores)
        worst = conversion.scores.worst_output
        if conversion.drops_too_much and worst is not None and conversion.request.max_drop is not None:
            limit = 100 * conversion.request.max_drop
            lost = f"{100 * worst.lost:.2f} points of {worst.source.metric}"
            if worst.source.metric == "mse":
                lost = f"{worst.lost:.1%} (growth of the mse)"
            which = (
                f"Output {worst.index} '{worst.name}'" if len(conversion.scores.outputs) > 1 else "The image"
            )
            lines.append(f"{which} loses {lost}; --max-drop allows {limit:g} points.")
    p = conversion.prepared
    arena = (
        f", arena for portable kernels {p.plan.arena_bytes:,} B ({p.plan.status}, bound {p.plan.lower_bound:,} B)"
        if p is not None
        else "; float activations, so it runs only on host computers"
    )
    lines.append(f"{target}: {len(conversion.image):,} B{arena}")
    for v in verdicts:
        lines.append(f"{v.board.name}: " + (_memory_use(v) if v.fits else "; ".join(v.reasons)))
    return lines if shrink_report is None else [*lines, *shrink_report.sentences()]


def _memory_use(v: FitVerdict) -> str:
    sign = "" if v.needs.exact else "about "
    return (
        f"fits with {sign}{v.needs.ram:,} of {v.board.ram_bytes:,} B of RAM and {sign}{v.needs.flash:,} of "
        f"{v.board.flash_bytes:,} B of flash (--optimise {v.needs.optimise})"
    )


def _calibrated_tables(c: QuantizationResult) -> list[object]:
    lines: list[object] = []
    before = sum(layer.weight_bytes_before for layer in c.quantized.layers)
    after = sum(layer.weight_bytes for layer in c.quantized.layers)
    lines.append(f"recipe {c.recipe.name}: weights and biases {before:,} B to {after:,} B")
    if c.auto is not None:
        lines += [remedy_table(c.auto), c.auto.reason]
    if c.search is not None:
        lines += _search_tables(c)
    if c.errors:
        worst = sorted(c.errors, key=lambda e: e.sqnr_db)[:_MAX_ROWS]
        rows = [(e.layer, e.op, e.name, f"{e.sqnr_db:.1f}", f"{e.max_abs:.4g}") for e in worst]
        lines.append(
            table("Layers farthest from the source", ("layer", "op", "output", "SQNR dB", "max diff"), rows)
        )
    if c.field is not None:
        lines.append(
            f"field data: {c.field.score}" + ("" if c.field.warnings else "; no scale clips the field data")
        )
        lines += [f"warning: {w}" for w in c.field.warnings]
    if c.sensitivity is not None and c.search is None:
        sensitivity_rows = [
            (
                s.layer,
                s.op,
                s.kind,
                f"{s.sqnr_db:.1f}",
                loss_text(c.sensitivity.base, s.drop),
                f"{s.weight_bytes:,}",
            )
            for s in sorted(c.sensitivity.layers, key=lambda s: s.sqnr_db)[: 2 * _MAX_ROWS]
        ]
        lost = "lost" if c.sensitivity.base.metric == "mse" else "points lost"
        columns = ("layer", "op", "quantized as", "SQNR dB", lost, "weight bytes")
        lines.append(table("Most sensitive layers", columns, sensitivity_rows))
    return lines


def _search_tables(c: QuantizationResult) -> list[object]:
    from arenite.converters.quantize.search.choice import choice_reason
    from arenite.converters.quantize.search.recipe_search import label

    assert c.search is not None
    s = c.search
    rows = []
    for trial_number in s.front:
        o = s.trials[trial_number]
        b = o.build(s.budget)
        chosen_mark = "chosen" if s.chosen is not None and trial_number == s.chosen.place else ""
        rows.append(
            (
                trial_number,
                label(s.space, o),
                loss_text(s.base, o.drop),
                f"{b.ram:,}",
                f"{b.flash:,}",
                f"{b.instructions:,}",
                chosen_mark,
            )
        )
    columns = ("trial", "recipe", "points lost", "RAM", "flash", "instructions (est.)", "")
    lines: list[object] = [table(f"Pareto front of {len(s.trials)} recipes", columns, rows)]
    if s.chosen is None:
        unmet_limits = "; ".join(s.trials[s.nearest].misses(s.budget))
        lines.append(f"No recipe meets the budget. The nearest is trial {s.nearest}: {unmet_limits}.")
    else:
        lines.append(f"Trial {s.chosen.place} was chosen. Build it with {s.chosen.build.options}.")
        reason = choice_reason(s.trials, s.chosen.place, s.budget, s.base.metric)
        lines += [reason] if reason else []
    return lines


def _score_tables(s: Scores) -> list[object]:
    image = value_text(s.image.metric, s.image.value)
    which = f"output 0 '{s.outputs[0].name}': " if len(s.outputs) > 1 else ""
    lines: list[object] = [f"{which}source: {s.source}; image: {image}, {lost_text(s)} ({s.of})"]
    if len(s.outputs) > 1:
        output_rows = [
            (
                o.index,
                o.name,
                "x".join(map(str, o.shape)),
                o.source.metric,
                value_text(o.source.metric, o.source.value),
                value_text(o.source.metric, o.image.value),
                loss_text(o.source, o.lost),
                f"{o.sqnr_db:.1f}",
                f"{o.max_abs:.4g}",
            )
            for o in s.outputs
        ]
        columns = ("output", "name", "shape", "metric", "source", "image", "lost", "SQNR dB", "max diff")
        lines.append(table("Outputs of source and image", columns, output_rows))
    worst = [part for part in s.worst if part.drop > 0][:_MAX_ROWS]
    if worst and s.source.metric != "mse":
        rows = [
            (
                p.what,
                f"{p.before.value:.2%}",
                f"{p.after.value:.2%}",
                f"{100 * p.drop:+.2f}",
                p.before.samples,
            )
            for p in worst
        ]
        lines.append(table("Largest losses", ("part", "source", "image", "points lost", "samples"), rows))
    return lines
