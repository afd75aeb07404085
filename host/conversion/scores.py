"""Compute the scores of source and image on the same samples."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.quantize.checks.coverage import short_name
from arenite.converters.quantize.checks.sample_range import check_range
from arenite.converters.quantize.scoring.metrics import MetricDrop, Score, largest_drops
from arenite.converters.quantize.scoring.model_runner import run_outputs
from arenite.converters.quantize.scoring.output_scores import OutputScore, ScoredSource
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError


@dataclass(frozen=True)
class Scores:
    """The scores of the source model and of the image on the same samples. ``outputs`` has one entry per model output.

    ``source``, ``image``, ``lost`` and ``worst`` are for the first output. ``worst`` has its losses by part of the
    data, such as a class, the largest loss first.
    """

    outputs: tuple[OutputScore, ...]
    of: str  # description of the samples
    worst: tuple[MetricDrop, ...] = ()

    @property
    def source(self) -> Score:
        return self.outputs[0].source

    @property
    def image(self) -> Score:
        return self.outputs[0].image

    @property
    def lost(self) -> float:
        """The loss of the first output (``metric_drop``)."""
        return self.outputs[0].lost

    @property
    def worst_output(self) -> OutputScore | None:
        """The output with the largest loss, or None if no loss is known."""
        return max((o for o in self.outputs if o.has_drop), key=lambda o: o.lost, default=None)


def check_drop(source: Score, samples_name: str) -> None:
    """Raise ``UsageError`` if the user set a limit for the loss but no loss can be measured. ``source`` is the score of
    the source model."""
    if source.metric == "mse" and source.value == 0:
        raise UsageError(
            f"{samples_name} has no targets, so the model is compared with itself and any difference is an"
            " infinite growth.",
            "Add targets y, or leave out --max-drop, --auto and the drop of the budget.",
        )


def image_scores(before: ScoredSource, image_bytes: bytes, samples_name: str) -> tuple[Scores, list[str]]:
    """Run the image ``image_bytes`` on all samples. Return the scores of source and image, and notes on samples outside
    the range of the image's scales and on outputs without labels. ``before`` has the scored outputs of the source."""
    graph, dataset = parse(image_bytes).main, before.dataset
    notes = check_range(dataset, [graph.tensors[i] for i in graph.inputs])
    names = [short_name(graph.tensors[i].name) for i in graph.outputs]
    after = run_outputs(image_bytes, dataset, reference=True)
    outputs = before.compare(names, after)
    notes += [note for output in outputs for note in output.notes]
    first, *later = outputs
    if later and dataset.labels is not None:
        unlabeled = [o.index for o in later if o.index not in dataset.more_labels]
        if unlabeled:
            notes.append(
                f"The labels y belong to output 0 '{names[0]}'. Output{'s' * (len(unlabeled) != 1)}"
                f" {', '.join(map(str, unlabeled))} ha{'ve' if len(unlabeled) != 1 else 's'} no labels and"
                f" {'are' if len(unlabeled) != 1 else 'is'} compared with the source model; add the labels as"
                f" {', '.join(f'y{k}' for k in unlabeled)}."
            )
    return Scores(outputs, samples_name, tuple(largest_drops(first.source, first.image))), notes
