"""Paths of the development models: model files that are not part of the repository. Tests that need a missing model are
skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("ARENITE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_model(name: str) -> Path:
    """Return the path of a development model. Skip the test if the file does not exist."""
    path = SHARED / "models" / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} does not exist (set ARENITE_SHARED to the folder that has models/)")
    return path
