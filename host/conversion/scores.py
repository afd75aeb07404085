"""The scores of source and image on the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arenite.converters.importers.imported_model import ImportedModel
from arenite.converters.quantize.checks.sample_range import check_range
from arenite.converters.quantize.dataset.dataset import Dataset
from arenite.converters.quantize.scoring.metrics import MetricDrop, Score, largest_drops, metric_drop
from arenite.converters.quantize.scoring.model_runner import run_dataset
from arenite.converters.quantize.scoring.score import ignored_labels_note, score_outputs
from arenite.converters.tflite.reader import parse
from arenite.errors import UsageError
from arenite.host.conversion.request import ConversionRequest


@dataclass(frozen=True)
class Scores:
    """Scores of the source model and of the image on the same samples, and the loss of the image (``metric_drop``)."""

    source: Score
    image: Score
    of: str  # description of the samples
    worst: tuple[MetricDrop, ...] = ()

    @property
    def lost(self) -> float:
        return metric_drop(self.source, self.image)


def check_drop(source: Score, samples_name: str) -> None:
    """Raise ``UsageError`` for a limit of the drop if no drop can be measured."""
    if source.metric == "mse" and source.value == 0:
        raise UsageError(
            f"{samples_name} has no targets, so the model is compared with itself and any difference is an"
            " infinite growth.",
            "Add targets y, or leave out --max-drop and the drop of the budget.",
        )


#: A model's outputs, and their score.
Scored = tuple[list[np.ndarray], Score]


def source_score(request: ConversionRequest, imported: ImportedModel, dataset: Dataset) -> Scored:
    """Run the source model. Raises ``UsageError`` if the samples do not fit the metric."""
    outputs = run_dataset(imported.flatbuffer, dataset)
    return outputs, score_outputs(outputs, dataset, request.metric, reference=outputs)


def image_scores(
    before: Scored, image_bytes: bytes, dataset: Dataset, samples_name: str
) -> tuple[Scores, list[str]]:
    """Return the scores, and notes on samples that do not fit the scales of ``image_bytes``."""
    graph = parse(image_bytes).main
    notes = check_range(dataset, [graph.tensors[i] for i in graph.inputs])
    reference, source = before
    unused = ignored_labels_note(reference, dataset, source.metric)
    notes += [] if unused is None else [unused]
    after = run_dataset(image_bytes, dataset, reference=True)
    image = score_outputs(after, dataset, source.metric, reference=reference)
    return Scores(source, image, samples_name, tuple(largest_drops(source, image))), notes
