"""Shipped applications: models of the zoo with a record of their features and their decision, so that one command makes
a device of them.

``models/applications/NAME.toml`` has the record of the zoo model ``NAME``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from arenite import models
from arenite.converters.decision.record import load_decision
from arenite.converters.importers.load import load_any_image
from arenite.converters.processing.specification.preprocessing import load_preprocessing
from arenite.converters.tflite.image import image_bytes
from arenite.files import cache_directory, write_atomic
from arenite.host.build.attachments import Attachments
from arenite.models import zoo

_RECORDS = Path(models.__file__).parent / "applications"


def application_names() -> list[str]:
    """Return the names of the shipped applications, sorted."""
    return sorted(path.stem for path in _RECORDS.glob("*.toml"))


def application_image(name: str, *, progress: bool = True) -> Path:
    """Return the path of the image of the shipped application ``name``, in the cache. Its model is downloaded if it is
    not there; ``progress`` shows a download that takes longer than two seconds.

    Raises ``ToolError`` if the model could not be downloaded or does not have the pinned hash.
    """
    record = _RECORDS / f"{name}.toml"
    entry = zoo.zoo_entry(name)
    digest = hashlib.sha256(record.read_bytes() + entry.sha256.encode()).hexdigest()[:12]
    path = cache_directory() / "applications" / digest / f"{name}.tflite"
    if not path.is_file():
        image = load_any_image(zoo.fetch(name, progress=progress))
        decision, gate = load_decision(record)
        attachments = Attachments(
            preprocessing=load_preprocessing(record), labels=tuple(entry.labels), decision=decision, gate=gate
        )
        extra = attachments.extra(image.model, {"kind": "zoo", "name": name, "sha256": entry.sha256})
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, image_bytes(image.model, image.plan, extra=extra))
    return path
