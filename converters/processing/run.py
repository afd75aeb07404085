"""Preprocessing by the compiled library, or by NumPy where there is none: both give the same bytes."""

from __future__ import annotations

import numpy as np

from arenite.converters.processing.audio import preprocess_audio
from arenite.converters.processing.image import preprocess_image
from arenite.converters.processing.spec import Preprocessing
from arenite.converters.processing.steps_image import ImageSource


def preprocess(spec: Preprocessing, data: np.ndarray, *, order: str = "rgb") -> np.ndarray:
    """Pixels, uint8 [height, width, 3 or 1] in ``order`` (rgb, bgr, grey), or int16 samples, as the model's input.

    Returns [height, width, channels] or [frames, features]: as stored where ``spec`` quantises, else float32.
    """
    if isinstance(spec.source, ImageSource):
        return preprocess_image(spec, data, order)
    return preprocess_audio(spec, data)
