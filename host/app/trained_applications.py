"""Shipped applications whose models are trained on this computer, because no package has one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from arenite.converters.anomaly.head import KEY as ANOMALY_KEY
from arenite.converters.anomaly.head import load_anomaly_head
from arenite.converters.decision.record import KEY as DECISION_KEY
from arenite.converters.decision.record import load_decision
from arenite.converters.processing.specification.preprocessing import load_preprocessing, read_record
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import ToolError
from arenite.files import cache_directory, cache_error, replace_file
from arenite.host.build.attachments import Attachments
from arenite.host.conversion.convert import convert
from arenite.host.conversion.request import ConversionRequest
from arenite.models.training import gestures, machine_sounds
from arenite.processes import temporary_folder

RECIPES = {"gestures": gestures.RECIPE, "machine_sounds": machine_sounds.RECIPE}


def trained_image(name: str, record: Path, *, progress: bool = True) -> Path:
    """Return the path of the image of the application ``name``, in the cache. If it is not there, its model is trained
    and converted with the settings in the file ``record``; ``progress`` shows a bar.

    Raises ``ToolError`` if the data for the training cannot be downloaded, or the cache cannot be written.
    """
    recipe = RECIPES[name]
    digest = hashlib.sha256(record.read_bytes() + recipe.key).hexdigest()[:12]
    path = cache_directory() / "applications" / digest / f"{name}.tflite"
    if not path.is_file():
        preprocessing, settings = load_preprocessing(record), read_record(record)
        try:
            trained = recipe.train(preprocessing, progress)
        except ToolError as error:
            raise ToolError(
                f"The model of the application {name} cannot be trained. {error.problem}", error.hint
            ) from error
        decision, gate = load_decision(record) if DECISION_KEY in settings else (None, None)
        attachments = Attachments(
            preprocessing=preprocessing,
            labels=recipe.labels,
            decision=decision,
            gate=gate,
            anomaly=load_anomaly_head(record) if ANOMALY_KEY in settings else None,
        )
        with temporary_folder("train-") as folder:
            source, samples = folder / f"{name}.tflite", folder / "calibration.npz"
            source.write_bytes(to_flatbuffer(trained.model))
            np.savez(samples, x=trained.calibration)
            image = convert(
                ConversionRequest(str(source), attachments=attachments, calibration=samples)
            ).image
        try:
            replace_file(path, image)
        except OSError as error:
            raise cache_error(error) from error
    return path
