"""Write what the tests of live views and recordings play and convert."""

from __future__ import annotations

import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from arenite.converters.tflite.image import image_bytes
from tests.fuzz.graph_builder import GraphBuilder


def write_wav(path: Path, samples: np.ndarray, rate: int) -> None:
    """Write int16 samples [samples] as a WAV file."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())


def write_pictures(folder: Path, pictures: Sequence[np.ndarray]) -> None:
    """Write pictures as PNG files, whose names have their order."""
    folder.mkdir()
    for number, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{number:03}.png")


def write_float_model(path: Path, shape: Sequence[int], classes: int) -> None:
    """Write a float32 network with random weights: one fully connected layer and a softmax."""
    rng = np.random.default_rng(16)
    b = GraphBuilder(rng)
    x = b.input(tuple(shape), "float32")
    size = b[x].elements
    flat = x
    if len(shape) > 2:
        flat = b.tensor((1, size), "float32")
        b.op("RESHAPE", [x, b.const([1, size], "int32")], [flat], "ReshapeOptions", new_shape=[1, size])
    weights = b.const(rng.normal(0, 0.3, (classes, size)).astype(np.float32), "float32")
    logits = b.tensor((1, classes), "float32")
    b.op("FULLY_CONNECTED", [flat, weights], [logits], "FullyConnectedOptions", 4)
    b.op("SOFTMAX", [logits], [b.tensor((1, classes), "float32")], "SoftmaxOptions", 2, beta=1.0)
    path.write_bytes(image_bytes(b.build(), None))
