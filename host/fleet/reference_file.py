"""The file with the histograms of calibration data, ``arenite.reference/1``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.files import write_atomic
from arenite.host.fleet.observations import DriftReference
from arenite.input_files import parse_json, read_text

SCHEMA = "arenite.reference/1"


def write_reference(path: Path, model: str, samples: int, reference: DriftReference) -> None:
    """``model``: SHA-256 hash of the model's file. Raises ``UsageError`` if the path cannot be written."""
    fields = {"schema": SCHEMA, "model": model, "samples": samples, **reference.to_json()}
    write_atomic(path, json.dumps(fields, indent=1) + "\n")


def read_reference(path: Path) -> dict[str, Any]:
    """Return the histograms ``inputs`` and ``classes``, whose form is not checked. Raises ``UsageError``."""
    hint = "Make the file with `arenite fleet reference`."
    try:
        fields = parse_json(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}.", hint) from error
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no reference: its 'schema' must be {SCHEMA}.", hint)
    return {name: fields.get(name) for name in ("inputs", "classes")}
