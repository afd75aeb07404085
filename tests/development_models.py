"""The development models, which are not part of the project: tests that want them skip where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("ARENITE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_model(name: str) -> Path:
    """The file of one of the development models; skips the test when it is not there."""
    path = SHARED / "models" / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there (set ARENITE_SHARED to the folder that has models/)")
    return path
