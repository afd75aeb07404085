"""Shipped applications: models with a record of their features and their decision, so that one command makes a device
of them.

``models/applications/NAME.toml`` has the record of the zoo model ``NAME``, or of a model that is trained on this
computer. It records no preprocessing if the frames of a camera are the model's input.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from arenite import models
from arenite.converters.decision.record import load_decision
from arenite.converters.importers.load import load_any_image
from arenite.converters.processing.specification.preprocessing import KEY, Preprocessing, read_record
from arenite.converters.tflite.image import image_bytes
from arenite.errors import ModelError, UsageError
from arenite.files import cache_directory, write_atomic
from arenite.host.app.trained_applications import RECIPES, trained_image
from arenite.host.build.attachments import Attachments
from arenite.models import zoo

_RECORDS = Path(models.__file__).parent / "applications"
#: The word that stands for the recording of a trained application.
EXAMPLE = "example"


def application_names() -> list[str]:
    """Return the names of the shipped applications, sorted."""
    return sorted(path.stem for path in _RECORDS.glob("*.toml"))


def is_application(name: str) -> bool:
    """Return whether ``name`` is a shipped application, and not a file of this name. A folder of this name may be the
    one that the application was written into.

    Raises ``ModelError`` if it can be neither, because it does not exist and has no suffix.
    """
    path = Path(name)
    if path.is_file() or path.suffix:
        return False
    if name not in application_names():
        if path.exists():
            return False
        raise ModelError(
            f"{name} is no file, and no shipped application.",
            f"Give an image, or one of these applications: {', '.join(application_names())}.",
        )
    return True


def application_sensor(name: str, sensor: str | None = None) -> str:
    """Return the sensor of the shipped application ``name``. Raises ``UsageError`` if ``sensor`` is another one."""
    own: str = read_record(_record(name))["sensor"]
    if sensor not in (None, own):
        raise UsageError(
            f"The application {name} has the sensor '{own}', not '{sensor}'.", f"Use --sensor {own}."
        )
    return own


def application_summaries() -> dict[str, tuple[str, str]]:
    """Return for each shipped application what it does, as a verb with its object, and its sensor."""
    records = {name: read_record(_record(name)) for name in application_names()}
    return {name: (record["title"], record["sensor"]) for name, record in records.items()}


def example_samples(name: str, *, progress: bool = True) -> np.ndarray:
    """Return the recording of the shipped application ``name``, int16 [samples] or [samples, channels]. The model was
    not trained with it.

    Raises ``UsageError`` if the application has none, and ``ToolError`` if it could not be downloaded.
    """
    if name not in RECIPES:
        raise UsageError(
            f"{name} has no example for --play; {' and '.join(sorted(RECIPES))} have one.",
            "Give a recording of your own.",
        )
    return RECIPES[name].example(progress)


def has_example_samples(name: str) -> bool:
    """Return whether the shipped application ``name`` has a recording."""
    return name in RECIPES


def _record(name: str) -> Path:
    return _RECORDS / f"{name}.toml"


def application_image(name: str, *, progress: bool = True) -> Path:
    """Return the path of the image of the shipped application ``name``, in the cache. If it is not there, its model is
    downloaded, or trained in a minute; ``progress`` shows a download that takes longer than two seconds, or a bar.

    Raises ``ToolError`` if the model, or the data of its training, could not be downloaded or does not have the pinned
    hash.
    """
    record = _record(name)
    if name in RECIPES:
        return trained_image(name, record, progress=progress)
    entry = zoo.zoo_entry(name)
    digest = hashlib.sha256(record.read_bytes() + entry.sha256.encode()).hexdigest()[:12]
    path = cache_directory() / "applications" / digest / f"{name}.tflite"
    if not path.is_file():
        image = load_any_image(zoo.fetch(name, progress=progress))
        decision, gate = load_decision(record)
        steps = read_record(record).get(KEY)
        preprocessing = None if steps is None else Preprocessing.from_json(steps, str(record))
        attachments = Attachments(
            preprocessing=preprocessing, labels=tuple(entry.labels), decision=decision, gate=gate
        )
        extra = attachments.extra(image.model, {"kind": "zoo", "name": name, "sha256": entry.sha256})
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, image_bytes(image.model, image.plan, extra=extra))
    return path
