"""Make sections of a conversion's HTML report: the loss of score by quantization, and how field data fits the scales.

Field data are inputs from real use of the model. A loss is a score of the source minus the score of the image; for mse
it is the relative growth.
"""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.quantize.checks.field_data import FieldReport
from arenite.converters.quantize.scoring.metrics import METRICS, MetricDrop, Score
from arenite.host.conversion.scores import Scores
from arenite.host.report.html_parts import bullet_list, head, name_cell, row, span_cell, table, text, track

#: The number of parts of the data (such as classes) whose loss is shown. The reader can open the remaining parts.
_OPEN_PARTS = 12


def value_text(metric: str, value: float) -> str:
    return f"{value:.4g}" if metric == "mse" else f"{value:.2%}"


def score_text(score: Score) -> str:
    """Return the score as text, with half the width of its confidence interval if that is known."""
    if score.margin is None:
        return value_text(score.metric, score.value)
    if score.metric == "mse":
        return f"{score.value:.4g} ± {score.margin:.2g}"
    return f"{score.value:.2%} ± {100 * score.margin:.2f}"


def loss_text(base: Score, lost: float) -> str:
    """Return the loss ``lost`` against the score ``base`` (from ``metrics.drop``) as text, in percentage points.

    For mse it is the relative growth, or "-" if ``base`` is 0 because the model is compared with itself.
    """
    if base.metric != "mse":
        return f"{100 * lost:+.2f}"
    return "-" if base.value == 0 else f"{lost:+.1%}"


def lost_text(scores: Scores) -> str:
    """Return the change of the score from source to image as text, such as "0.05 points lost"."""
    source, lost = scores.source, scores.lost
    if source.metric != "mse":
        return f"{100 * abs(lost):.2f} points {'gained' if lost < 0 else 'lost'}"
    if source.value == 0:
        return "compared with the source itself"
    return f"{abs(lost):.1%} {'smaller' if lost < 0 else 'larger'}"


def score_section(scores: Scores, labels: Sequence[str] = ()) -> list[str]:
    """Return the section on the scores of source and image, in total and by part. ``labels`` are the names of the
    classes."""
    s = scores
    top = 1.0 if METRICS[s.source.metric] else max(s.source.value, s.image.value, 1e-30)
    rows = [
        row(name, score_text(score), f"{score.samples:,}", track((0, score.value / top, color)))
        for name, score, color in (
            ("source", s.source, "var(--c)"),
            ("image", s.image, "var(--a)"),
        )
    ]
    parts = [
        f"<h2>Score: {text(s.source.metric)}</h2>",
        f'<p class="kind">Measured on {text(s.of)}. LiteRT ran the source, and its reference kernels ran the '
        "image. The "
        "firmware's outputs have the same bytes. The figure after ± is half the 95 % confidence interval of each "
        "score. Both used the same samples, so their difference is more certain than each score.</p>",
        table(head("", s.source.metric + ":n", "samples:n", ""), rows),
        f"<p>The image's {text(s.source.metric)}: <b>{lost_text(s)}</b>.</p>",
    ]
    if len(s.outputs) > 1:
        parts += [
            f"<p>These are the scores of output 0, {name_cell(s.outputs[0].name)}.</p>",
            _output_table(s),
        ]
    if s.worst:
        parts += [
            "<h2>Losses by part of the data, the largest first</h2>",
            *_parts(s.worst, s.source.metric, labels),
        ]
    return parts


def _output_table(scores: Scores) -> str:
    """Return a table with one row per model output: its scores, its loss, and its difference from the source."""
    rows = [
        row(
            o.index,
            name_cell(o.name),
            text("x".join(map(str, o.shape))),
            text(o.source.metric),
            score_text(o.source),
            score_text(o.image),
            loss_text(o.source, o.lost),
            f"{o.sqnr_db:.1f}",
            f"{o.max_abs:.4g}",
        )
        for o in scores.outputs
    ]
    columns = ("output:n", "name", "shape", "metric", "source:n", "image:n", "lost:n")
    return table(head(*columns, "SQNR dB:n", "largest difference:n"), rows)


def _parts(worst: Sequence[MetricDrop], metric: str, labels: Sequence[str]) -> list[str]:
    """Return the tables of the losses by part of the data. Parts after the first ``_OPEN_PARTS`` are hidden at
    first."""
    header = head(
        "part", "source:n", "image:n", "lost:n" if metric == "mse" else "points lost:n", "samples:n", ""
    )
    largest = max(max(abs(p.drop) for p in worst), 1e-30)
    rows = [_part(p, metric, labels, largest) for p in worst]
    parts = [table(header, rows[:_OPEN_PARTS])]
    if len(rows) > _OPEN_PARTS:
        hidden_parts = table(header, rows[_OPEN_PARTS:])
        parts.append(f"<details><summary>{len(rows) - _OPEN_PARTS} more</summary>{hidden_parts}</details>")
    return parts


def _part(part: MetricDrop, metric: str, labels: Sequence[str], largest: float) -> str:
    """Return the row of a part of the data. Its bar shows the loss, or in another color the gain, as a fraction of
    ``largest``."""
    lost = f"{part.drop:+.3g}" if metric == "mse" else f"{100 * part.drop:+.2f}"
    bar = track((0, abs(part.drop) / largest, "var(--b)" if part.drop > 0 else "var(--c)"))
    values = (value_text(metric, p.value) for p in (part.before, part.after))
    return row(name_cell(_part_title(part.what, labels)), *values, lost, f"{part.before.samples:,}", bar)


def _part_title(name: str, labels: Sequence[str]) -> str:
    """Return the title of the part ``name``. For a class such as "class 3", the class's label is appended."""
    kind, _, number = name.partition(" ")
    if kind == "class" and number.isdecimal() and int(number) < len(labels):
        return f"{name}: {labels[int(number)]}"
    return name


def field_section(report: FieldReport) -> list[str]:
    """Return the section on how field data fits the scales of the image: scores, and the tensors that are clipped."""
    scores = [("source model", report.score), ("source model, clipped to the scales", report.together)]
    scores.append(("image", report.quantized))
    rows = [row(name, score_text(s), f"{s.samples:,}") for name, s in scores if s is not None]
    sentence = (
        bullet_list(report.warnings)
        if report.warnings
        else "<p>No scale clips the field data noticeably more than the calibration data.</p>"
    )
    parts = [
        "<h2>Field data compared with the scales</h2>",
        sentence,
        table(head("", report.score.metric + ":n", "samples:n"), rows),
    ]
    if report.clipped:
        rows = [
            row(
                c.field.index,
                c.field.made_by,
                name_cell(c.field.name),
                span_cell(c.field.low, c.field.high),
                span_cell(c.field.seen_low, c.field.seen_high),
                f"{c.field.clipped:.2%}",
                f"{c.calibration.clipped:.2%}",
                "-" if c.measured is None else loss_text(c.measured.base, c.measured.value),
            )
            for c in report.clipped
        ]
        columns = ("tensor:n", "operator", "name", "range", "field data", "clipped:n")
        parts.append(
            table(
                head(
                    *columns,
                    "clipped in calibration:n",
                    "lost by this tensor alone:n"
                    if report.score.metric == "mse"
                    else "points lost by this tensor alone:n",
                ),
                rows,
            )
        )
    return parts
