"""Images of the shipped applications."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import AreniteError
from arenite.host.app.applications import application_image
from arenite.models import zoo
from tests.development_models import SHARED


def shipped_image(name: str) -> Path:
    """Return the path of the image of the shipped application ``name``. If its model is a development model, it is not
    downloaded. Skip the test if it has to be downloaded and cannot be."""
    development = SHARED / "models" / f"{name}_int8.tflite"
    if development.exists() and not zoo.is_cached(zoo.zoo_entry(name)):
        zoo.add(development)
    try:
        return application_image(name, progress=False)
    except AreniteError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
