"""Check field data against the scales from calibration data: report tensors that clip, how often, and the loss.

The float model runs once over the field data. For each tensor whose scale clips noticeably more field values than
calibration values, the float model runs again with only that tensor clipped to its range. This measures the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.quantize.calibration.observations import Observations, observe
from arenite.converters.quantize.checks.clip_tensor import clip_tensor_values
from arenite.converters.quantize.checks.coverage import (
    ScaleRange,
    TensorCoverage,
    count_clipped,
    coverage,
    quantized_ranges,
    short_name,
)
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.recipes.recipe import Recipe
from arenite.converters.quantize.scoring.metrics import Score, metric_drop
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.scoring.score import score_outputs
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer

#: Called with (the current step, runs over the data done, total runs).
Progress = Callable[[str, int, int], None]

#: A smaller share of clipped values is not reported.
_MIN_REPORTED_SHARE = 0.0005

#: An input that uses less than this share of the range of the calibration data was probably scaled differently.
_SMALL_INPUT_FACTOR = 0.1


@dataclass(frozen=True)
class ClippedTensorReport:
    """A tensor that clips more field values than calibration values.

    ``loss`` is the measured loss of the metric if only this tensor is clipped (``metric_drop``), or None if that was
    not measured.
    """

    field: TensorCoverage
    calibration: TensorCoverage
    loss: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "tensor": self.field.index,
            "name": self.field.name,
            "made_by": self.field.made_by,
            "range": [self.field.low, self.field.high],
            "seen": [self.field.seen_low, self.field.seen_high],
            "clipped": self.field.clipped,
            "clipped_in_calibration": self.calibration.clipped,
            "loss": None if self.loss is None else {"value": self.loss, "kind": "measured"},
        }


@dataclass(frozen=True)
class FieldReport:
    """The result of a check of field data. ``tensors`` is the coverage of all tensors; ``clipped`` are the clipped
    tensors, the worst first.

    ``score`` is the score of the float model on the field data, ``together`` that of the float model with all clipped
    tensors clipped, and ``quantized`` that of the quantized model, or None without such a model.
    """

    samples: int
    tensors: tuple[TensorCoverage, ...]
    clipped: tuple[ClippedTensorReport, ...]
    score: Score
    together: Score | None
    quantized: Score | None
    warnings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.warnings

    def to_json(self) -> dict[str, Any]:
        return {
            "samples": self.samples,
            "score": self.score.to_json(),
            "score_clipped": None if self.together is None else self.together.to_json(),
            "score_quantised": None if self.quantized is None else self.quantized.to_json(),
            "clipped": [c.to_json() for c in self.clipped],
            "tensors": [t.to_json() for t in self.tensors],
            "warnings": list(self.warnings),
        }


def check_data(
    flatbuffer: bytes,
    recipe: Recipe,
    calibration: Observations,
    field: Dataset,
    *,
    quantized: bytes | None = None,
    metric: str | None = None,
    max_tested: int = 5,
    progress: Progress = lambda *_: None,
) -> FieldReport:
    """Compare ``field`` with the scales that ``recipe`` gives for ``calibration``.

    Args:
        flatbuffer: the float model that was calibrated.
        recipe: the recipe that chooses the scales.
        calibration: the observations of the calibration data.
        field: the field data.
        quantized: the quantized model, if it should be scored on the field data as well.
        metric: the metric; None selects the default for the data, or without labels the share of equal decisions.
        max_tested: the number of clipped tensors whose loss is measured one by one, the worst first.
        progress: called before each run.

    Raises the errors of ``observe`` and ``score``.
    """
    model = parse(flatbuffer)
    ranges = quantized_ranges(model, recipe, calibration)
    progress("field data", 0, 0)
    observed = observe(flatbuffer, field)
    clipped_ranges = {c.index: ranges[c.index] for c in coverage(model, observed, ranges) if c.clipped}
    counts = count_clipped(flatbuffer, field.inputs, clipped_ranges) if clipped_ranges else {}
    field_coverage = coverage(model, observed, ranges, counts)
    before = {c.index: c for c in coverage(model, calibration, ranges)}
    suspects = [c for c in field_coverage if c.index in before and _clips_more(c, before[c.index])]
    suspects.sort(key=lambda c: -c.clipped)
    tried = suspects[:max_tested]
    runs = 1 + len(tried) + (1 if suspects else 0) + (1 if quantized is not None else 0)
    done = 0

    def outputs(of: bytes, step: str) -> list[np.ndarray]:
        nonlocal done
        progress(step, done, runs)
        done += 1
        return run_dataset(of, field)

    plain = outputs(flatbuffer, "float model")

    def scored(observed: Sequence[np.ndarray]) -> Score:
        return score_outputs(observed, field, metric, reference=plain)

    base = scored(plain)
    clipped = []
    for c in suspects:
        loss = None
        if c in tried:
            limited = _limited(model, [c], ranges)
            loss = metric_drop(base, scored(outputs(limited, f"tensor {c.index} clipped")))
        clipped.append(ClippedTensorReport(c, before[c.index], loss))
    together = None
    if suspects:
        together = scored(outputs(_limited(model, suspects, ranges), "all clipped"))
    quantized_score = None if quantized is None else scored(outputs(quantized, "quantized model"))
    progress("", runs, runs)
    warnings = [_sentence(c, base) for c in clipped[:max_tested]]
    warnings += [
        text for c in field_coverage if c.index in before for text in _input_notes(c, before[c.index])
    ]
    if len(clipped) > max_tested:
        rest = clipped[max_tested:]
        warnings.append(
            f"{len(rest)} more tensors clip, each at most {rest[0].field.clipped:.2%} of its values."
        )
    if together is not None and len(clipped) > 1:
        warnings.append(
            f"All {len(clipped)} clipped tensors together: {_lost(base, metric_drop(base, together))}."
        )
    if clipped:
        warnings.append("Add samples like these to the calibration data.")
    return FieldReport(
        len(field), field_coverage, tuple(clipped), base, together, quantized_score, tuple(warnings)
    )


def _clips_more(field: TensorCoverage, calibration: TensorCoverage) -> bool:
    """Return whether field data clip noticeably more than calibration data. Calibrators other than min-max clip some
    calibration values on purpose."""
    return field.clipped > max(_MIN_REPORTED_SHARE, 2 * calibration.clipped)


def _limited(model: Model, tensors: Sequence[TensorCoverage], ranges: Mapping[int, ScaleRange]) -> bytes:
    for c in tensors:
        model = clip_tensor_values(model, c.index, ranges[c.index].low, ranges[c.index].high)
    return to_flatbuffer(model)


def _sentence(c: ClippedTensorReport, base: Score) -> str:
    f = c.field
    beyond = [seen / limit for seen, limit in ((f.seen_low, f.low), (f.seen_high, f.high)) if limit != 0]
    factor = max(beyond, default=1.0)
    loss = "" if c.loss is None else f"; clipping it alone costs: {_lost(base, c.loss)}"
    return (
        f"The scale of the {f.made_by} tensor {f.index} '{short_name(f.name)}' holds {f.low:.4g} to {f.high:.4g}; "
        f"field data have {f.seen_low:.4g} to {f.seen_high:.4g} ({factor:.1f} times as large) and clip "
        f"{f.clipped:.2%} of its values (calibration data: {c.calibration.clipped:.2%}){loss}."
    )


def _lost(base: Score, loss: float) -> str:
    if base.metric == "mse":
        return f"the mean squared error grows by {loss:.1%}"
    points = 100 * loss
    return f"{points:.1f} points of {base.metric} (from {base.value:.2%} to {base.value - loss:.2%})"


def _input_notes(field: TensorCoverage, calibration: TensorCoverage) -> list[str]:
    """Return a sentence if field data of an input are much smaller than calibration data, else an empty list."""
    if field.made_by != "input" or field.used > _SMALL_INPUT_FACTOR * calibration.used:
        return []
    return [
        f"The input '{short_name(field.name)}' has field data from {field.seen_low:.4g} to {field.seen_high:.4g}; "
        f"calibration data had {calibration.seen_low:.4g} to {calibration.seen_high:.4g}: only "
        f"{field.used:.1%} of the scale's range is used. Check whether they were scaled differently."
    ]
