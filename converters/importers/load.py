"""Read a model file that a user gives, of any kind."""

from __future__ import annotations

from pathlib import Path

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import Image, load_image
from arenite.errors import AreniteError, ModelError, UsageError

#: Descriptions of the kinds of sources (``source_kinds``).
_KINDS = {
    "keras": "a Keras model",
    "keras-h5": "a Keras model",
    "saved_model": "a SavedModel",
    "onnx": "an ONNX model",
    "torch-export": "a PyTorch program",
}


def load_any(path: str | Path) -> Model:
    """Return the model in an image or a plain ``.tflite``; repairs (also those recorded in the image) in
    ``Model.repairs``.

    Raises ``ModelError``.
    """
    return load_any_image(path).model


def load_any_image(path: str | Path) -> Image:
    """Like ``load_any``, with the plan (None for a plain ``.tflite``) and the file's hash."""
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
    """Return the error for a file or folder that is a model of another kind, or None if it is not one."""
    from arenite.converters.importers.source_kinds import source_kind

    given = Path(path)
    if not given.exists() or given.suffix.lower() == ".tflite":
        return None
    try:
        kind = _KINDS.get(source_kind(str(path)))
    except UsageError as error:  # a checkpoint, weights alone, or not a model at all
        return None if given.is_dir() else ModelError(error.problem, error.hint)
    except ModelError as error:
        return error
    if kind is None:
        return None
    return ModelError(
        f"{path} is {kind}.", f"Convert it to an image first: arenite convert {path} --calibration DATA."
    )
