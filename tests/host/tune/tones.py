"""A model that hears two tones, and recordings of tones in noise, for the tests of tuning."""

from __future__ import annotations

import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.converters.tflite.image import image_bytes
from arenite.host.build.attachments import Attachments
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

RATE, WINDOW = 8000, 2048
LABELS = ("silence", "low", "high")
FREQUENCIES = {"low": 600.0, "high": 2600.0}
_FRAMES, _BINS = 8, 8
SOUND: dict[str, Any] = {
    "source": {"kind": "audio", "rate": RATE, "samples": WINDOW},
    "steps": [
        {"do": "frame", "length": 256, "step": 256},
        {"do": "window"},
        {"do": "fft", "length": 256, "power": 2},
        {"do": "mel", "bins": _BINS, "low": 200, "high": 3800},
        {"do": "log", "offset": 1e-3},
    ],
}
#: The mel bins in which the tones are.
_BIN_OF = {"low": 1, "high": 6}


def tone_model(path: Path, **attachments: Any) -> Path:
    """Write an image with the classes silence, low and high: the mean level of the bin of each tone, then a softmax.
    Return ``path``."""
    b = GraphBuilder(np.random.default_rng(0))
    x = b.input((1, _FRAMES, _BINS), "int8", quant(0.07, 20))
    flat = b.tensor((1, _FRAMES * _BINS), "int8", quant(0.07, 20))
    b.op("RESHAPE", [x, b.const([1, 64], "int32")], [flat], "ReshapeOptions", new_shape=[1, 64])
    weights = np.zeros((3, _FRAMES, _BINS), np.int8)
    for index, label in enumerate(LABELS[1:], 1):
        weights[index, :, _BIN_OF[label]] = 100  # times 0.00125, over eight frames: the mean of the bin
    bias = (np.array([1.0, 0.0, 0.0]) / (0.07 * 0.00125)).astype(np.int32)
    filters = b.const(weights.reshape(3, -1), "int8", quant(0.00125))
    offsets = b.const(bias, "int32", quant(0.07 * 0.00125))
    logits = b.tensor((1, 3), "int8", quant(0.1, 20))
    b.op("FULLY_CONNECTED", [flat, filters, offsets], [logits], "FullyConnectedOptions", 4)
    out = b.tensor((1, 3), "int8", quant(1 / 256, -128))
    b.op("SOFTMAX", [logits], [out], "SoftmaxOptions", 2, beta=1.0)
    model = b.build()
    parts = {"preprocessing": Preprocessing.from_json(SOUND), "labels": LABELS, **attachments}
    path.write_bytes(image_bytes(model, None, extra=Attachments(**parts).extra(model, {"kind": "test"})))
    return path


def tone(label: str, seconds: float, amplitude: float = 6000.0) -> np.ndarray:
    """Return a tone of the class ``label``, as real numbers."""
    time = np.arange(round(seconds * RATE)) / RATE
    values: np.ndarray = amplitude * np.sin(2 * np.pi * FREQUENCIES[label] * time)
    return values


def noise(seconds: float, seed: int = 0, amplitude: float = 30.0) -> np.ndarray:
    """Return white noise, as real numbers."""
    return np.random.default_rng(seed).normal(0, amplitude, round(seconds * RATE))


def write_wav(path: Path, samples: np.ndarray) -> Path:
    """Write int16 samples as a WAV file, and return ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes())
    return path


def tone_stream(
    path: Path,
    seconds: float,
    events: Sequence[tuple[float, str, float]],
    seed: int = 0,
    labelled: bool = True,
) -> Path:
    """Write noise with tones of 0.4 s as a WAV file, with a CSV file of its labels. Each event is its start in seconds,
    its label and its amplitude. Return ``path``."""
    samples = noise(seconds, seed)
    for start, label, amplitude in events:
        at = round(start * RATE)
        samples[at : at + round(0.4 * RATE)] += tone(label, 0.4, amplitude)
    write_wav(path, samples)
    if labelled:
        rows = [f"{start},{start + 0.4},{label}" for start, label, _ in events]
        path.with_suffix(".csv").write_text("\n".join(["start,end,label", *rows]) + "\n")
    return path
