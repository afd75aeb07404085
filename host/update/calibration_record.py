"""The calibration record that the image of a model carries: what its model saw in calibration data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.build.prepare import Prepared


@dataclass(frozen=True)
class CalibrationRecord:
    """A file of ``arenite fleet reference``, whose form was checked."""

    path: Path
    content: bytes  # for the image: JSON of the schema arenite.reference/1
    model: str  # SHA-256 hash of the file of the model


def record_of(prepared: Prepared, record: CalibrationRecord | None) -> bytes | None:
    """Return what the image of the model ``prepared`` carries. Raises ``UsageError`` if ``record`` is that of another
    model."""
    if record is None:
        return None
    if record.model != prepared.sha256:
        raise UsageError(
            f"{record.path} was made for the model with the SHA-256 hash {record.model[:16]}, and {prepared.path} has"
            f" {prepared.sha256[:16]}.",
            f"Make it again: arenite fleet reference {prepared.path} --inputs DATA -o {record.path}",
        )
    return record.content
