"""Check field data against the scales from calibration data: report which tensors clip values, how often, and the loss.

The float model runs once over the field data. For each tensor whose scale clips noticeably more field values than
calibration values, the float model runs again with only that tensor clipped to its range. This measures the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.output_scores import score_source
from arenite.converters.quantize.weights.balanced_model import balanced_model
from arenite.converters.tflite.reader import parse
from arenite.converters.tflite.writer import to_flatbuffer

#: Called with (the current step, finished runs over the data, total number of runs).
Progress = Callable[[str, int, int], None]

#: The smallest share of clipped values that is reported.
_MIN_REPORTED_SHARE = 0.0005

#: If field data of an input use less than this share of the range that calibration data use, they were probably scaled
#: differently.
_SMALL_INPUT_FACTOR = 0.1


@dataclass(frozen=True)
class MeasuredLoss:
    """The loss of the output that loses most: ``value`` as ``metric_drop`` returns it. ``output`` is the index of this
    output, or None if the model has only one output. ``base`` is its score without clipping."""

    output: int | None
    base: Score
    value: float

    def __str__(self) -> str:
        which = "" if self.output is None else f" of output {self.output}"
        if self.base.metric == "mse":
            return f"the mean squared error{which} grows by {self.value:.1%}"
        before, after = self.base.value, self.base.value - self.value
        return (
            f"{100 * self.value:.1f} points of {self.base.metric}{which} (from {before:.2%} to {after:.2%})"
        )


@dataclass(frozen=True)
class ClippedTensorReport:
    """A tensor that clips more field values than calibration values.

    ``loss`` is the measured loss of the metric if only this tensor is clipped (``metric_drop``), or None if that was
    not measured. ``measured`` has the same loss, and the index and the score of the output that loses it.
    """

    field: TensorCoverage
    calibration: TensorCoverage
    loss: float | None
    measured: MeasuredLoss | None = None

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

    ``score`` is the score of the float model on the field data. ``together`` is the score of the float model in which
    all ``clipped`` tensors are clipped, or None if there are none. ``quantized`` is the score of the quantized
    model, or None if there is no quantized model.
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
    if recipe.balance:  # its scales belong to the balanced values
        balanced = balanced_model(flatbuffer, calibration)
        flatbuffer, calibration = balanced.flatbuffer, balanced.observations
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

    def step(name: str) -> None:
        nonlocal done
        progress(name, done, runs)
        done += 1

    step("float model")
    source = score_source(flatbuffer, field, metric)

    def loss_of(tensors: Sequence[TensorCoverage], name: str) -> tuple[Score, MeasuredLoss]:
        """Return the score of the first output with ``tensors`` clipped, and the largest loss of all outputs."""
        step(name)
        outputs = run_outputs(_clip_tensors(model, tensors, ranges), field)
        index, after = source.worst_output(outputs)
        output = index if len(outputs) > 1 else None
        base = source.scores[index]
        return source.score_image(outputs)[0], MeasuredLoss(output, base, metric_drop(base, after))

    base = source.base
    clipped = []
    for c in suspects:
        loss = loss_of([c], f"tensor {c.index} clipped")[1] if c in tried else None
        clipped.append(ClippedTensorReport(c, before[c.index], None if loss is None else loss.value, loss))
    together, together_loss = loss_of(suspects, "all clipped") if suspects else (None, None)
    quantized_score = None
    if quantized is not None:
        step("quantized model")
        quantized_score = source.score_image(run_outputs(quantized, field))[0]
    progress("", runs, runs)
    warnings = [_sentence(c) for c in clipped[:max_tested]]
    warnings += [
        text for c in field_coverage if c.index in before for text in _input_notes(c, before[c.index])
    ]
    if len(clipped) > max_tested:
        rest = clipped[max_tested:]
        warnings.append(
            f"{len(rest)} more tensors clip, each at most {rest[0].field.clipped:.2%} of its values."
        )
    if together_loss is not None and len(clipped) > 1:
        warnings.append(f"All {len(clipped)} clipped tensors together: {together_loss}.")
    if clipped:
        warnings.append("Add samples like these to the calibration data.")
    return FieldReport(
        len(field), field_coverage, tuple(clipped), base, together, quantized_score, tuple(warnings)
    )


def _clips_more(field: TensorCoverage, calibration: TensorCoverage) -> bool:
    """Return whether field data clip noticeably more than calibration data. Calibrators other than min-max clip some
    calibration values on purpose."""
    return field.clipped > max(_MIN_REPORTED_SHARE, 2 * calibration.clipped)


def _clip_tensors(model: Model, tensors: Sequence[TensorCoverage], ranges: Mapping[int, ScaleRange]) -> bytes:
    """Return a flatbuffer of ``model`` in which ``tensors`` are clipped to their ranges."""
    for c in tensors:
        model = clip_tensor_values(model, c.index, ranges[c.index].low, ranges[c.index].high)
    return to_flatbuffer(model)


def _sentence(c: ClippedTensorReport) -> str:
    """Return a warning about a clipped tensor."""
    f = c.field
    beyond = [seen / limit for seen, limit in ((f.seen_low, f.low), (f.seen_high, f.high)) if limit != 0]
    factor = max(beyond, default=1.0)
    loss = "" if c.measured is None else f"; clipping it alone costs: {c.measured}"
    return (
        f"The scale of the {f.made_by} tensor {f.index} '{short_name(f.name)}' represents {f.low:.4g} to "
        f"{f.high:.4g}; field data have {f.seen_low:.4g} to {f.seen_high:.4g} ({factor:.1f} times as large) and clip "
        f"{f.clipped:.2%} of its values (calibration data: {c.calibration.clipped:.2%}){loss}."
    )


def _input_notes(field: TensorCoverage, calibration: TensorCoverage) -> list[str]:
    """Return a sentence if field data of an input are much smaller than calibration data, else an empty list."""
    if field.made_by != "input" or field.used > _SMALL_INPUT_FACTOR * calibration.used:
        return []
    return [
        f"The input '{short_name(field.name)}' has field data from {field.seen_low:.4g} to {field.seen_high:.4g}; "
        f"calibration data had {calibration.seen_low:.4g} to {calibration.seen_high:.4g}: only "
        f"{field.used:.1%} of the scale's range is used. Check whether field data and calibration data were scaled in "
        "the same way."
    ]
