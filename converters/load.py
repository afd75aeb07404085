"""Read whatever model file a user gives."""

from __future__ import annotations

from pathlib import Path

from arenite.converters.errors import ModelError
from arenite.converters.graph import Model
from arenite.converters.image import Image, load_image

#: Other model files by their first bytes or their ending, and how to turn them into .tflite.
_OTHERS = {
    ".onnx": "an ONNX model: convert it with onnx2tf first",
    ".h5": "a Keras model: convert it with tf.lite.TFLiteConverter.from_keras_model first",
    ".keras": "a Keras model: convert it with tf.lite.TFLiteConverter.from_keras_model first",
    ".pt": "a PyTorch model: convert it with litert-torch first",
    ".pth": "a PyTorch model: convert it with litert-torch first",
    ".pb": "a TensorFlow graph: convert it with tf.lite.TFLiteConverter first",
}


def load_any(path: str | Path) -> Model:
    """The model in an image or a plain ``.tflite``; repairs (also those recorded in the image) in ``Model.repairs``.

    Raises ``ModelError``.
    """
    return load_any_image(path).model


def load_any_image(path: str | Path) -> Image:
    """Like ``load_any``, with the plan (None for a plain ``.tflite``) and the file's hash."""
    if Path(path).is_dir():
        raise ModelError(f"{path} is a folder.", "Give a TensorFlow Lite (.tflite) file.")
    try:
        return load_image(path)
    except ModelError as error:
        other = _OTHERS.get(Path(path).suffix.lower())
        if other is None or not Path(path).exists():
            raise
        kind, hint = other.split(": ")
        raise ModelError(f"{path} is {kind}.", f"{hint[:1].upper()}{hint[1:]}.") from error
