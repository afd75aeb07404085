"""Train the model of the application ``machine_sounds``: an autoencoder for the sound of a healthy fan.

The network has the layers of MLPerf Tiny's anomaly detector (640 values, four layers of 128, 8, four layers of 128, and
640 values), without batch normalization. Its input is five rows of 128 mel bands, as there. The sounds come from a
generator. The example has a healthy fan, and each fault once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from arenite.converters.processing.preprocess import preprocess_samples
from arenite.converters.processing.specification.audio_steps import AudioSource
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.models.datasets import machine_sounds as generator
from arenite.models.datasets.machine_sounds import FAULTS, fan
from arenite.models.datasets.progress_bar import progress_bar
from arenite.models.training import autoencoder, dense
from arenite.models.training.application_recipe import ApplicationRecipe, FloatModel

ROWS, BANDS = 5, 128
SIZES = (ROWS * BANDS, 128, 128, 128, 128, 8, 128, 128, 128, 128, ROWS * BANDS)
#: Seconds of sound to train with, in pieces with other speeds and loads, and how often it is heard.
TRAIN_S, PIECE_S, EPOCHS = 960, 20, 16
#: Seconds of the example: before the first fault, of each fault, and after each.
BEGIN_S, FAULT_S, AFTER_S = 100, 8, 14
#: The seed of the training. The example and the measurements have others.
TRAIN_SEED, EXAMPLE_SEED = 0, 3


def windows(spec: Preprocessing, samples: np.ndarray, step: int = 1) -> np.ndarray:
    """Return the inputs of the model [windows, values] in a recording, each ``step`` rows after the one before."""
    assert isinstance(spec.source, AudioSource)
    whole = replace(spec, source=replace(spec.source, samples=len(samples)))
    rows = preprocess_samples(whole, samples)
    starts = range(0, len(rows) - ROWS + 1, step)
    return np.stack([rows[start : start + ROWS].reshape(-1) for start in starts])


def healthy(seconds: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield recordings of a healthy fan."""
    for _ in range(round(seconds / PIECE_S)):
        yield fan(PIECE_S, rng)


def train(spec: Preprocessing, progress: bool = True) -> FloatModel:
    """Return the float model, for inputs that ``spec`` computes."""
    rng, parts = np.random.default_rng(TRAIN_SEED), []
    with progress_bar("Synthesizing sounds", TRAIN_S // PIECE_S, progress) as step:
        for sound in healthy(TRAIN_S, rng):
            parts.append(windows(spec, sound))
            step()
    x = np.concatenate(parts)
    layers = autoencoder.train_autoencoder(
        x, SIZES, EPOCHS, label="Training machine_sounds", progress=progress
    )
    # Faults are louder than what the model was trained with.
    calibration = np.concatenate([x[::20], x[::200] + 10]).astype(np.float32)
    return FloatModel(dense.dense_model(layers), calibration)


def example(progress: bool = True) -> np.ndarray:
    """Return int16 samples of a healthy fan in which each fault occurs once (see ``fault_starts``)."""
    rng = np.random.default_rng(EXAMPLE_SEED)
    parts = [fan(BEGIN_S, rng)]
    for fault in FAULTS:
        parts += [fan(FAULT_S, rng, fault), fan(AFTER_S, rng)]
    return np.concatenate(parts)


def fault_starts() -> dict[str, float]:
    """Return the second of the example in which each fault begins. It lasts ``FAULT_S`` seconds."""
    return {fault: BEGIN_S + k * (FAULT_S + AFTER_S) for k, fault in enumerate(FAULTS)}


RECIPE = ApplicationRecipe(
    train=train,
    example=example,
    labels=(),
    key=b"".join(
        Path(file).read_bytes()
        for file in (__file__, str(autoencoder.__file__), str(dense.__file__), str(generator.__file__))
    ),
)
