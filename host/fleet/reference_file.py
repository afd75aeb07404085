"""The file with the histograms of calibration data, ``arenite.reference/1``, and the same in the image of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.fleet.drift import MAX_BINS, MAX_COUNT
from arenite.host.fleet.observations import DriftReference
from arenite.host.update.calibration_record import CalibrationRecord
from arenite.host.update.image_file import ImageFile
from arenite.input_files import parse_json, read_text

SCHEMA = "arenite.reference/1"
_HINT = "Make the file with `arenite fleet reference`."
_FIELDS = ("inputs", "classes")


def write_reference(path: Path, model: str, samples: int, reference: DriftReference) -> None:
    """``model``: SHA-256 hash of the model's file. Raises ``UsageError`` if the path cannot be written."""
    fields = {"schema": SCHEMA, "model": model, "samples": samples, **reference.to_json()}
    write_atomic(path, json.dumps(fields, indent=1) + "\n")


def read_reference(path: Path) -> dict[str, Any]:
    """Return the histograms ``inputs`` and ``classes``, whose form is not checked. Raises ``UsageError``."""
    fields = _parse(read_text(path), str(path), _HINT)
    return {name: fields.get(name) for name in _FIELDS}


def read_record(path: Path) -> CalibrationRecord:
    """Return the file at ``path`` for the image of its model. Raises ``UsageError`` if it is malformed."""
    fields = _parse(read_text(path), str(path), _HINT)
    check_histograms(fields, str(path))
    model, samples = fields.get("model"), fields.get("samples")
    if not isinstance(model, str) or type(samples) is not int or samples < 1:
        raise UsageError(
            f"{path} does not tell its model ('model') and the number of its samples ('samples').", _HINT
        )
    content = {name: fields[name] for name in ("schema", "model", "samples", *_FIELDS)}
    return CalibrationRecord(path, json.dumps(content, separators=(",", ":")).encode(), model)


def image_reference(image: ImageFile) -> dict[str, Any] | None:
    """Return the histograms ``inputs`` and ``classes`` of the calibration record in ``image``, or None if it has none.
    Raises ``UsageError`` for a malformed record."""
    if image.record is None:
        return None
    name, hint = f"The calibration record of {image.path}", "Build the image again."
    fields = _parse(image.record, name, hint)
    check_histograms(fields, name, hint)
    return {name: fields[name] for name in _FIELDS}


def check_histograms(reference: dict[str, Any], name: str, hint: str = "") -> None:
    """Raise ``UsageError`` if ``inputs`` or ``classes`` of ``reference``, which ``name`` has, are no histograms."""
    inputs, classes = (reference.get(field) for field in _FIELDS)
    histograms = [*inputs, classes] if isinstance(inputs, list) else [None]
    if classes == [] and inputs:
        histograms.pop()  # the model has no classes
    for counts in histograms:
        if (
            not isinstance(counts, list)
            or not 0 < len(counts) <= MAX_BINS
            or not all(type(count) is int and 0 <= count <= MAX_COUNT for count in counts)
        ):
            raise UsageError(
                f"{name} is malformed.",
                hint or f"Give lists of 1 to {MAX_BINS} counts in 'inputs' (a list of lists) and 'classes'.",
            )


def _parse(text: str | bytes, name: str, hint: str) -> dict[str, Any]:
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise UsageError(f"{name} is not JSON: {error}.", hint) from error
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise UsageError(f"{name} is no reference: its 'schema' must be {SCHEMA}.", hint)
    return fields
