"""Compute what a model sees in calibration data, for the gates of drift."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.processing.media_files import preprocess_file
from arenite.converters.processing.specification.imu_steps import ImuSource
from arenite.converters.quantize.dataset.dataset import load_dataset
from arenite.converters.quantize.scoring.model_runner import quantize_values
from arenite.errors import UsageError
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import recorded_preprocessing
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.fleet.observations import (
    BINS,
    INPUT_STATISTICS,
    DriftReference,
    Observations,
    confidence_bin,
    input_bins,
)
from arenite.host.update.agent_shape import agent_shape


@dataclass(frozen=True)
class CalibrationReference:
    """``sha256``: hash of the model's file. ``samples``: their number."""

    reference: DriftReference
    sha256: str
    samples: int


def calibration_reference(model: Path, data: Path) -> CalibrationReference:
    """Run the model or image at ``model`` on the samples at ``data``, with the integers that the firmware computes, and
    count what its agent would count.

    ``data`` is an ``.npz`` file with ``x``, or a folder, as for ``arenite convert`` with ``--calibration``. Pictures
    and recordings need an image that records its preprocessing.

    Raises:
        UsageError: The samples do not suit the model, or it has neither scores of classes nor an input of 8 bits.
        ModelError: The model cannot be read or run.
    """
    prepared = prepare(model, removes_channels=False)
    shape = agent_shape(prepared.model)
    if not shape.classes and not shape.has_input:
        raise UsageError(
            f"{model} has neither a vector of at most 64 scores of 8 bits nor an input of 8 bits, so the agent counts"
            " nothing of it that could drift.",
            "Leave out 'reference' in the file of the release.",
        )
    runner = Reference(prepared.reference)
    inputs = (BINS * (0,),) * len(INPUT_STATISTICS) if shape.has_input else ()
    counted = Observations(DriftReference(inputs, shape.classes * (0,)))
    samples = _samples(prepared, data)
    for sample in samples:
        bins = input_bins(_as_int8(sample[0])) if shape.has_input else ()
        scores = runner.run(sample)[0]
        if shape.classes:
            values = _as_int8(scores).ravel()
            best = int(np.argmax(values))
            counted.add(0, bins, best, confidence_bin(int(values[best])))
        else:
            counted.add_counts((), (), (), [[int(k == place) for k in range(BINS)] for place in bins])
    reference = DriftReference(tuple(map(tuple, counted.inputs)), tuple(counted.classes))
    return CalibrationReference(reference, prepared.sha256, len(samples))


def _samples(prepared: Prepared, data: Path) -> list[list[np.ndarray]]:
    """Return the inputs of each sample in the types of the model's inputs."""
    graph = prepared.model.main
    tensors = [graph.tensors[index] for index in graph.inputs]
    spec = recorded_preprocessing(prepared.extra)
    dataset = load_dataset(
        data,
        tensors,
        calibration=False,
        preprocessing=None
        if spec is None
        else lambda file: [preprocess_file(spec.real, file, tensors[0].shape)],
        axes=spec.source.axes if spec is not None and isinstance(spec.source, ImuSource) else None,
    )
    details = Reference(prepared.reference).inputs

    def quantized(value: np.ndarray, k: int) -> np.ndarray:
        (scale, zero_point), dtype = details[k]["quantization"], np.dtype(details[k]["dtype"])
        is_quantized = bool(scale) and dtype.kind in "iu"
        return quantize_values(value, scale, zero_point, dtype) if is_quantized else value.astype(dtype)

    return [[quantized(value, k) for k, value in enumerate(sample)] for sample in dataset.inputs]


def _as_int8(values: np.ndarray) -> np.ndarray:
    """Return bytes as firmware counts them: values of uint8 as int8 values that are 128 smaller."""
    return values if values.dtype == np.int8 else (values ^ np.uint8(128)).view(np.int8)
