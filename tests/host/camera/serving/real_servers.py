"""Servers with real models on a real runtime, for tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from arenite.errors import ToolError
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.model_server import ModelServer

#: Three classifiers of the zoo, the slowest first.
CLASSIFIERS = ("efficientnet_lite0", "visual_wake_words", "image_classification")


@cache
def _model(name: str) -> CameraModel | str:
    """Return the model with a zoo name or a file, or the reason why it cannot be fetched."""
    try:
        return open_model(name)
    except ToolError as error:
        return error.problem


def server_of(name: str | Path, slots: int = 1) -> ModelServer:
    """Return a new server for a model, given by its zoo name or file, with ``slots`` sets of tensors. Skip the test if
    the model cannot be fetched."""
    model = _model(str(name))
    if isinstance(model, str):
        pytest.skip(model)
    return ModelServer(model, open_runtime(model.path, slots=slots))
