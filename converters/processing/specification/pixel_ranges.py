"""Usual preprocessing of pictures, by the range of values that a network was trained on."""

from __future__ import annotations

from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.specification.image_steps import ImageSource, Resize
from arenite.converters.processing.specification.preprocessing import Normalize, Preprocessing
from arenite.errors import UsageError

#: The step from pixels of 0 to 255 to the values of the model's input, by the name of the range.
_NORMALIZE: dict[str, Normalize] = {
    "0..255": Normalize(),
    "0..1": Normalize(divide=255.0),
    "-1..1": Normalize(divide=127.5, mean=(1.0,)),
    "imagenet": Normalize(divide=255.0, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
}

PIXEL_RANGES = tuple(_NORMALIZE)


def pixel_preprocessing(pixels: str, tensor: Tensor) -> Preprocessing:
    """Return the preprocessing that resizes a picture to the model's input ``tensor`` and scales its pixels.

    ``pixels`` is one of ``PIXEL_RANGES``. The shape of ``tensor`` is [1, height, width, 3], or 1 for a grey picture.
    Raises ``UsageError`` for another shape, and for a range that is not known.
    """
    if pixels not in _NORMALIZE:
        raise UsageError(
            f"--pixels does not take '{pixels}'.",
            f"Give one of {', '.join(PIXEL_RANGES)}, or describe the steps in a file with --preprocessing.",
        )
    shape = "x".join(map(str, tensor.shape))
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[3] not in (1, 3):
        raise UsageError(
            f"--pixels is for pictures, but the model's input '{tensor.name}' has the shape {shape}, not 1, height, "
            "width and 1 or 3 colors.",
            "Describe the steps in a file with --preprocessing (see docs/processing.md), or give an .npz file.",
        )
    _, height, width, channels = tensor.shape
    normalize = _NORMALIZE[pixels]
    if channels == 1 and len(normalize.mean) == 3:
        raise UsageError(
            f"--pixels {pixels} has one mean per color, but the model's input '{tensor.name}' ({shape}) is grey.",
            "Give --pixels 0..1 or -1..1, or describe the steps in a file with --preprocessing.",
        )
    return Preprocessing(ImageSource("rgb" if channels == 3 else "grey"), (Resize(width, height), normalize))
