"""Read an image (a ``.tflite`` file with a plan) or a plain ``.tflite`` file. For a model of another format, the error
says how to convert it."""

from __future__ import annotations

from pathlib import Path

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import Image, load_image
from arenite.errors import AreniteError, ModelError, UsageError

#: Descriptions of the kinds of sources (``source_kinds``) for error messages.
_KINDS = {
    "keras": "a Keras model",
    "keras-h5": "a Keras model",
    "saved_model": "a SavedModel",
    "onnx": "an ONNX model",
    "torch-export": "a PyTorch program",
}


def load_any(path: str | Path) -> Model:
    """Return the model in an image or a plain ``.tflite`` file.

    ``Model.repairs`` includes the repairs that are recorded in the image. Raises ``ModelError``.
    """
    return load_any_image(path).model


def load_any_image(path: str | Path) -> Image:
    """Return the image: the model, the plan (None for a plain ``.tflite`` file) and the file's hash.

    Raises ``ModelError``.
    """
    folder = Path(path).is_dir()
    try:
        if folder:
            raise ModelError(f"{path} is a folder.", "Give a TensorFlow Lite (.tflite) file.")
        return load_image(path)
    except ModelError as error:
        other = _other_source_message(path)
        if other is None:
            raise
        raise other from error


def _other_source_message(path: str | Path) -> AreniteError | None:
    """Return an error that says what ``path`` is, if it is not a TFLite file. Return None if that is not known."""
    from arenite.converters.importers.source_kinds import source_kind

    source = Path(path)
    if not source.exists() or source.suffix.lower() == ".tflite":
        return None
    try:
        kind = _KINDS.get(source_kind(str(path)))
    except UsageError as error:  # the file is a checkpoint or weights without a graph, or it is not a model
        return None if source.is_dir() else ModelError(error.problem, error.hint)
    except ModelError as error:
        return error
    if kind is None:
        return None
    return ModelError(
        f"{path} is {kind}.", f"Convert it to an image first: arenite convert {path} --calibration DATA."
    )
